"""Bringing a log to the device without stopping it.

The log prepares a Flush (cheap: it writes buffered index entries and collects what to sync), a thread runs it, and
the log then takes note of how far it is safe. Appends may go on meanwhile; they are not part of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.storage.checkpoints import write_leader_epoch_checkpoint
from tidelog.storage.disk_health import DiskGuard
from tidelog.storage.filesystem import FileSystem


class Flush:
    """What one flush has to do. `run` touches nothing of the log, so it may run in any thread.

    It opens the files itself: those of the log may be closed meanwhile by a truncation or by retention.
    """

    __slots__ = ("_directory", "_epochs", "_filesystem", "_guard", "_paths", "end_offset")

    def __init__(
        self,
        filesystem: FileSystem,
        guard: DiskGuard,
        directory: str,
        *,
        end_offset: int,
        paths: Sequence[str],
        epochs: tuple[str, Sequence[tuple[int, int]]] | None,
    ) -> None:
        self._filesystem = filesystem
        self._guard = guard
        self._directory = directory
        # Everything before it is safe afterwards. Lowered if the log is cut while the flush runs.
        self.end_offset = end_offset
        self._paths = paths
        self._epochs = epochs

    def run(self) -> None:
        """Raises StorageFailure, after which the directory is offline."""
        with self._guard:
            # Epochs first: recovery reads them from the batches above the recovery point only.
            if self._epochs is not None:
                path, entries = self._epochs
                write_leader_epoch_checkpoint(self._filesystem, path, entries)
            for path in self._paths:
                self._sync_path(path)
            if self._paths:
                self._filesystem.sync_directory(self._directory)

    def _sync_path(self, path: str) -> None:
        try:
            file = self._filesystem.open(path)
        except FileNotFoundError:
            # Retention or a truncation has removed the segment meanwhile.
            return
        try:
            file.sync()
        finally:
            file.close()
