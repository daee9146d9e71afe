"""Flushing a log without stopping it.

The log prepares a Flush (cheap: it writes buffered index entries and collects what to sync), a thread runs it, and
the log then notes how far it is flushed. Appends may continue meanwhile; they are not part of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.partition.leader_epochs import LeaderEpochs
from tidelog.storage.directories.checkpoints import write_leader_epoch_checkpoint
from tidelog.storage.directories.disk_health import DiskGuard
from tidelog.storage.files.file_names import LEADER_EPOCH_CHECKPOINT
from tidelog.storage.files.filesystem import FileSystem, sync_path
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.producer_snapshot import ProducerSnapshotFiles
from tidelog.storage.segments.segments import Segments


@dataclass(slots=True, kw_only=True, eq=False)
class Flush:
    """What one flush has to do. `run` touches nothing of the log, so it may run in any thread.

    It opens the files itself: those of the log may be closed meanwhile by a truncation or by retention.
    """

    filesystem: FileSystem
    guard: DiskGuard
    directory: str
    # Everything before it is flushed afterwards. Lowered if the log is truncated while the flush runs.
    end_offset: int
    paths: Sequence[str]
    # To be written to the checkpoint; None if it is up to date.
    epochs: Sequence[tuple[int, int]] | None
    # The log was given up while this was running; its directory may be gone, and that is not a failure then.
    abandoned: bool = False

    def run(self) -> None:
        """Raises StorageFailure, after which the directory is offline, unless it is a shortage: then nothing was
        synced yet, and the next flush does it all."""
        with self.guard:
            try:
                self._sync()
            except FileNotFoundError:
                if not self.abandoned:
                    raise

    def _sync(self) -> None:
        # Epochs first: recovery reads them from the batches above the recovery point only.
        if self.epochs is not None and not self.abandoned:
            path = f"{self.directory}/{LEADER_EPOCH_CHECKPOINT}"
            write_leader_epoch_checkpoint(self.filesystem, path, self.epochs)
        for path in self.paths:
            # There may be no such index, and retention or a truncation may have removed the segment meanwhile.
            with contextlib.suppress(FileNotFoundError):
                sync_path(self.filesystem, path)
        if self.paths:
            self.filesystem.sync_directory(self.directory)


@dataclass(slots=True, kw_only=True, eq=False)
class LogFlusher:
    """How far one log is flushed, and what must be flushed when."""

    filesystem: FileSystem
    guard: DiskGuard
    directory: str
    segments: Segments
    snapshots: ProducerSnapshotFiles
    epochs: LeaderEpochs
    # Offsets below it are on the device.
    recovery_point: int
    last_flush_ms: int
    running: Flush | None = None

    def is_due(self, config: LogConfig, log_end_offset: int, *, now_ms: int) -> bool:
        if self.running is not None:
            return False
        # Without records the table says nothing: the next leader of an empty log begins at its end again. So it is not
        # written for each of thousands of new logs, but with the first records.
        is_changed = self.epochs.changed and log_end_offset > 0
        return is_changed or self._target(config, log_end_offset, now_ms=now_ms) > self.recovery_point

    def start(self, config: LogConfig, log_end_offset: int, *, now_ms: int, everything: bool) -> Flush | None:
        if self.running is not None:
            return None
        target = log_end_offset if everything else self._target(config, log_end_offset, now_ms=now_ms)
        if target > self.recovery_point:
            self.last_flush_ms = now_ms
        elif not self.epochs.changed:
            return None
        self.running = Flush(
            filesystem=self.filesystem,
            guard=self.guard,
            directory=self.directory,
            end_offset=target,
            paths=self._prepare(target),
            epochs=self.epochs.take_changes(),
        )
        return self.running

    def disregard_running(self) -> None:
        """The result of the running flush no longer counts; it may still run to its end."""
        if self.running is not None:
            self.epochs.mark_changed()
            self.running = None

    def abandon_running(self) -> None:
        """The log is given up, and its directory perhaps removed, while a flush may be under way in its thread."""
        if self.running is not None:
            self.running.abandoned = True

    def finish(self, flush: Flush, log_end_offset: int) -> None:
        if flush is not self.running:
            return
        self.running = None
        self.recovery_point = max(self.recovery_point, min(flush.end_offset, log_end_offset))
        active = self.segments.active
        for segment in self.segments:
            if segment is not active and segment.base_offset < flush.end_offset:
                segment.release()

    def skip_to(self, offset: int) -> None:
        """The log has nothing below `offset` any more that would have to be on the device."""
        self.recovery_point = max(self.recovery_point, offset)

    def forget_from(self, offset: int) -> None:
        """The log is truncated at `offset`. What is appended there is not flushed, even if a flush is running."""
        self.recovery_point = min(self.recovery_point, offset)
        if self.running is not None:
            self.running.end_offset = min(self.running.end_offset, offset)

    def _target(self, config: LogConfig, log_end_offset: int, *, now_ms: int) -> int:
        """Up to where the log should be on the device now: sealed segments at once, the active one by the policy."""
        unflushed = log_end_offset - self.recovery_point
        if unflushed > 0 and (unflushed >= config.flush_messages or now_ms - self.last_flush_ms >= config.flush_ms):
            return log_end_offset
        return self.segments.active.base_offset

    def _prepare(self, target: int) -> list[str]:
        if target <= self.recovery_point:
            return []
        paths: list[str] = []
        with self.guard:
            for segment in self.segments.containing(self.recovery_point, target):
                segment.write_pending()
                paths += segment.paths
        for segment in self.segments.above(self.recovery_point):
            paths.append(self.snapshots.path(segment.base_offset))
        return paths
