"""Rebuilding a segment's indexes from its log, and finding where a log that was not closed stops being valid."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.partition.leader_epochs import LeaderEpochs
from tidelog.partition.producers import ProducerStates
from tidelog.partition.transactions import AbortedTransaction
from tidelog.records.batch import NO_TIMESTAMP, BatchHeader, CorruptBatch, compute_crc
from tidelog.storage.indexes.offset_index import OFFSET_ENTRY
from tidelog.storage.indexes.time_index import TIME_ENTRY
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.producer_snapshot import ProducerSnapshotFiles
from tidelog.storage.segments.batch_order import in_order
from tidelog.storage.segments.batch_scan import scan_batches
from tidelog.storage.segments.segment import MAX_RELATIVE_OFFSET, Segment
from tidelog.storage.segments.segments import Segments


class _IndexBuilder:
    """The entries that appending the same batches one by one would have written."""

    def __init__(self, base_offset: int, *, interval_bytes: int) -> None:
        self._base_offset = base_offset
        self._interval_bytes = interval_bytes
        self._bytes_since_entry = 0
        self._last_timestamp = NO_TIMESTAMP
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = base_offset
        self.offset_entries = bytearray()
        self.time_entries = bytearray()

    def add(self, position: int, header: BatchHeader) -> None:
        if header.max_timestamp > self._max_timestamp:
            self._max_timestamp = header.max_timestamp
            self._max_timestamp_offset = header.last_offset
        if self._bytes_since_entry > self._interval_bytes:
            self.offset_entries += OFFSET_ENTRY.pack(header.last_offset - self._base_offset, position)
            self._add_time_entry()
            self._bytes_since_entry = 0
        self._bytes_since_entry += header.size

    def write(self, segment: Segment) -> None:
        """A closed segment's time index ends with the largest timestamp."""
        self._add_time_entry()
        segment.offset_index.replace(self.offset_entries)
        segment.time_index.replace(self.time_entries)
        segment.forget_timestamps()

    def _add_time_entry(self) -> None:
        if self._max_timestamp > self._last_timestamp:
            self.time_entries += TIME_ENTRY.pack(self._max_timestamp, self._max_timestamp_offset - self._base_offset)
            self._last_timestamp = self._max_timestamp


def rebuild_indexes(segment: Segment, config: LogConfig) -> None:
    """For a segment whose log is known to be good. Raises CorruptBatch if it is not."""
    builder = _IndexBuilder(segment.base_offset, interval_bytes=config.index_interval_bytes)
    next_offset = segment.base_offset
    for position, header in segment.headers():
        if not next_offset <= header.base_offset <= header.last_offset <= segment.base_offset + MAX_RELATIVE_OFFSET:
            raise CorruptBatch(position, f"offset {header.base_offset} cannot follow offset {next_offset - 1}")
        builder.add(position, header)
        next_offset = header.next_offset
    builder.write(segment)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredSegment:
    next_offset: int
    # Of the log file; what is after it must be cut off.
    valid_bytes: int
    problem: CorruptBatch | None


class BeforeCut(Protocol):
    """Called if not all of a segment is good, before anything is written; may raise."""

    def __call__(self, segment: Segment, position: int, *, end_offset: int, reason: str) -> None: ...


def recover_segment(
    segment: Segment,
    config: LogConfig,
    *,
    epochs: LeaderEpochs,
    producers: ProducerStates,
    progress: Callable[[int], None],
    gapless: bool = False,
    following: BatchHeader | None = None,
    before_cut: BeforeCut | None = None,
) -> RecoveredSegment:
    """Check every batch of the segment, follow them in `epochs` and `producers`, and rewrite the indexes.

    The log file itself is not touched: the caller truncates it, once it has removed the segments after it. `progress`
    receives the position after each batch. `following` is the first batch of the next segment; a log that no cleaner
    has touched is `gapless`.
    """
    builder = _IndexBuilder(segment.base_offset, interval_bytes=config.index_interval_bytes)
    aborted: list[AbortedTransaction] = []
    next_offset = segment.base_offset
    valid_bytes = 0
    problem = None
    file = segment.open_log()
    try:
        checked = in_order(
            scan_batches(file, 0, segment.size),
            start_offset=segment.base_offset,
            start_epoch=epochs.latest_epoch,
            gapless=gapless,
            following=following,
        )
        for position, header, batch in checked:
            if header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                raise CorruptBatch(position, f"offset {header.last_offset} is too far from the segment's first")
            transaction = producers.replay(header, batch) if header.has_producer_id else None
            producers.end_offset = header.next_offset
            if transaction is not None:
                aborted.append(transaction)
            if header.partition_leader_epoch > epochs.latest_epoch:
                epochs.assign(header.partition_leader_epoch, start_offset=header.base_offset)
            builder.add(position, header)
            next_offset = header.next_offset
            valid_bytes = position + header.size
            progress(valid_bytes)
    except CorruptBatch as found:
        problem = found
    if problem is not None and before_cut is not None:
        before_cut(segment, valid_bytes, end_offset=next_offset, reason=problem.reason)
    segment.checked_up_to(valid_bytes)
    builder.write(segment)
    segment.transaction_index.replace_all(aborted)
    return RecoveredSegment(next_offset=next_offset, valid_bytes=valid_bytes, problem=problem)


def rewind_producers(
    producers: ProducerStates,
    snapshots: ProducerSnapshotFiles,
    segments: Segments,
    *,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
) -> None:
    """Restore `producers` to what they were when the log ended at `end_offset`: the newest snapshot, and from there on
    the batches. What follows a damaged batch in its segment is left out."""
    snapshot = snapshots.newest(end_offset, above=log_start_offset)
    offset, entries = snapshot if snapshot is not None else (log_start_offset, [])
    producers.reload(entries, min(offset, end_offset), now_ms=now_ms)
    for segment in segments.containing(offset, end_offset):
        start = 0
        if producers.end_offset > segment.base_offset:
            found = segment.locate(producers.end_offset)
            if found is None:
                continue
            start = found.position
        with contextlib.suppress(CorruptBatch):
            for position, header in _good_headers(segment, start):
                if header.base_offset >= end_offset:
                    break
                if header.has_producer_id:
                    producers.replay(header, segment.read(position, header.size) if header.is_control else b"")
                producers.end_offset = header.next_offset
    producers.end_offset = end_offset


def headers_before(segments: Sequence[Segment], offset: int, *, max_bytes: int) -> Iterator[BatchHeader]:
    """The batches before `offset`, as far back as `max_bytes` go. `segments` are those that begin before it.

    Raises CorruptBatch and CorruptIndex.
    """
    left = max_bytes
    searched: list[tuple[Segment, int]] = []
    for segment in reversed(segments):
        found = segment.locate(offset) if not searched else None
        end = segment.size if found is None else found.position
        entry = segment.offset_index.floor(end - left, field=1) if end > left else None
        start = 0 if entry is None else entry[1]
        searched.append((segment, start))
        left -= end - start
        if left <= 0:
            break
    for segment, start in reversed(searched):
        for _, header in _good_headers(segment, start):
            if header.base_offset >= offset:
                return
            yield header


def _good_headers(segment: Segment, start: int) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of the batches from `start` on. Raises CorruptBatch at the first that is damaged.

    A log that was closed cleanly is not checked when it is loaded, so a header may lie until its batch was checked.
    """
    for position, header in segment.headers(start):
        end = position + header.size
        if not segment.is_checked(position, end) and compute_crc(segment.read(position, header.size)) != header.crc:
            raise CorruptBatch(position, "the checksum does not match")
        yield position, header
