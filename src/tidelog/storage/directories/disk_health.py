"""Whether a log directory can still be used, known to all logs in it.

The first failed operation decides: from then on every operation on every log of the directory is refused with that
failure, while other directories stay in use. Only a restart, which recovers the logs, brings the directory back.

A process that has run out of descriptors is different: the operation fails, and the next one may succeed. Files are
opened before anything is changed, so nothing is half done then. Where that is impossible, the guard says so, and the
directory goes offline.

A full disk is not a failed disk: only what was to be added is refused. That applies only to work that can be refused
as a whole, which says so by its guard.
"""

from __future__ import annotations

import errno
from dataclasses import field
from types import TracebackType

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.storage.files.filesystem import TOO_MANY_OPEN_FILES, DiskFull, StorageFailure, means_full


@dataclass(slots=True, eq=False)
class DiskHealth:
    failure: StorageFailure | None = None

    def fail(self, action: str, cause: OSError) -> StorageFailure:
        """Take the directory offline; returns the failure to raise."""
        failure = StorageFailure(action, cause)
        if self.failure is None:
            self.failure = failure
        return failure


@dataclass(frozen=True, slots=True, eq=False)
class DiskGuard:
    """`with guard:` around file work: refused on a failed disk, and an OSError becomes a StorageFailure."""

    health: DiskHealth
    subject: str
    # Work that only adds to what is there: on a full disk it has changed nothing, and can be retried. Then DiskFull is
    # raised, and the directory stays in use.
    growing: bool = field(default=False, kw_only=True)
    # Work that leaves a log inconsistent if it stops half way, for whatever reason.
    must_finish: bool = field(default=False, kw_only=True)

    def __enter__(self) -> None:
        failure = self.health.failure
        if failure is not None:
            raise StorageFailure(f"{self.subject} is offline after a failure ({failure.action})", failure.cause)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError):
            if error.errno in TOO_MANY_OPEN_FILES:
                if self.must_finish:
                    half_way = OSError(errno.EIO, f"stopped half way: {error.strerror}")
                    raise self.health.fail(self.subject, half_way) from error
                raise StorageFailure(self.subject, error) from error
            if self.growing and means_full(error):
                raise DiskFull(self.subject, error) from error
            raise self.health.fail(self.subject, error) from error
