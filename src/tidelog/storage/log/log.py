"""The log of one replica: appends, rolls, cuts and flushes its segments, and keeps what is known about them in step.

Everything that changes memory comes after the write it belongs to, so memory never runs ahead of the log; a write
that fails takes the log directory offline. One writer at a time. What a leader checks before it appends is in
`tidelog.records.validation`, reading is in `tidelog.storage.log.reader`, loading in
`tidelog.storage.recovery.recovery`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.invariants import require
from tidelog.partition.leader_epochs import LeaderEpochs
from tidelog.partition.producers import AppendOrigin, DuplicateBatch, ProducerPlan, ProducerRefusal
from tidelog.partition.verification import VerificationGuard
from tidelog.records.batch import (
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
    Buffer,
    CorruptBatch,
    compute_crc,
    iterate_headers,
    stamp_offset_and_epoch,
)
from tidelog.storage.cleaner.batch_filter import LastRecord
from tidelog.storage.cleaner.compaction import Compaction, CompactionLimits, CompactionTask
from tidelog.storage.cleaner.exchange import SegmentExchange
from tidelog.storage.cleaner.selection import CleanableRange, cleanable_range
from tidelog.storage.directories.disk_health import DiskGuard
from tidelog.storage.directories.removal import FileRemoval
from tidelog.storage.files.file_names import DELETED_SUFFIX
from tidelog.storage.files.filesystem import DiskFull, sync_path
from tidelog.storage.indexes.sparse_index import CorruptIndex
from tidelog.storage.indexes.transaction_index import AbortedTransaction
from tidelog.storage.log.config import MAX_LONG, LogConfig
from tidelog.storage.log.flush import Flush, LogFlusher
from tidelog.storage.log.reader import (
    collect_aborted,
    end_offset_of,
    locate,
    read_records,
)
from tidelog.storage.log.results import (
    AppendRefusal,
    AppendResult,
    OffsetOutOfRange,
    ReadResult,
    UnexpectedOffset,
)
from tidelog.storage.log.retention import deletable_segments
from tidelog.storage.log.state import LogEnvironment, LogState
from tidelog.storage.recovery.segment_recovery import headers_before, replay_producers
from tidelog.storage.segments.segment import MAX_RELATIVE_OFFSET, AppendedBatch, Segment
from tidelog.storage.segments.segments import Segments

P = ParamSpec("P")
T = TypeVar("T")

# How far back the log is searched for batches that a producer may send again: five of usual size, of a dozen producers.
RECALLED_BYTES = 1 << 20


class Log:
    """Offsets below `log_start_offset` are deleted, those below `high_watermark` are committed, those below
    `recovery_point` are on the device."""

    def __init__(
        self,
        environment: LogEnvironment,
        topic_partition: TopicPartition,
        topic_id: Uuid | None,
        config: LogConfig,
        state: LogState,
        now_ms: int,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.config = config
        self.directory = state.directory
        self.leader_epochs = state.leader_epochs
        self.producer_states = state.producer_states
        self.log_start_offset = state.log_start_offset
        self.log_end_offset = state.log_end_offset
        # Unknown after a start, and never too high: the directory's checkpoint or the leader raises it.
        self.high_watermark = state.log_start_offset
        # Up to where the cleaner has come, if it ever was here; the directory keeps it in a checkpoint.
        self.cleaned_up_to: int | None = None
        self.segments = state.segments
        self._snapshots = state.snapshots
        self._environment = environment
        self._filesystem = environment.filesystem
        subject = f"log of {topic_partition} in {environment.path}"
        self._guard = DiskGuard(environment.health, subject)
        self._growth_guard = DiskGuard(environment.health, subject, growing=True)
        self._cut_guard = DiskGuard(environment.health, subject, must_finish=True)
        self.exchange = SegmentExchange(
            environment.filesystem,
            self._guard,
            self._growth_guard,
            self.directory,
            state.segments,
            state.snapshots,
            state.gaps,
        )
        self._flusher = LogFlusher(
            environment.filesystem,
            self._growth_guard,
            self.directory,
            state.segments,
            state.snapshots,
            state.leader_epochs,
            recovery_point=state.recovery_point,
            now_ms=now_ms,
        )
        self._flusher.epochs_changed = state.epochs_changed
        self._closed = False
        self._stored_end = MAX_LONG
        # What loading has found to be damaged, in words: readers get an error there.
        self.damage = state.damage
        # What is wrong with which file, compared with the last clean shutdown.
        self.differences: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"Log({self.topic_partition}, start={self.log_start_offset}, end={self.log_end_offset})"

    def reconfigure(self, config: LogConfig) -> None:
        self.config = config

    @property
    def last_stable_offset(self) -> int:
        return self.producer_states.last_stable_offset(self.high_watermark, log_start_offset=self.log_start_offset)

    @property
    def closed(self) -> bool:
        """Closed, or given up before its directory was deleted: there is nothing to be done with it any more."""
        return self._closed

    @property
    def may_have_gaps(self) -> bool:
        """Only the cleaner makes gaps, so where it never was, a gap is damage."""
        return self.config.compact or self.cleaned_up_to is not None or self.exchange.gaps.end_offset > 0

    @property
    def stored_end_offset(self) -> int:
        """Behind the last batch, as the next start finds it. The end of the log is higher after a cut in a gap."""
        return min(self.log_end_offset, self._stored_end)

    @property
    def flushed_end_offset(self) -> int:
        """Up to where the log is on the device as far as flush.messages asks for it: nobody may be told of more."""
        end = self.log_end_offset
        return end if end - self._flusher.recovery_point < self.config.flush_messages else self._flusher.recovery_point

    @property
    def recovery_point(self) -> int:
        return self._flusher.recovery_point

    @property
    def size(self) -> int:
        return self.segments.size

    @property
    def latest_epoch(self) -> int:
        return self.leader_epochs.latest_epoch

    # Appending

    def append_as_leader(
        self,
        data: bytearray | memoryview,
        headers: Sequence[BatchHeader],
        leader_epoch: int,
        *,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendResult | AppendRefusal:
        """Give the batches in `data` the next offsets, in place, and write them.

        `headers` are those of the batches in `data`, which must have been validated. Raises StorageFailure.
        """
        self._require_open()
        size = len(data)
        if size > self.config.segment_bytes:
            return AppendRefusal(
                code=ErrorCode.RECORD_LIST_TOO_LARGE,
                message=f"{size} bytes do not fit into a segment of {self.config.segment_bytes} (segment.bytes)",
            )
        first_offset = self.log_end_offset
        plan = self.producer_states.plan(
            headers, data, first_offset, origin=origin, guard=guard, transaction_version=transaction_version
        )
        if isinstance(plan, ProducerRefusal) and self._recall(plan, headers[0].producer_id):
            plan = self.producer_states.plan(
                headers, data, first_offset, origin=origin, guard=guard, transaction_version=transaction_version
            )
        if not isinstance(plan, ProducerPlan):
            return self._unplanned(plan, headers[0])
        batches = []
        position = 0
        offset = first_offset
        max_timestamp = -1
        for header in headers:
            stamp_offset_and_epoch(data, position, offset, leader_epoch)
            batch_size = header.batch_length + LOG_OVERHEAD
            last_offset = offset + header.last_offset_delta
            batches.append(AppendedBatch(offset, last_offset, batch_size, header.max_timestamp))
            if header.max_timestamp > max_timestamp:
                max_timestamp = header.max_timestamp
            position += batch_size
            offset = last_offset + 1
        self._write(data, batches, max_timestamp, now_ms=now_ms)
        if self.leader_epochs.assign(leader_epoch, start_offset=first_offset):
            self._flusher.epochs_changed = True
        self._apply(plan, offset)
        append_time = max_timestamp if headers[0].attributes & TIMESTAMP_TYPE_MASK else -1
        return AppendResult(first_offset, offset - 1, append_time, self.log_start_offset)

    def append_as_follower(self, data: Buffer, now_ms: int) -> AppendResult | None:
        """Write batches as the leader sent them; a part of a batch at the end is left out. None if nothing is whole.

        Raises UnexpectedOffset if they do not continue the log, CorruptBatch, StorageFailure.
        """
        self._require_open()
        view = memoryview(data)
        first_offset = -1
        chunk: list[tuple[int, BatchHeader]] = []
        chunk_size = 0
        for position, header in self._checked_follower_batches(view):
            if first_offset < 0:
                first_offset = header.base_offset
            # A fetch may bring more than a segment takes; batches stay whole.
            if chunk and chunk_size + header.size > self.config.segment_bytes:
                self._append_followed(view, chunk, now_ms)
                chunk, chunk_size = [], 0
            chunk.append((position, header))
            chunk_size += header.size
        if not chunk:
            return None
        self._append_followed(view, chunk, now_ms)
        return AppendResult(first_offset, self.log_end_offset - 1, -1, self.log_start_offset)

    def assign_leader_epoch(self, epoch: int) -> None:
        """A leader of this epoch writes from the end of the log on; said when it begins, before it writes."""
        if self.leader_epochs.assign(epoch, start_offset=self.log_end_offset):
            self._flusher.epochs_changed = True

    def _checked_follower_batches(self, view: memoryview) -> list[tuple[int, BatchHeader]]:
        batches = list(iterate_headers(view))
        expected = self.log_end_offset
        for position, header in batches:
            if header.base_offset < expected:
                raise UnexpectedOffset(
                    f"{self.topic_partition} ends at {expected}, but the leader sent offset {header.base_offset}",
                    header.base_offset,
                    log_end_offset=expected,
                )
            if compute_crc(view, position, header.size) != header.crc:
                raise CorruptBatch(position, f"the checksum of offset {header.base_offset} does not match")
            if header.base_offset > expected and self.cleaned_up_to is None:
                # The leader's log was compacted. Recovery must know that offsets may be missing here, too.
                self.cleaned_up_to = self.log_start_offset
            expected = header.next_offset
        return batches

    def _append_followed(self, view: memoryview, chunk: Sequence[tuple[int, BatchHeader]], now_ms: int) -> None:
        headers = [header for _, header in chunk]
        data = view[chunk[0][0] : chunk[-1][0] + headers[-1].size]
        plan = self.producer_states.plan(headers, data, headers[0].base_offset, origin=AppendOrigin.REPLICATION)
        assert isinstance(plan, ProducerPlan), "replicated batches are never refused"
        batches = [
            AppendedBatch(header.base_offset, header.last_offset, header.size, header.max_timestamp)
            for header in headers
        ]
        self._write(data, batches, max(header.max_timestamp for header in headers), now_ms=now_ms)
        for header in headers:
            if header.partition_leader_epoch >= 0 and self.leader_epochs.assign(
                header.partition_leader_epoch, start_offset=header.base_offset
            ):
                self._flusher.epochs_changed = True
        self._apply(plan, headers[-1].next_offset)

    def _write(self, data: Buffer, batches: Sequence[AppendedBatch], max_timestamp: int, *, now_ms: int) -> None:
        with self._growth_guard:
            segment = self.segments.active
            if segment.should_roll(
                self.config, len(data), last_offset=batches[-1].last_offset, max_timestamp=max_timestamp, now_ms=now_ms
            ):
                # Also if the leader's log has a gap here: a gap between two of our segments would look like a loss.
                too_far = batches[-1].last_offset - self.log_end_offset > MAX_RELATIVE_OFFSET
                segment = self._roll(batches[0].base_offset if too_far else self.log_end_offset, now_ms=now_ms)
            try:
                segment.append(data, batches, self.config)
            except OSError as failure:
                # Unless the tail is as it was before, nothing more may be written behind it.
                try:
                    segment.undo_write()
                except OSError as worse:
                    raise worse from failure
                raise

    def _apply(self, plan: ProducerPlan, end_offset: int) -> None:
        """The batches are written. The end of the log moves first: should the transaction index fail, the offsets
        are used up nevertheless, and recovery rebuilds the index."""
        self.log_end_offset = end_offset
        self._stored_end = MAX_LONG
        if plan.completed:
            with self._guard:
                for completed in plan.completed:
                    if completed.aborted:
                        self.segments.active.transaction_index.append(
                            AbortedTransaction(
                                completed.producer_id,
                                completed.first_offset,
                                completed.last_offset,
                                completed.last_stable_offset,
                            )
                        )
        self.producer_states.apply(plan)

    def _recall(self, refusal: ProducerRefusal, producer_id: int) -> bool:
        """Whether more is known now of a producer whose batch seems to be out of order.

        It may be one that is in the log: after a restart, or after the log was cut, a snapshot holds only the
        last batch of each producer, but five may have been under way. A producer that repeats the first of them and is
        refused gives it up and stores the others once more.
        """
        if refusal.code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return False
        before = self.producer_states.recall_before(producer_id)
        if before is None:
            return False
        with self._guard, contextlib.suppress(CorruptBatch, CorruptIndex):
            headers = headers_before(self.segments.below(before), before, max_bytes=RECALLED_BYTES)
            self.producer_states.recall(producer_id, headers)
        return True

    def _unplanned(self, plan: DuplicateBatch | ProducerRefusal, header: BatchHeader) -> AppendResult | AppendRefusal:
        if isinstance(plan, ProducerRefusal):
            return AppendRefusal(code=plan.code, message=plan.message)
        append_time = plan.timestamp if header.timestamp_type == LOG_APPEND_TIME else -1
        return AppendResult(plan.first_offset, plan.last_offset, append_time, self.log_start_offset, duplicate=True)

    # Rolling and flushing

    def roll(self, now_ms: int) -> None:
        """Begin a new segment, unless the active one is empty."""
        self._require_open()
        with self._growth_guard:
            self._roll(self.log_end_offset, now_ms=now_ms)

    def _roll(self, base_offset: int, *, now_ms: int) -> Segment:
        """The old segment and the snapshot are synced by the flush that is due from now on."""
        active = self.segments.active
        if active.size == 0 and active.base_offset == base_offset:
            return active
        active.seal()
        self._snapshots.write(base_offset, self.producer_states.snapshot(), sync=False)
        segment = self._new_segment(base_offset, now_ms=now_ms)
        self.segments.add(segment)
        return segment

    def _new_segment(self, base_offset: int, *, now_ms: int) -> Segment:
        return Segment.create(
            self._filesystem,
            self.directory,
            base_offset,
            created_ms=now_ms,
            jitter_ms=self._environment.draw_jitter_ms(self.config),
        )

    def flush_due(self, now_ms: int) -> bool:
        """Whether there is something to sync now: a sealed segment, changed epochs, or what flush.* asks for."""
        return not self._closed and self._flusher.is_due(self.config, self.log_end_offset, now_ms=now_ms)

    def start_flush(self, now_ms: int, *, everything: bool = False) -> Flush | None:
        """Prepare a flush of what is due, or of everything. To be run, and then handed to `finish_flush`.

        None if there is nothing to do or a flush is under way.
        """
        self._require_open()
        return self._flusher.start(self.config, self.log_end_offset, now_ms=now_ms, everything=everything)

    def disregard_flush(self) -> None:
        """The flush could not be carried out, and has changed nothing: the next one does it all."""
        self._flusher.disregard_running()

    def finish_flush(self, flush: Flush) -> None:
        """The flush has run without failure."""
        self._flusher.finish(flush, self.log_end_offset)

    def flush(self, now_ms: int) -> None:
        """Bring everything to the device, in the calling thread. Raises StorageFailure.

        A flush that another thread is running is not waited for: this one does the same work, and more.
        """
        self._flusher.disregard_running()
        flush = self.start_flush(now_ms, everything=True)
        if flush is not None:
            flush.run()
            self.finish_flush(flush)

    # Reading

    def read(
        self, offset: int, *, max_bytes: int, upper_bound: int | None = None, min_one_batch: bool = True
    ) -> ReadResult | OffsetOutOfRange:
        """Batches from `offset` on and below `upper_bound` (the end of the log if None). Raises StorageFailure, and
        CorruptBatch if the log is damaged there."""
        end = self.log_end_offset
        if offset < self.log_start_offset or offset > end:
            return OffsetOutOfRange(offset=offset, log_start_offset=self.log_start_offset, log_end_offset=end)
        if upper_bound is None:
            upper_bound = end
        if offset >= upper_bound:
            return ReadResult(b"", self.segments.active.base_offset, self.segments.active.size)
        with self._guard:
            return read_records(
                self.segments,
                self.config,
                offset,
                max_bytes=max_bytes,
                upper_bound=upper_bound,
                log_end_offset=end,
                min_one_batch=min_one_batch,
                gapless=not self.may_have_gaps,
            )

    def end_offset_of(self, result: ReadResult) -> int:
        """An upper bound for the offsets in `result`, to ask for aborted transactions with."""
        with self._guard:
            return end_offset_of(self.segments, result, self.log_end_offset)

    def aborted_transactions(self, first_offset: int, *, upper_bound: int) -> list[AbortedTransaction]:
        """Those with records from `first_offset` up to, not including, `upper_bound`."""
        with self._guard:
            return collect_aborted(self.segments, first_offset, upper_bound=upper_bound)

    def look(self, function: Callable[Concatenate[Segments, LogConfig, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What a function of `log_reader` finds in the segments. Raises StorageFailure."""
        with self._guard:
            return function(self.segments, self.config, *args, **kwargs)

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
        self._flusher.recovery_point = max(self._flusher.recovery_point, offset)
        if self.leader_epochs.truncate_from_start(offset):
            self._flusher.epochs_changed = True
        return True

    def delete_old_segments(self, now_ms: int) -> list[FileRemoval]:
        """Take the segments that retention allows out of the log; the returned work then removes the files."""
        self._require_open()
        with self._guard:
            deletable = deletable_segments(
                self.segments,
                self.config,
                log_start_offset=self.log_start_offset,
                log_end_offset=self.log_end_offset,
                high_watermark=self.high_watermark,
                now_ms=now_ms,
            )
            if not deletable:
                return []
            if deletable[-1] is self.segments.active:
                try:
                    self.roll(now_ms)
                except DiskFull:
                    # The others make room for that.
                    deletable.pop()
                    if not deletable:
                        raise
            following = self.segments.after(deletable[-1])
            assert following is not None, "a log is never without a segment"
            self.advance_log_start(following.base_offset)
            return [self._remove_segments(deletable, now_ms)]

    def lower_recovery_point(self, offset: int) -> None:
        """What is above `offset` is about to change on the device."""
        self._flusher.forget_from(offset)
        target = self.segments.floor(offset)
        if self.may_have_gaps and target is not None:
            # The last batch that stays may end before the offset, anywhere in the segment.
            self._stored_end = target.base_offset

    def truncate_to(self, offset: int, *, now_ms: int) -> list[FileRemoval]:
        """Cut off `offset` and everything after it. The lower recovery point must be on the device before that, see
        LogDirectory.truncate."""
        self._require_open()
        if offset >= self.log_end_offset:
            # A leader that wrote nothing in its epoch leaves an entry behind that contradicts the next leader's.
            if self.leader_epochs.truncate_from_end(self.log_end_offset):
                self._flusher.epochs_changed = True
            return []
        if offset < self.segments.first.base_offset:
            return self.truncate_fully_and_start_at(offset, now_ms=now_ms)
        target = self.segments.floor(offset)
        assert target is not None, "the first segment begins at or before the offset"
        with self._guard:
            # Repairs an index that would lead astray, or fails before anything has changed.
            locate(target, self.config, offset)
            self._require_descriptor()
        with self._cut_guard:
            self.exchange.revoke()
            self._flusher.forget_from(offset)
            removals = self._drop_segments_above(offset, now_ms=now_ms)
            if self.cleaned_up_to is not None:
                self.cleaned_up_to = min(self.cleaned_up_to, offset)
            self._snapshots.remove_above(offset)
            target.truncate_to(offset, created_ms=now_ms)
            self._stored_end = target.next_offset() if self.may_have_gaps else MAX_LONG
            self.log_end_offset = offset
            self.log_start_offset = min(self.log_start_offset, offset)
            self.high_watermark = min(self.high_watermark, offset)
            if self.leader_epochs.truncate_from_end(offset):
                self._flusher.epochs_changed = True
            self._reload_producers(now_ms)
            self._filesystem.sync_directory(self.directory)
            self.exchange.gaps.limit_to(offset)
        return removals

    def truncate_fully_and_start_at(self, offset: int, *, now_ms: int) -> list[FileRemoval]:
        """Drop all records; the log goes on, empty, at `offset`."""
        self._require_open()
        with self._guard:
            self._require_descriptor()
        with self._cut_guard:
            self.exchange.revoke()
            self._flusher.forget_from(0)
            dropped = list(self.segments)
            # The last one first, as below.
            removals = [self._remove_files(segment, now_ms) for segment in reversed(dropped)]
            if self.cleaned_up_to is not None:
                self.cleaned_up_to = offset
            self._snapshots.remove_all()
            # A log is never without a segment, not even one whose disk fails in here.
            self.segments.exchange(dropped, self._new_segment(offset, now_ms=now_ms))
            self.log_start_offset = self.log_end_offset = self.high_watermark = offset
            self._stored_end = MAX_LONG
            self._flusher.recovery_point = offset
            self.leader_epochs.clear()
            self._flusher.epochs_changed = True
            self.producer_states.reset(offset)
            # The old segments must be gone for good before the first record of the new ones is written.
            self._filesystem.sync_directory(self.directory)
            self.exchange.gaps.limit_to(offset)
        return removals

    def _drop_segments_above(self, offset: int, *, now_ms: int) -> list[FileRemoval]:
        """The last one first, so that a crash on the way leaves no gap in the log.

        Where recovery would take a gap for one of the cleaner, each is gone for good before the next one goes.
        """
        removals = []
        for segment in self.segments.above(offset)[::-1]:
            self.segments.remove(segment)
            removals.append(self._remove_files(segment, now_ms))
        return removals

    def _remove_files(self, segment: Segment, now_ms: int) -> FileRemoval:
        paths = segment.rename_files(DELETED_SUFFIX)
        self._snapshots.remove(segment.base_offset)
        if segment.base_offset <= max(self.exchange.gaps.end_offset, self.cleaned_up_to or 0):
            self._filesystem.sync_directory(self.directory)
        return FileRemoval(paths=paths, due_ms=now_ms + self.config.file_delete_delay_ms)

    def _require_descriptor(self) -> None:
        """Fails while the process has none left, before anything has changed. Raises OSError."""
        self._filesystem.sync_directory(self.directory)

    def _remove_segments(self, segments: Sequence[Segment], now_ms: int) -> FileRemoval:
        self.exchange.revoke()
        paths = []
        for segment in segments:
            self.segments.remove(segment)
            paths += segment.rename_files(DELETED_SUFFIX)
            self._snapshots.remove(segment.base_offset)
        return FileRemoval(paths=paths, due_ms=now_ms + self.config.file_delete_delay_ms)

    def _reload_producers(self, now_ms: int) -> None:
        snapshot = self._snapshots.newest(self.log_end_offset, above=self.log_start_offset)
        offset, entries = snapshot if snapshot is not None else (self.log_start_offset, [])
        self.producer_states.reload(entries, offset, now_ms=now_ms)
        segments = self.segments.containing(offset, self.log_end_offset)
        replay_producers(segments, self.producer_states, self.log_end_offset)

    # Compaction

    def cleanable_range(self, now_ms: int) -> CleanableRange:
        """What a compaction would be about. Raises StorageFailure, and CorruptBatch if the log is damaged."""
        with self._guard:
            return cleanable_range(
                list(self.segments),
                self.config,
                cleaned_up_to=self.cleaned_up_to,
                log_start_offset=self.log_start_offset,
                log_end_offset=self.log_end_offset,
                last_stable_offset=self.last_stable_offset,
                now_ms=now_ms,
            )

    def start_compaction(self, planned: CleanableRange, limits: CompactionLimits, now_ms: int) -> Compaction:
        """Begin to compact: its steps are then run, and each segment it has made is put in place by `exchange`.

        Whatever cuts or shortens the log meanwhile revokes it. One at a time.
        """
        self._require_open()
        last_records = {
            entry.producer_id: LastRecord(entry.epoch, entry.batches[-1].last_offset if entry.batches else None)
            for entry in self.producer_states
        }
        task = CompactionTask(
            directory=self.directory,
            config=self.config,
            segments=self.segments.below(planned.first_uncleanable_offset),
            first_dirty_offset=planned.first_dirty_offset,
            end_offset=planned.first_uncleanable_offset,
            aborted=self.aborted_transactions(
                self.segments.first.base_offset, upper_bound=planned.first_uncleanable_offset
            ),
            last_records=last_records,
            epochs=LeaderEpochs(self.leader_epochs.entries),
            now_ms=now_ms,
        )
        return self.exchange.begin(task, limits)

    def end_compaction(self, compaction: Compaction, *, complete: bool) -> None:
        """The compaction has run to its end, or has been given up."""
        if complete and self.exchange.running is compaction:
            self.cleaned_up_to = compaction.cleaned_up_to
        self.exchange.end(compaction)

    # Lifetime

    def close(self, now_ms: int) -> None:
        """Sync everything and leave what makes the next start quick: complete indexes and a producer snapshot."""
        if self._closed:
            return
        active = self.segments.active
        with self._guard:
            if active.seal():
                for path in (active.offset_index.path, active.time_index.path):
                    sync_path(self._filesystem, path)
            # At an unchanged end there is nothing new to say.
            if self.log_end_offset not in self._snapshots.offsets:
                self._snapshots.write(self.log_end_offset, self.producer_states.snapshot(), sync=True)
        self.flush(now_ms)
        self.abandon()

    def abandon(self) -> None:
        """Give up the open files without another write: after a failure, or before the directory is deleted."""
        self._closed = True
        self._flusher.abandon_running()
        self.exchange.close()
        for segment in self.segments:
            segment.release()

    def check_invariants(self) -> None:
        """Raises InvariantBroken. Not for a log whose disk has failed: a change may have come half way."""
        start, end, recovery_point = self.log_start_offset, self.log_end_offset, self.recovery_point
        require(
            0 <= start <= self.high_watermark <= end, self, "the high watermark lies in the log", at=self.high_watermark
        )
        require(start <= recovery_point <= end, self, "what is flushed lies in the log", recovery_point=recovery_point)
        require((self.cleaned_up_to or 0) <= end, self, "what is cleaned lies in the log", up_to=self.cleaned_up_to)
        self.segments.check_invariants(start, log_end_offset=end)
        self.leader_epochs.check_invariants(start, log_end_offset=end)
        known = self.producer_states.end_offset
        # Lower only where the log was cut in a gap, until the next append.
        require(known in (end, self.stored_end_offset), self, "producers are known up to the end", known=known)
        self.producer_states.check_invariants()

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"the log of {self.topic_partition} is closed")
