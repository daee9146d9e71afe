"""Whether a log directory can still be used, known to all logs in it.

The first failed operation decides: from then on every operation on every log of the directory is refused with that
failure, while other directories go on. Only a restart, which recovers the logs, brings the directory back.

A process that has run out of descriptors is none of that: the operation fails, and the next one may succeed. Files are
opened before anything is changed, so nothing is half done then. Where that cannot be, the guard says so, and the
directory goes offline.

A disk without room is no failed disk: what was to be added is refused, and nothing else. That goes only for work that
can be refused as a whole, which says so by its guard.
"""

from __future__ import annotations

import errno
from types import TracebackType

from tidelog.storage.files.filesystem import TOO_MANY_OPEN_FILES, DiskFull, StorageFailure, means_full


class DiskHealth:
    __slots__ = ("failure",)

    def __init__(self) -> None:
        self.failure: StorageFailure | None = None

    def fail(self, action: str, cause: OSError) -> StorageFailure:
        """Take the directory offline; returns the failure to raise."""
        failure = StorageFailure(action, cause)
        if self.failure is None:
            self.failure = failure
        return failure


class DiskGuard:
    """`with guard:` around file work: refused on a failed disk, and an OSError becomes a StorageFailure."""

    __slots__ = ("_growing", "_health", "_must_finish", "_subject")

    def __init__(self, health: DiskHealth, subject: str, *, growing: bool = False, must_finish: bool = False) -> None:
        """`growing` is work that only adds to what is there: without room it has done nothing, and can be tried again.
        Then DiskFull is raised, and the directory stays in use. `must_finish` is work that leaves a log in pieces if it
        stops half way, for whatever reason."""
        self._health = health
        self._subject = subject
        self._growing = growing
        self._must_finish = must_finish

    def __enter__(self) -> None:
        failure = self._health.failure
        if failure is not None:
            raise StorageFailure(f"{self._subject} is offline after a failure ({failure.action})", failure.cause)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError):
            if error.errno in TOO_MANY_OPEN_FILES:
                if self._must_finish:
                    half_way = OSError(errno.EIO, f"stopped half way: {error.strerror}")
                    raise self._health.fail(self._subject, half_way) from error
                raise StorageFailure(self._subject, error) from error
            if self._growing and means_full(error):
                raise DiskFull(self._subject, error) from error
            raise self._health.fail(self._subject, error) from error
