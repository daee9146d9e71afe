"""One compaction of one log: the file work, in small steps that may run in any thread, one at a time.

1. `map_keys` reads the dirty part and notes the last offset of each key, as far as its memory allows.
2. `write_group` copies what stays of some neighbouring segments into a new one, with the suffix `.cleaned`, syncs it,
   notes that a gap may follow it (see `gaps`) and renames it to `.swap`. After a crash from then on,
   loading finishes the exchange.
3. `SegmentExchange.swap_in` replaces the old segments with the new one, on the thread that owns the log.
Then 2 and 3 for the next group. The steps are generators; what they yield is the number of bytes they have moved
since the last time, so that the caller can throttle them, let others run, or stop.

Which segments these are and which records stay is decided in the other modules of this package.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.partition.leader_epochs import LeaderEpochs
from tidelog.partition.transactions import AbortedTransaction
from tidelog.records.batch import BatchHeader, Buffer, CorruptBatch, parse_header
from tidelog.storage.cleaner.batch_filter import BatchFilter, LastRecord, RetentionRules
from tidelog.storage.cleaner.gaps import KnownGaps
from tidelog.storage.cleaner.grouping import group_segments
from tidelog.storage.cleaner.key_map import RECORDS_PER_STEP, SLOT_SIZE, KeyMap
from tidelog.storage.cleaner.large_batch import LARGE_RECORDS_PER_STEP, iterate_records, small_payload
from tidelog.storage.cleaner.transactions import PassedTransactions
from tidelog.storage.directories.disk_health import DiskGuard
from tidelog.storage.files.file_names import CLEANED_SUFFIX, SWAP_SUFFIX
from tidelog.storage.files.filesystem import FileSystem, sync_path
from tidelog.storage.log.config import LogConfig
from tidelog.storage.segments.batch_order import in_order
from tidelog.storage.segments.batch_scan import GoodBatch, scan_batches
from tidelog.storage.segments.segment import AppendedBatch, Segment

Work = Generator[int, None, None]


class CompactionRevoked(Exception):
    """The log was truncated, shortened or closed meanwhile, and the result would no longer fit."""


class DamagedSegment(Exception):
    """A segment that cannot be compacted. Says which file, where, and why."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(f"{path} is damaged at byte {position}: {reason}")
        self.path = path
        self.position = position


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionLimits:
    """The limits of one compaction; the properties are log.cleaner.dedupe.buffer.size and so on."""

    dedupe_buffer_bytes: int
    load_factor: float
    io_buffer_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionTask:
    """What the log knew when the compaction began; it stays true until the log revokes it."""

    directory: str
    config: LogConfig
    # From the first of the log up to `end_offset`, where the first uncleanable one begins.
    segments: Sequence[Segment]
    first_dirty_offset: int
    end_offset: int
    aborted: Sequence[AbortedTransaction]
    last_records: Mapping[int, LastRecord]
    # Which leader wrote what, a copy. No checksum covers the leader epoch of a batch.
    epochs: LeaderEpochs
    now_ms: int

    def end_of(self, number: int) -> int:
        """Where the segment of this number ends."""
        return self.segments[number + 1].base_offset if number + 1 < len(self.segments) else self.end_offset


class FinishedGroup(NamedTuple):
    old: Sequence[Segment]
    new: Segment


class Compaction:
    def __init__(
        self,
        filesystem: FileSystem,
        guard: DiskGuard,
        task: CompactionTask,
        limits: CompactionLimits,
        gaps: KnownGaps,
    ) -> None:
        self.task = task
        # Set by `map_keys`: everything below is compacted once all groups are written.
        self.cleaned_up_to = task.first_dirty_offset
        # What `write_group` has written, for `SegmentExchange.swap_in`.
        self.finished: FinishedGroup | None = None
        self.bytes_written = 0
        self.records_read = 0
        self.records_kept = 0
        # Around all file work of this compaction, whoever does it.
        self.guard = RevocableGuard(guard)
        self._filesystem = filesystem
        self._limits = limits
        self._gaps = gaps
        # There are no more keys than offsets, so most logs need a small map.
        slots = int((task.end_offset - task.first_dirty_offset + 1) / limits.load_factor) + 16
        self._keys = KeyMap(min(limits.dedupe_buffer_bytes, slots * SLOT_SIZE), limits.load_factor)
        self._filter: BatchFilter | None = None
        # Renaming the result must not race with the log's decision to revoke it.
        self._lock = threading.Lock()

    def revoke(self, *, discard: bool = True) -> None:
        """The log changes: nothing of this compaction may be used from now on. Called by the owner of the log.

        `discard` removes what the next start would put into the log.
        """
        with self._lock:
            self.guard.revoked = True
            finished, self.finished = self.finished, None
            if finished is not None and discard:
                for path in finished.new.paths:
                    self._filesystem.remove(path)
                self._filesystem.sync_directory(self.task.directory)

    # Step 1

    def map_keys(self) -> Work:
        """Raises DamagedSegment, StorageFailure, CompactionRevoked."""
        task = self.task
        transactions = PassedTransactions(task.aborted)
        for number in range(len(task.segments)):
            if task.end_of(number) <= task.first_dirty_offset:
                continue
            for batch in self._read(number):
                header = batch.header
                if header.is_control:
                    if header.has_producer_id:
                        transactions.pass_marker(header, batch.data)
                elif not transactions.pass_data(header) and header.last_offset >= task.first_dirty_offset:
                    has_room = yield from self._map_batch(number, batch)
                    if not has_room:
                        return
                self.cleaned_up_to = max(self.cleaned_up_to, header.next_offset)
                yield header.size
            self.cleaned_up_to = task.end_of(number)

    def _map_batch(self, number: int, batch: GoodBatch) -> Generator[int, None, bool]:
        """Whether all of its keys found room."""
        keys = self._keys
        first_dirty_offset = self.task.first_dirty_offset
        header = batch.header
        try:
            payload = small_payload(header, batch.data)
            if payload is None:
                return (yield from self._map_large(header, batch.data))
            for count in keys.steps(header, payload):
                had_room, last_offset = keys.put_step(
                    count, base_offset=header.base_offset, first_offset=first_dirty_offset
                )
                if last_offset >= 0:
                    self.cleaned_up_to = last_offset + 1
                if not had_room:
                    return False
                if count == RECORDS_PER_STEP:
                    yield 0
        except CorruptBatch as problem:
            raise self._damaged(number, position=batch.position, problem=problem) from problem
        return True

    def _map_large(self, header: BatchHeader, data: Buffer) -> Generator[int, None, bool]:
        keys = self._keys
        for count, (_, (_, _, offset_delta, _, key, _)) in enumerate(iterate_records(header, data), 1):
            offset = header.base_offset + offset_delta
            if key is not None and offset >= self.task.first_dirty_offset:
                if keys.full:
                    return False
                keys.put(key, offset)
                self.cleaned_up_to = offset + 1
            if count % LARGE_RECORDS_PER_STEP == 0:
                yield 0
        return True

    # Step 2

    def groups(self) -> list[range]:
        """Which segments become one, by their numbers; known once the keys are mapped."""
        count = sum(1 for segment in self.task.segments if segment.base_offset < self.cleaned_up_to)
        if not count:
            return []
        return group_segments(self.task.segments[:count], self.task.config, self.task.end_of(count - 1))

    def write_group(self, group: range) -> Work:
        """Write one segment from these and leave it in `finished`. Raises as `map_keys`."""
        task = self.task
        with self.guard:
            base_offset = task.segments[group[0]].base_offset
            cleaned = Segment(
                self._filesystem, task.directory, base_offset, created_ms=task.now_ms, ending=CLEANED_SUFFIX
            ).create()
        try:
            yield from self._write_batches(group, cleaned)
            old = [task.segments[number] for number in group]
            with self.guard:
                cleaned.seal()
                # The old ones as well: until they are replaced, what is lost in a crash must not look like a gap that
                # the cleaner has left. Mostly they are on the device already.
                for path in (*cleaned.paths, *(segment.log_path for segment in old)):
                    if self._filesystem.exists(path):
                        sync_path(self._filesystem, path)
            self._finish(FinishedGroup(old, cleaned), task.end_of(group[-1]))
        finally:
            cleaned.release()
            if self.finished is None:
                # The next start would do it, too.
                with contextlib.suppress(OSError):
                    for path in cleaned.paths:
                        self._filesystem.remove(path)

    def _finish(self, group: FinishedGroup, end_offset: int) -> None:
        with self._lock, self.guard:
            self.guard.check()
            # From the next line but one on a crash may leave a segment in the log that ends before the next begins.
            self._gaps.allow_below(end_offset)
            group.new.change_ending(SWAP_SUFFIX)
            self._filesystem.sync_directory(self.task.directory)
            self.finished = group

    def _write_batches(self, group: range, cleaned: Segment) -> Work:
        batch_filter = self._filter_of_round()
        pieces: list[Buffer] = []
        batches: list[AppendedBatch] = []
        size = 0
        for number in group:
            for batch in self._read(number):
                header = batch.header
                try:
                    filtered = yield from batch_filter.filter(header, batch.data)
                except CorruptBatch as problem:
                    raise self._damaged(number, position=batch.position, problem=problem) from problem
                self.records_read += filtered.records_read
                self.records_kept += filtered.records_kept
                written = 0
                if filtered.data is not None:
                    kept = header if filtered.data is batch.data else parse_header(filtered.data)
                    pieces.append(filtered.data)
                    batches.append(AppendedBatch(kept.base_offset, kept.last_offset, kept.size, kept.max_timestamp))
                    size += kept.size
                    if size >= self._limits.io_buffer_bytes:
                        written = self._append(cleaned, pieces, batches)
                        size = 0
                if filtered.aborted is not None:
                    with self.guard:
                        cleaned.transaction_index.append(filtered.aborted)
                yield header.size + written
        if pieces:
            yield self._append(cleaned, pieces, batches)

    def _append(self, cleaned: Segment, pieces: list[Buffer], batches: list[AppendedBatch]) -> int:
        data = b"".join(pieces)
        with self.guard:
            cleaned.append(data, batches, self.task.config)
        pieces.clear()
        batches.clear()
        self.bytes_written += len(data)
        return len(data)

    def _filter_of_round(self) -> BatchFilter:
        """One for all groups: transactions reach from one into the next."""
        if self._filter is None:
            rules = RetentionRules(
                now_ms=self.task.now_ms,
                delete_retention_ms=self.task.config.delete_retention_ms,
                mapped_up_to=self.cleaned_up_to - 1,
                last_records=self.task.last_records,
                end_offset=self.task.end_offset,
            )
            self._filter = BatchFilter(self._keys, PassedTransactions(self.task.aborted), rules)
        return self._filter

    # Both

    def _read(self, number: int) -> Iterator[GoodBatch]:
        """All batches of a segment, each with its checksum and its place among the others verified."""
        segment = self.task.segments[number]
        end_offset = self.task.end_of(number)
        with self.guard:
            file = self._filesystem.open(segment.log_path)
        try:
            batches = in_order(scan_batches(file, 0, segment.size), start_offset=segment.base_offset)
            while True:
                self.guard.check()
                try:
                    with self.guard:
                        batch = next(batches, None)
                except CorruptBatch as problem:
                    raise self._damaged(number, position=problem.position, problem=problem) from problem
                if batch is None:
                    return
                header = batch.header
                if header.next_offset > end_offset:
                    reason = f"offset {header.last_offset} belongs in the next segment"
                    raise DamagedSegment(segment.log_path, batch.position, reason)
                epoch = self.task.epochs.epoch_for_offset(header.base_offset)
                if 0 <= epoch != header.partition_leader_epoch >= 0:
                    reason = (
                        f"offset {header.base_offset} is of leader epoch {epoch}, not {header.partition_leader_epoch}"
                    )
                    raise DamagedSegment(segment.log_path, batch.position, reason)
                yield batch
        finally:
            file.close()

    def _damaged(self, number: int, *, position: int, problem: CorruptBatch) -> DamagedSegment:
        return DamagedSegment(self.task.segments[number].log_path, position, problem.reason)


class RevocableGuard:
    """Around file work: a failure takes the directory offline, unless the files have already been removed."""

    __slots__ = ("_guard", "revoked")

    def __init__(self, guard: DiskGuard) -> None:
        self._guard = guard
        self.revoked = False

    def check(self) -> None:
        if self.revoked:
            raise CompactionRevoked

    def __enter__(self) -> None:
        self._guard.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, OSError) and self.revoked:
            raise CompactionRevoked from error
        self._guard.__exit__(kind, error, traceback)
