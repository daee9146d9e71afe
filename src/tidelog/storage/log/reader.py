"""Reading a log: by offset, by timestamp, and which transactions were aborted in what was read.

The bound up to which a reader may see comes from the caller. Writing is in `tidelog.storage.log.appending`.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from tidelog.partition.transactions import AbortedTransaction
from tidelog.records.batch import CURRENT_MAGIC, BatchHeader, Buffer, CorruptBatch, compute_crc, iterate_headers
from tidelog.records.timestamp_search import TimestampSearch
from tidelog.storage.indexes.entry_file import CorruptIndex
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.log import Log
from tidelog.storage.log.results import OffsetOutOfRange, ReadResult, SendableResult
from tidelog.storage.recovery.segment_recovery import rebuild_indexes
from tidelog.storage.segments.batch_scan import BatchPosition
from tidelog.storage.segments.segment import Segment

logger = logging.getLogger(__name__)

# Fewer bytes cost less to read than to send from their file, as measured (decision 39). From here on, each read also
# takes fresh pages from the system, because malloc keeps none of that size.
UNREAD_FROM = 128 * 1024


def read_records(
    log: Log, offset: int, *, max_bytes: int, upper_bound: int | None = None, min_one_batch: bool = True
) -> ReadResult | OffsetOutOfRange:
    """Batches from the one that holds `offset` on, of one segment, all below `upper_bound` (None: the end of the log).

    As many bytes as allowed are returned even if the last batch is cut by that: readers skip the part. The first
    batch is whole or, if it does not fit and `min_one_batch` is not set, there is none. Raises StorageFailure, and
    CorruptBatch if the batch that holds `offset` is damaged or missing.
    """
    if not log.log_start_offset <= offset <= log.log_end_offset:
        return _out_of_range(log, offset)
    if upper_bound is None:
        upper_bound = log.log_end_offset
    if offset >= upper_bound:
        return ReadResult(b"", log.segments.active.base_offset, log.segments.active.size)
    with log.guard:
        found = _find_records(log, offset, max_bytes=max_bytes, upper_bound=upper_bound, min_one_batch=min_one_batch)
        return _read(log, found)


def sendable_records(
    log: Log, offset: int, *, max_bytes: int, upper_bound: int, min_one_batch: bool, unread: bool
) -> SendableResult | OffsetOutOfRange:
    """As `read_records`, but with `unread` many bytes stay in their file if nothing needs to be found out about them:
    they have been checked since the start, or were written by this process, and the file is long enough."""
    if not log.log_start_offset <= offset <= log.log_end_offset:
        return _out_of_range(log, offset)
    if offset >= upper_bound:
        return SendableResult(b"", log.segments.active.base_offset, log.segments.active.size)
    with log.guard:
        found = _find_records(log, offset, max_bytes=max_bytes, upper_bound=upper_bound, min_one_batch=min_one_batch)
        segment, position, size, _ = found
        if unread and size >= UNREAD_FROM and segment.is_checked(position, position + size):
            records = segment.slice(position, size)
            if records is not None:
                return SendableResult(records, segment.base_offset, position)
        result = _read(log, found)
        return SendableResult(result.records, result.segment_base_offset, result.position)


def _out_of_range(log: Log, offset: int) -> OffsetOutOfRange:
    return OffsetOutOfRange(offset=offset, log_start_offset=log.log_start_offset, log_end_offset=log.log_end_offset)


class _Found(NamedTuple):
    """Where the records are, and the first offset of their first batch."""

    segment: Segment
    position: int
    size: int
    first_offset: int


def _find_records(log: Log, offset: int, *, max_bytes: int, upper_bound: int, min_one_batch: bool) -> _Found:
    segments, config = log.segments, log.config
    gapless = not log.may_have_gaps
    segment = segments.floor(offset)
    while segment is not None:
        try:
            found = locate(segment, config, offset)
        except CorruptBatch as problem:
            raise _damaged(segment, problem.position, problem.reason) from problem
        if found is not None:
            if gapless and found.base_offset > offset:
                raise _damaged(segment, found.position, f"offsets {offset} to {found.base_offset - 1} are missing")
            break
        if gapless:
            raise _damaged(segment, segment.size, f"offset {offset} is missing")
        # The cleaner may have removed everything from `offset` to the end of the segment.
        segment = segments.after(segment)
    else:
        return _Found(segments.active, segments.active.size, 0, offset)
    limit = segment.size
    if upper_bound < log.log_end_offset:
        following = segments.after(segment)
        if following is None or upper_bound < following.base_offset:
            try:
                bound = locate(segment, config, upper_bound)
            except CorruptBatch as problem:
                raise _damaged(segment, problem.position, problem.reason) from problem
            limit = segment.size if bound is None else bound.position
    position = found.position
    if max_bytes < found.size:
        max_bytes = found.size if min_one_batch else 0
    return _Found(segment, position, max(0, min(max_bytes, limit - position)), found.base_offset)


def _read(log: Log, found: _Found) -> ReadResult:
    segment, position, size, first_offset = found
    if size == 0:
        return ReadResult(b"", segment.base_offset, position)
    records = segment.read(position, size)
    if len(records) < size or not segment.is_checked(position, position + size):
        records = _good_part(segment, position, records, size, offset=first_offset, gapless=not log.may_have_gaps)
    return ReadResult(records, segment.base_offset, position)


def _good_part(segment: Segment, position: int, records: bytes, size: int, *, offset: int, gapless: bool) -> bytes:
    """The batches before the first bad one; CorruptBatch if that is the first one.

    Done once for what was there before the start. A reader gets what is good, and the error when it reaches the rest.
    """
    end = 0
    problem: str | None = None
    try:
        for at, header in iterate_headers(records):
            if header.magic != CURRENT_MAGIC or compute_crc(records, at, header.size) != header.crc:
                problem = "the checksum does not match"
            elif header.base_offset < offset or (gapless and header.base_offset != offset):
                problem = f"offset {header.base_offset} was found where {offset} is expected"
            if problem is not None:
                break
            offset = header.next_offset
            end = at + header.size
    except CorruptBatch as found:
        problem = found.reason
    segment.checked_up_to(position + end, start=position)
    if problem is None and len(records) < size:
        problem = "the file ends within a batch"
    if problem is None:
        return records
    if end == 0:
        raise _damaged(segment, position, problem)
    return records[:end]


def _damaged(segment: Segment, position: int, reason: str) -> CorruptBatch:
    return CorruptBatch(position, f"{segment.log_path}: {reason}")


def past_emptied(log: Log, offset: int, *, upper_bound: int) -> int:
    """Where a reader of records at `offset` begins: after batches that compaction has left without records.

    Some clients never get past such a batch if a reply holds nothing else. Where nothing but these follows, the offset
    stays: then the batch itself shows clients that can read it where the log continues. Raises StorageFailure.
    """
    wanted = offset
    segment = log.segments.floor(offset)
    with log.guard:
        while segment is not None:
            found = locate(segment, log.config, wanted)
            for _, header in segment.headers(found.position if found is not None else segment.size):
                if header.record_count:
                    return max(offset, wanted)
                wanted = header.next_offset
                if wanted >= upper_bound:
                    return offset
            segment = log.segments.after(segment)
    return offset


def locate(segment: Segment, config: LogConfig, offset: int) -> BatchPosition | None:
    """As Segment.locate; an index that turns out to be wrong is rebuilt on the way."""
    try:
        return segment.locate(offset)
    except CorruptIndex as problem:
        logger.warning("rebuilding the indexes of %s: %s", segment, problem)
        rebuild_indexes(segment, config)
        return segment.locate(offset)


def end_offset_of(log: Log, result: ReadResult | SendableResult) -> int:
    """An offset above everything in `result`, and not much higher; found in the index. Raises StorageFailure."""
    segment = log.segments.floor(result.segment_base_offset)
    if segment is None:
        return log.log_end_offset
    end = result.position + len(result.records)
    if end < segment.size:
        with log.guard:
            indexed = segment.offset_index.offset_at_or_after_position(end)
        if indexed is not None:
            return indexed
    following = log.segments.after(segment)
    return log.log_end_offset if following is None else following.base_offset


def aborted_transactions(log: Log, first_offset: int, *, upper_bound: int) -> list[AbortedTransaction]:
    """Those with records from `first_offset` up to, not including, `upper_bound`. Raises StorageFailure.

    The markers, by which they are found, may lie beyond that.
    """
    found: list[AbortedTransaction] = []
    segment = log.segments.floor(first_offset)
    with log.guard:
        while segment is not None:
            if len(segment.transaction_index):
                more, complete = segment.transaction_index.collect(first_offset, upper_bound=upper_bound)
                found += more
                if complete:
                    break
            segment = log.segments.after(segment)
    return found


class TimestampCandidate(NamedTuple):
    """A batch that may hold the sought record."""

    header: BatchHeader
    batch: Buffer
    sought_ms: int

    def search(self, first_offset: int) -> TimestampSearch:
        return TimestampSearch(self.header, self.batch, self.sought_ms, first_offset)


def candidate_by_timestamp(log: Log, timestamp: int, *, first_offset: int) -> TimestampCandidate | None:
    """The first batch, from `first_offset` on, with a record that is not older than `timestamp`, as its header says.

    Raises StorageFailure.
    """
    with log.guard:
        for segment in log.segments:
            following = log.segments.after(segment)
            if following is not None and following.base_offset <= first_offset:
                continue
            if segment.size == 0 or segment.largest_timestamp() < timestamp:
                continue
            start = max(segment.time_index.offset_before(timestamp), first_offset)
            found = locate(segment, log.config, start)
            for position, header in segment.headers(found.position if found is not None else segment.size):
                if header.max_timestamp >= timestamp and header.last_offset >= first_offset:
                    return TimestampCandidate(header, segment.read(position, header.size), timestamp)
    return None


def candidate_for_max_timestamp(log: Log) -> TimestampCandidate | None:
    """The first batch that has the largest timestamp of the log. Raises StorageFailure."""
    with log.guard:
        segment = max(log.segments, key=lambda candidate: candidate.max_timestamp)
        largest = segment.max_timestamp
        if largest < 0:
            return None
        found = locate(segment, log.config, segment.max_timestamp_offset)
        for position, header in segment.headers(found.position if found is not None else 0):
            if header.max_timestamp == largest:
                return TimestampCandidate(header, segment.read(position, header.size), largest)
    return None
