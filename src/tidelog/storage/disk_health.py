"""Whether a log directory can still be used, known to all logs in it.

The first failed operation decides: from then on every operation on every log of the directory is refused with that
failure, while other directories go on. Only a restart, which recovers the logs, brings the directory back.

A process that has run out of descriptors is none of that: the operation fails, and the next one may succeed. Files are
opened before anything is changed, so nothing is half done then.
"""

from __future__ import annotations

from types import TracebackType

from tidelog.storage.filesystem import TOO_MANY_OPEN_FILES, StorageFailure


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

    __slots__ = ("_health", "_must_succeed", "_subject")

    def __init__(self, health: DiskHealth, subject: str, *, must_succeed: bool = False) -> None:
        """`must_succeed` for what cannot be left undone, not even for want of descriptors."""
        self._health = health
        self._subject = subject
        self._must_succeed = must_succeed

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
            if error.errno in TOO_MANY_OPEN_FILES and not self._must_succeed:
                raise StorageFailure(self._subject, error) from error
            raise self._health.fail(self._subject, error) from error
