"""The directory of one partition: every batch, index, epoch and snapshot in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from struct import Struct

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.partition.leader_epochs import LeaderEpochs
from tidelog.partition.producers import ProducerStates
from tidelog.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch
from tidelog.records.control import decode_control_record
from tidelog.records.record import Record, decode_batch
from tidelog.storage.directories.checkpoints import CorruptCheckpoint, read_leader_epoch_checkpoint
from tidelog.storage.directories.partition_metadata import read_partition_metadata
from tidelog.storage.files.file_names import (
    GAPS_FILE,
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    METADATA_SNAPSHOT_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    REQUIRED_INDEX_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_of_name,
    segment_prefix,
)
from tidelog.storage.files.filesystem import File, FileSystem
from tidelog.storage.indexes.offset_index import OFFSET_ENTRY
from tidelog.storage.indexes.time_index import TIME_ENTRY
from tidelog.storage.indexes.transaction_index import TRANSACTION_ENTRY
from tidelog.storage.log.producer_snapshot import CorruptProducerSnapshot, read_snapshot
from tidelog.storage.segments.batch_scan import GoodBatch, UnsupportedFormat, scan_batches
from tidelog.storage.segments.walk import believable_header
from tidelog.storage.verification.findings import Report
from tidelog.storage.verification.indexes import (
    OffsetIndexCheck,
    TimeIndexCheck,
    TransactionIndexCheck,
    read_entries,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What the log directory around a partition knows of it."""

    # Closed cleanly: then all of it is complete. Else only what is below the recovery point.
    is_closed: bool = True
    recovery_point: int = 0
    # No cleaner has ever run there.
    gapless: bool = True


@dataclass(slots=True)
class _Place:
    """How far the log has been read."""

    # The offset that comes next; None where damage has made that unknown.
    expected: int | None = None
    epoch: int = -1


class PartitionCheck:
    def __init__(self, filesystem: FileSystem, directory: str, expectations: Expectations, report: Report) -> None:
        self._filesystem = filesystem
        self._directory = directory
        self._expectations = expectations
        self._report = report
        self._place = _Place()
        self._epochs: LeaderEpochs | None = None
        self._producers = ProducerStates()
        # Whether everything is known about transactions that were open where the log begins.
        self._knows_start = False
        self._end_offset = 0

    def run(self) -> None:
        """Raises OSError."""
        names = self._filesystem.list_names(self._directory)
        self._report.partitions += 1
        if any(name.endswith(LOG_SUFFIX + SWAP_SUFFIX) for name in names):
            reason = "the cleaner was replacing segments; the next start finishes that"
            self._report.add(self._directory, None, reason, is_note=True)
            self._expectations = replace(self._expectations, gapless=False)
        if GAPS_FILE in names:
            # The cleaner has run here, even if it has not finished its first round.
            self._expectations = replace(self._expectations, gapless=False)
        self._read_small_files(names)
        offsets = [
            offset for name in names if name.endswith(LOG_SUFFIX) and (offset := offset_of_name(name)) is not None
        ]
        self._start_producers(names, offsets)
        for number, base_offset in enumerate(offsets):
            following = offsets[number + 1] if number + 1 < len(offsets) else None
            self._check_segment(names, base_offset, following=following)
        self._check_end(offsets)
        for name in names:
            if name.endswith(SNAPSHOT_SUFFIX):
                self._check_snapshot(name)
            elif name.endswith(METADATA_SNAPSHOT_SUFFIX):
                self._check_metadata_snapshot(name)

    # Small files

    def _read_small_files(self, names: list[str]) -> None:
        try:
            read_partition_metadata(self._filesystem, self._directory)
        except CorruptCheckpoint as problem:
            self._report.add(problem.path, None, problem.reason)
        path = f"{self._directory}/{LEADER_EPOCH_CHECKPOINT}"
        try:
            if LEADER_EPOCH_CHECKPOINT in names:
                entries = read_leader_epoch_checkpoint(self._filesystem, path)
                self._epochs = LeaderEpochs(entries)
                if list(self._epochs.entries) != entries:
                    self._report.add(path, None, "epochs and offsets must rise from line to line")
                    self._epochs = None
        except CorruptCheckpoint as problem:
            self._report.add(path, None, problem.reason)
        except ValueError as problem:
            self._report.add(path, None, str(problem))

    def _start_producers(self, names: list[str], offsets: list[int]) -> None:
        """What was known of producers and transactions where the log begins."""
        first = offsets[0] if offsets else 0
        self._knows_start = first == 0
        name = f"{segment_prefix(first)}{SNAPSHOT_SUFFIX}"
        if name in names:
            try:
                self._producers.reload(read_snapshot(self._filesystem, f"{self._directory}/{name}"), first, now_ms=0)
                self._knows_start = True
            except CorruptProducerSnapshot:
                # Reported with the other snapshots.
                return

    def _check_snapshot(self, name: str) -> None:
        path = f"{self._directory}/{name}"
        offset = offset_of_name(name)
        try:
            entries = read_snapshot(self._filesystem, path)
        except CorruptProducerSnapshot as problem:
            self._report.add(path, None, str(problem))
            return
        if offset is None:
            self._report.add(path, None, "its name does not begin with an offset")
            return
        for entry in entries:
            if entry.last_offset >= offset or entry.current_transaction_first_offset >= offset:
                reason = f"producer {entry.producer_id} cannot have written offset {entry.last_offset} before {offset}"
                self._report.add(path, None, reason)

    def _check_metadata_snapshot(self, name: str) -> None:
        path = f"{self._directory}/{name}"
        with closing(self._filesystem.open(path)) as file:
            for _, header, _ in self._batches(file, path, 0, is_closed=True):
                self._report.batches += 1
                self._report.read(header.size)

    # Segments

    def _check_segment(self, names: list[str], base_offset: int, *, following: int | None) -> None:
        prefix = f"{self._directory}/{segment_prefix(base_offset)}"
        path = prefix + LOG_SUFFIX
        is_closed = following is not None or self._expectations.is_closed
        for suffix in REQUIRED_INDEX_SUFFIXES:
            if f"{segment_prefix(base_offset)}{suffix}" not in names:
                self._report.add(prefix + suffix, None, "the index is missing; the next start rebuilds it")

        def entries(suffix: str, entry: Struct) -> list[tuple[int, ...]]:
            return read_entries(self._filesystem, prefix + suffix, entry, self._report, is_closed=is_closed)

        offsets = OffsetIndexCheck(
            prefix + OFFSET_INDEX_SUFFIX, base_offset, entries(OFFSET_INDEX_SUFFIX, OFFSET_ENTRY), self._report
        )
        times = TimeIndexCheck(
            prefix + TIME_INDEX_SUFFIX, base_offset, entries(TIME_INDEX_SUFFIX, TIME_ENTRY), self._report
        )
        transactions = TransactionIndexCheck(
            prefix + TRANSACTION_INDEX_SUFFIX,
            entries(TRANSACTION_INDEX_SUFFIX, TRANSACTION_ENTRY),
            self._report,
            is_exact=self._expectations.gapless and self._knows_start,
        )
        self._report.segments += 1
        self._begin_segment(path, base_offset)
        with closing(self._filesystem.open(path)) as file:
            for position, header, batch in self._batches(file, path, base_offset, is_closed=is_closed):
                self._report.batches += 1
                self._report.read(header.size)
                self._check_place(path, position, header, following)
                records = self._records(path, position, batch)
                offsets.passed(position, header)
                times.passed(header)
                if header.has_producer_id and records is not None:
                    self._follow_producer(path, position, header, batch, records, transactions)
        offsets.ended()
        times.ended(is_closed=is_closed)
        transactions.ended()

    def _begin_segment(self, path: str, base_offset: int) -> None:
        expected = self._place.expected
        if expected is not None and base_offset != expected:
            if base_offset < expected:
                self._report.add(
                    path, None, f"it begins at offset {base_offset}, below {expected}, where the one before ends"
                )
            elif self._expectations.gapless:
                self._report.add(path, None, f"offsets {expected} to {base_offset - 1} are missing before it")
        self._place.expected = base_offset

    def _batches(self, file: File, path: str, base_offset: int, *, is_closed: bool) -> Iterator[GoodBatch]:
        """The good batches; bad ones are reported, and skipped where the next one can be found."""
        position = 0
        size = file.size()
        while position < size:
            try:
                for batch in scan_batches(file, position, size):
                    yield batch
                    position = batch.position + batch.header.size
                return
            except UnsupportedFormat as problem:
                self._report.add(path, position, str(problem), is_note=True)
                self._report.read(size - position)
                return
            except CorruptBatch as problem:
                claimed = believable_header(file, problem.position, size=size, base_offset=base_offset)
                resume = None if claimed is None else problem.position + claimed.size
                # What was written last before a crash is not damage: the next start cuts it off.
                torn = resume is None and not is_closed and self._end_offset >= self._expectations.recovery_point
                reason = f"{problem.reason} (not synced, the next start cuts it off)" if torn else problem.reason
                self._report.add(path, problem.position, reason, is_note=torn)
                self._place.expected = None
                if resume is None:
                    if not torn and size - problem.position > HEADER_SIZE:
                        rest = f"the {size - problem.position} bytes from here on cannot be read"
                        self._report.add(path, problem.position, rest)
                    self._report.read(size - problem.position)
                    return
                self._report.read(resume - problem.position)
                position = resume

    def _check_place(self, path: str, position: int, header: BatchHeader, following: int | None) -> None:
        place = self._place
        expected = place.expected
        if expected is not None and header.base_offset != expected:
            if header.base_offset < expected:
                self._report.add(path, position, f"offset {header.base_offset} follows {expected - 1}")
            elif self._expectations.gapless:
                self._report.add(
                    path, position, f"offsets {expected} to {header.base_offset - 1} are missing before it"
                )
        if following is not None and header.last_offset >= following:
            self._report.add(path, position, f"offset {header.last_offset} belongs in the next segment, {following}")
        else:
            place.expected = header.next_offset
            self._end_offset = max(self._end_offset, header.next_offset)
        self._check_epoch(path, position, header)

    def _check_epoch(self, path: str, position: int, header: BatchHeader) -> None:
        epoch = header.partition_leader_epoch
        if epoch < -1:
            self._report.add(path, position, f"leader epoch {epoch} is invalid")
            return
        known = -1 if self._epochs is None else self._epochs.epoch_for_offset(header.base_offset)
        is_certain = self._expectations.is_closed or header.base_offset < self._expectations.recovery_point
        if self._epochs is not None and known >= 0 and is_certain and epoch != known:
            reason = f"leader epoch {epoch} of offset {header.base_offset} is {known} in {LEADER_EPOCH_CHECKPOINT}"
            self._report.add(path, position, reason)
        elif 0 <= epoch < self._place.epoch:
            self._report.add(path, position, f"leader epoch {epoch} follows {self._place.epoch}")
        else:
            self._place.epoch = epoch

    def _records(self, path: str, position: int, batch: memoryview) -> list[Record] | None:
        try:
            records = decode_batch(batch, check_crc=False)
        except CorruptBatch as problem:
            self._report.add(path, position, f"its records cannot be read: {problem.reason}")
            return None
        self._report.records += len(records)
        return records

    def _follow_producer(
        self,
        path: str,
        position: int,
        header: BatchHeader,
        batch: memoryview,
        records: list[Record],
        transactions: TransactionIndexCheck,
    ) -> None:
        try:
            if header.is_control and records:
                decode_control_record(records[0].key, records[0].value)
            aborted = self._producers.replay(header, batch if header.is_control else b"")
        except CorruptBatch as problem:
            self._report.add(path, position, problem.reason)
            return
        if header.is_control and records and records[0].key is not None and records[0].key[2:4] == b"\x00\x00":
            transactions.aborted(header, aborted)

    def _check_end(self, offsets: list[int]) -> None:
        """What was synced must be there."""
        recovery_point = self._expectations.recovery_point
        end = max(self._end_offset, offsets[-1] if offsets else 0)
        if end < recovery_point:
            self._report.add(
                self._directory, None, f"the log ends at offset {end}, but it was synced up to {recovery_point}"
            )
