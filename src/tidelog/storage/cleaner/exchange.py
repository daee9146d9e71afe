"""Replacing segments with the compacted one that was made from them, safe for readers and against a crash.

    .cleaned   being written; loading removes it
    .swap      complete and synced, as is its name; loading finishes the exchange
    (none)     once the removal of the old names is durable, that is, after another sync of the directory

Everything here is quick, apart from `sync_names`, and belongs to the thread that owns the log; readers see the old
segments or the new one. Whatever else changes the log revokes a compaction that is under way.
"""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.storage.cleaner.compaction import Compaction, CompactionLimits, CompactionRevoked, CompactionTask
from tidelog.storage.cleaner.gaps import KnownGaps
from tidelog.storage.directories.disk_health import DiskGuard
from tidelog.storage.directories.removal import FileRemoval
from tidelog.storage.files.file_names import DELETED_SUFFIX
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.log.producer_snapshot import ProducerSnapshotFiles
from tidelog.storage.segments.segment import Segment
from tidelog.storage.segments.segments import Segments


@dataclass(slots=True, kw_only=True, eq=False)
class SegmentExchange:
    """Of one log."""

    filesystem: FileSystem
    guard: DiskGuard
    # Around what a compaction writes next to the log.
    growth_guard: DiskGuard
    directory: str
    segments: Segments
    snapshots: ProducerSnapshotFiles
    gaps: KnownGaps
    running: Compaction | None = None
    closed: bool = False

    def begin(self, task: CompactionTask, limits: CompactionLimits) -> Compaction:
        assert self.running is None, "a log has one compaction at a time"
        self.running = Compaction(self.filesystem, self.growth_guard, task, limits, self.gaps)
        return self.running

    def swap_in(self, compaction: Compaction, now_ms: int) -> tuple[Segment, FileRemoval]:
        """Exchange the segments that the compaction has finished; its files keep the suffix `.swap` for now.

        `sync_names` and then `finish` complete it. Raises CompactionRevoked, StorageFailure.
        """
        group = compaction.finished
        if compaction is not self.running or group is None:
            raise CompactionRevoked
        compaction.finished = None
        paths = []
        with self.guard:
            for segment in group.old:
                paths += segment.rename_files(DELETED_SUFFIX)
                if segment.base_offset != group.new.base_offset:
                    self.snapshots.remove(segment.base_offset)
            self.segments.exchange(group.old, group.new)
        return group.new, FileRemoval(paths=paths, due_ms=now_ms + compaction.task.config.file_delete_delay_ms)

    def sync_names(self, compaction: Compaction) -> None:
        """Sync the names of the files; may run in any thread.

        Raises StorageFailure, and CompactionRevoked if the log's directory is gone.
        """
        with compaction.guard:
            self.filesystem.sync_directory(self.directory)

    def finish(self, segment: Segment) -> None:
        """Give a segment that was swapped in its usual names, if the log still has it."""
        if not self.closed and segment in self.segments:
            with self.guard:
                segment.change_ending("")

    def revoke(self, *, discard: bool = True) -> None:
        """The log is about to change in a way that a compaction must not survive."""
        compaction, self.running = self.running, None
        if compaction is not None:
            compaction.revoke(discard=discard)

    def close(self) -> None:
        """The log's files must not be touched any more."""
        self.closed = True
        self.revoke(discard=False)

    def end(self, compaction: Compaction) -> None:
        """The compaction has finished, or has been given up."""
        if compaction is not self.running:
            return
        if compaction.finished is None:
            self.revoke(discard=False)
        else:
            with self.guard:
                self.revoke()
