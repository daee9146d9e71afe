"""Whether a log directory can still be used, known to all logs in it.

The first failed operation decides: from then on every operation on every log of the directory is refused with that
failure, while other directories go on. Only a restart, which recovers the logs, brings the directory back.
"""

from __future__ import annotations

from types import TracebackType

from tidelog.storage.filesystem import StorageFailure


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

    __slots__ = ("_health", "_subject")

    def __init__(self, health: DiskHealth, subject: str) -> None:
        self._health = health
        self._subject = subject

    def __enter__(self) -> None:
        if self._health.failure is not None:
            raise self._health.failure

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError):
            raise self._health.fail(self._subject, error) from error
