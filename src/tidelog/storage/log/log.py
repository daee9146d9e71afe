"""The log of one replica: its offsets, what is known about the records between them, and its lifetime.

Everything that changes memory comes after the write it belongs to, so memory never runs ahead of the log; a write
that fails takes the log directory offline. One writer at a time. What is done with a log is in the modules beside this
one: `appending`, `reader`, `truncation`, `retention`, `compacting`; loading is in `tidelog.storage.recovery.recovery`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.invariants import require
from tidelog.partition.leader_epochs import LeaderEpochs
from tidelog.partition.producers import ProducerPlan, ProducerStates
from tidelog.storage.cleaner.compaction import Compaction
from tidelog.storage.cleaner.exchange import SegmentExchange
from tidelog.storage.cleaner.gaps import KnownGaps
from tidelog.storage.directories.disk_health import DiskGuard
from tidelog.storage.files.filesystem import FileSystem, sync_path
from tidelog.storage.log.config import MAX_LONG, LogConfig
from tidelog.storage.log.environment import LogEnvironment
from tidelog.storage.log.flush import Flush, LogFlusher
from tidelog.storage.log.producer_snapshot import ProducerSnapshotFiles
from tidelog.storage.segments.segment import Segment
from tidelog.storage.segments.segments import Segments


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Log:
    """Offsets below `log_start_offset` are deleted, those below `high_watermark` are committed, those below
    `recovery_point` are on the device."""

    environment: LogEnvironment
    topic_partition: TopicPartition
    topic_id: Uuid | None
    config: LogConfig
    # Of the partition itself; a copy that is being written has another name there.
    directory: str
    segments: Segments
    snapshots: ProducerSnapshotFiles
    leader_epochs: LeaderEpochs
    producer_states: ProducerStates
    log_start_offset: int
    log_end_offset: int
    # Up to where the cleaner has come, if it ever ran here; the directory keeps it in a checkpoint.
    cleaned_up_to: int | None
    # What loading has found to be damaged, as text: readers get an error there.
    damage: list[str]
    # What is wrong with which file, compared with the last clean shutdown.
    differences: Mapping[str, str]
    synced_up_to: InitVar[int]
    gaps: InitVar[KnownGaps]
    now_ms: InitVar[int]

    # Unknown after a start, and never too high: the directory's checkpoint or the leader raises it.
    high_watermark: int = field(init=False)
    # Closed, or given up before its directory was deleted: it can no longer be used.
    closed: bool = field(init=False, default=False)
    # Whether this process has tried to append anything, with whatever success.
    was_written_to: bool = field(init=False, default=False)
    filesystem: FileSystem = field(init=False)
    # Around file work; around what only adds to the log; around what must not stop half way.
    guard: DiskGuard = field(init=False)
    growth_guard: DiskGuard = field(init=False)
    cut_guard: DiskGuard = field(init=False)
    exchange: SegmentExchange = field(init=False)
    flusher: LogFlusher = field(init=False)
    _stored_end: int = field(init=False, default=MAX_LONG)

    def __post_init__(self, synced_up_to: int, gaps: KnownGaps, now_ms: int) -> None:
        self.high_watermark = self.log_start_offset
        self.filesystem = self.environment.filesystem
        health = self.environment.health
        subject = f"log of {self.topic_partition} in {self.environment.path}"
        self.guard = DiskGuard(health, subject)
        self.growth_guard = DiskGuard(health, subject, growing=True)
        self.cut_guard = DiskGuard(health, subject, must_finish=True)
        self.exchange = SegmentExchange(
            filesystem=self.filesystem,
            guard=self.guard,
            growth_guard=self.growth_guard,
            directory=self.directory,
            segments=self.segments,
            snapshots=self.snapshots,
            gaps=gaps,
        )
        self.flusher = LogFlusher(
            filesystem=self.filesystem,
            guard=self.growth_guard,
            directory=self.directory,
            segments=self.segments,
            snapshots=self.snapshots,
            epochs=self.leader_epochs,
            recovery_point=synced_up_to,
            last_flush_ms=now_ms,
        )

    def __repr__(self) -> str:
        return f"Log({self.topic_partition}, start={self.log_start_offset}, end={self.log_end_offset})"

    def reconfigure(self, config: LogConfig) -> None:
        self.config = config

    @property
    def last_stable_offset(self) -> int:
        return self.producer_states.last_stable_offset(self.high_watermark, log_start_offset=self.log_start_offset)

    @property
    def may_have_gaps(self) -> bool:
        """Only the cleaner leaves gaps, so where it never ran, a gap is damage."""
        return self.config.compact or self.cleaned_up_to is not None or self.exchange.gaps.end_offset > 0

    @property
    def is_untouched(self) -> bool:
        """Whether there is nothing in it, and nothing can be found in its files later either."""
        return self.log_end_offset == 0 and not self.was_written_to

    @property
    def stored_end_offset(self) -> int:
        """After the last batch, as the next start finds it. The log end is higher after a truncation in a gap."""
        return min(self.log_end_offset, self._stored_end)

    @property
    def flushed_end_offset(self) -> int:
        """Up to where the log is on the device as far as flush.messages asks for it: no reader may see more."""
        end = self.log_end_offset
        return end if end - self.flusher.recovery_point < self.config.flush_messages else self.flusher.recovery_point

    @property
    def recovery_point(self) -> int:
        return self.flusher.recovery_point

    @property
    def size(self) -> int:
        return self.segments.size

    @property
    def latest_epoch(self) -> int:
        return self.leader_epochs.latest_epoch

    # Moving the bounds

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, within the log's bounds; returns what it is now."""
        self.high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))
        return self.high_watermark

    def advance_log_start(self, offset: int) -> bool:
        """Forget the records below `offset` (DeleteRecords, retention). Not above the high watermark.

        Their segments are removed by the next `delete_old_segments`. Whether it moved.
        """
        if offset > self.high_watermark:
            raise ValueError(f"{offset} is above the high watermark {self.high_watermark} of {self.topic_partition}")
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.flusher.skip_to(offset)
        self.leader_epochs.truncate_from_start(offset)
        return True

    def assign_leader_epoch(self, epoch: int) -> None:
        """A leader of this epoch writes from the log end on; called when it begins, before it writes."""
        self.leader_epochs.assign(epoch, start_offset=self.log_end_offset)

    def extend(self, plan: ProducerPlan) -> None:
        """The batches of the plan are written. The end of the log moves first: should the transaction index fail, the
        offsets are used up nevertheless, and recovery rebuilds the index."""
        self.log_end_offset = plan.end_offset
        self._stored_end = MAX_LONG
        if plan.aborted:
            with self.guard:
                for transaction in plan.aborted:
                    self.segments.active.transaction_index.append(transaction)
        self.producer_states.apply(plan)

    def sure_below(self, offset: int) -> int:
        """What is below is left by a truncation at `offset`. In a gap the last remaining batch may end anywhere in its
        segment."""
        target = self.segments.floor(offset)
        return target.base_offset if self.may_have_gaps and target is not None else offset

    def end_at(self, offset: int, *, last_segment: Segment) -> None:
        """The files have been truncated at `offset`; `last_segment` is the one that was cut."""
        self._stored_end = last_segment.next_offset() if self.may_have_gaps else MAX_LONG
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.high_watermark = min(self.high_watermark, offset)
        if self.cleaned_up_to is not None:
            self.cleaned_up_to = min(self.cleaned_up_to, offset)
        self.leader_epochs.truncate_from_end(offset)

    def restart_at(self, offset: int) -> None:
        """All records have been removed from the files; the log continues, empty, at `offset`."""
        self.log_start_offset = self.log_end_offset = self.high_watermark = offset
        self._stored_end = MAX_LONG
        if self.cleaned_up_to is not None:
            self.cleaned_up_to = offset
        self.flusher.skip_to(offset)
        self.leader_epochs.clear()
        self.producer_states.reset(offset)

    def note_gaps(self) -> None:
        """The log of the leader was compacted. Recovery must know that offsets may be missing here, too."""
        if self.cleaned_up_to is None:
            self.cleaned_up_to = self.log_start_offset

    def end_compaction(self, compaction: Compaction, *, complete: bool) -> None:
        """The compaction has finished, or has been given up."""
        if complete and self.exchange.running is compaction:
            self.cleaned_up_to = compaction.cleaned_up_to
        self.exchange.end(compaction)

    # Flushing

    def flush_due(self, now_ms: int) -> bool:
        """Whether there is something to sync now: a sealed segment, changed epochs, or what flush.* asks for."""
        return not self.closed and self.flusher.is_due(self.config, self.log_end_offset, now_ms=now_ms)

    def start_flush(self, now_ms: int, *, everything: bool = False) -> Flush | None:
        """Prepare a flush of what is due, or of everything. To be run, and then handed to `finish_flush`.

        None if there is nothing to do or a flush is running.
        """
        self.require_open()
        return self.flusher.start(self.config, self.log_end_offset, now_ms=now_ms, everything=everything)

    def finish_flush(self, flush: Flush) -> None:
        """The flush has run without failure."""
        self.flusher.finish(flush, self.log_end_offset)

    def flush(self, now_ms: int) -> None:
        """Flush everything, in the calling thread. Raises StorageFailure.

        A flush that another thread is running is not waited for: this one does the same work, and more.
        """
        self.flusher.disregard_running()
        flush = self.start_flush(now_ms, everything=True)
        if flush is not None:
            flush.run()
            self.finish_flush(flush)

    # Lifetime

    def close(self, now_ms: int) -> None:
        """Sync everything and leave what makes the next start quick: complete indexes and a producer snapshot."""
        if self.closed:
            return
        active = self.segments.active
        with self.guard:
            if active.seal():
                for path in (active.offset_index.path, active.time_index.path):
                    sync_path(self.filesystem, path)
            # At an unchanged end there is nothing new to write.
            if self.log_end_offset not in self.snapshots.offsets:
                self.snapshots.write(self.log_end_offset, self.producer_states.snapshot(), sync=True)
        self.flush(now_ms)
        self.abandon()

    def abandon(self) -> None:
        """Give up the open files without another write: after a failure, or before the directory is deleted."""
        self.closed = True
        self.flusher.abandon_running()
        self.exchange.close()
        for segment in self.segments:
            segment.release()

    def check_invariants(self) -> None:
        """Raises InvariantBroken. Not for a log whose disk has failed: a change may be half done."""
        start, end, recovery_point = self.log_start_offset, self.log_end_offset, self.recovery_point
        require(
            0 <= start <= self.high_watermark <= end, self, "the high watermark lies in the log", at=self.high_watermark
        )
        require(start <= recovery_point <= end, self, "what is flushed lies in the log", recovery_point=recovery_point)
        require((self.cleaned_up_to or 0) <= end, self, "what is cleaned lies in the log", up_to=self.cleaned_up_to)
        self.segments.check_invariants(start, log_end_offset=end)
        self.leader_epochs.check_invariants(start, log_end_offset=end)
        known = self.producer_states.end_offset
        # Lower only where the log was truncated in a gap, until the next append.
        require(known in (end, self.stored_end_offset), self, "producers are known up to the end", known=known)
        self.producer_states.check_invariants()

    def require_open(self) -> None:
        if self.closed:
            raise RuntimeError(f"the log of {self.topic_partition} is closed")
