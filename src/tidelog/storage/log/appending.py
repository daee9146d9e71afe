"""Appending to a log, as the leader of its partition or as a follower, and rolling a new segment when one is full.

In three steps: *plan* what the batches mean for their producers, *write* them, *apply* the plan. What a leader checks
before that is in `tidelog.records.validation`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from tidelog.model.errors import ErrorCode
from tidelog.partition.producers import AppendOrigin, AppendRefusal, ProducerPlan
from tidelog.partition.verification import VerificationGuard
from tidelog.records.batch import (
    CURRENT_MAGIC,
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
from tidelog.storage.indexes.entry_file import CorruptIndex
from tidelog.storage.log.log import Log
from tidelog.storage.log.results import AppendResult, UnexpectedOffset
from tidelog.storage.recovery.segment_recovery import headers_before
from tidelog.storage.segments.segment import MAX_RELATIVE_OFFSET, AppendedBatch, Segment

# How far back the log is searched for batches that a producer may resend: five of usual size, of a dozen producers.
RECALLED_BYTES = 1 << 20
LARGEST_EPOCH = (1 << 31) - 1


def append_as_leader(
    log: Log,
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
    log.require_open()
    size = len(data)
    if size > log.config.segment_bytes:
        return AppendRefusal(
            code=ErrorCode.RECORD_LIST_TOO_LARGE,
            message=f"{size} bytes do not fit into a segment of {log.config.segment_bytes} (segment.bytes)",
        )
    first_offset = log.log_end_offset
    plan = log.producer_states.plan(
        headers, data, first_offset, origin=origin, guard=guard, transaction_version=transaction_version
    )
    if isinstance(plan, AppendRefusal) and _recall(log, plan, headers[0].producer_id):
        plan = log.producer_states.plan(
            headers, data, first_offset, origin=origin, guard=guard, transaction_version=transaction_version
        )
    if not isinstance(plan, ProducerPlan):
        if isinstance(plan, AppendRefusal):
            return plan
        append_time = plan.timestamp if headers[0].timestamp_type == LOG_APPEND_TIME else -1
        return AppendResult(plan.first_offset, plan.last_offset, append_time, log.log_start_offset, duplicate=True)
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
    _write(log, data, batches, max_timestamp, now_ms=now_ms)
    log.leader_epochs.assign(leader_epoch, start_offset=first_offset)
    log.extend(plan)
    append_time = max_timestamp if headers[0].attributes & TIMESTAMP_TYPE_MASK else -1
    return AppendResult(first_offset, offset - 1, append_time, log.log_start_offset)


def append_as_follower(
    log: Log, data: Buffer, now_ms: int, *, leader_epoch: int = LARGEST_EPOCH
) -> AppendResult | None:
    """Write batches as the leader sent them, undecoded; a part of a batch at the end is left out, and so is everything
    from the first batch of a later epoch than the leader's on. None if nothing is left.

    Raises UnexpectedOffset if they do not continue the log, CorruptBatch, StorageFailure.
    """
    log.require_open()
    view = memoryview(data)
    batches = _checked_follower_batches(log, view, leader_epoch)
    if not batches:
        return None
    first_offset = batches[0][1].base_offset
    chunk: list[tuple[int, BatchHeader]] = []
    chunk_size = 0
    for position, header in batches:
        # A fetch may return more than a segment can hold; batches stay whole.
        if chunk and chunk_size + header.size > log.config.segment_bytes:
            _append_followed(log, view, chunk, now_ms)
            chunk, chunk_size = [], 0
        chunk.append((position, header))
        chunk_size += header.size
    _append_followed(log, view, chunk, now_ms)
    return AppendResult(first_offset, log.log_end_offset - 1, -1, log.log_start_offset)


def roll(log: Log, now_ms: int) -> None:
    """Begin a new segment, unless the active one is empty."""
    log.require_open()
    with log.growth_guard:
        _roll(log, log.log_end_offset, now_ms=now_ms)


def new_segment(log: Log, base_offset: int, *, now_ms: int) -> Segment:
    jitter_ms = log.environment.draw_jitter_ms(log.config)
    return Segment(log.filesystem, log.directory, base_offset, created_ms=now_ms, jitter_ms=jitter_ms).create()


def _checked_follower_batches(log: Log, view: memoryview, leader_epoch: int) -> list[tuple[int, BatchHeader]]:
    """What Apache Kafka's follower checks: format, checksum, rising offsets, and no epoch above the leader's."""
    batches: list[tuple[int, BatchHeader]] = []
    expected = log.log_end_offset
    for position, header in iterate_headers(view):
        if header.partition_leader_epoch > leader_epoch:
            # Read by a broker that lost its leadership meanwhile and follows another one (KAFKA-18723).
            break
        if header.magic != CURRENT_MAGIC:
            raise CorruptBatch(position, f"offset {header.base_offset} has the unknown format {header.magic}")
        if header.base_offset < expected:
            raise UnexpectedOffset(
                f"{log.topic_partition} ends at {expected}, but the leader sent offset {header.base_offset}",
                header.base_offset,
                log_end_offset=expected,
            )
        if compute_crc(view, position, header.size) != header.crc:
            raise CorruptBatch(position, f"the checksum of offset {header.base_offset} does not match")
        if header.last_offset_delta < 0:
            raise CorruptBatch(position, f"offset {header.base_offset} ends before it begins")
        if header.base_offset > expected:
            log.note_gaps()
        expected = header.next_offset
        batches.append((position, header))
    return batches


def _append_followed(log: Log, view: memoryview, chunk: Sequence[tuple[int, BatchHeader]], now_ms: int) -> None:
    headers = [header for _, header in chunk]
    data = view[chunk[0][0] : chunk[-1][0] + headers[-1].size]
    plan = log.producer_states.plan(headers, data, headers[0].base_offset, origin=AppendOrigin.REPLICATION)
    assert isinstance(plan, ProducerPlan), "replicated batches are never refused"
    batches = [
        AppendedBatch(header.base_offset, header.last_offset, header.size, header.max_timestamp) for header in headers
    ]
    _write(log, data, batches, max(header.max_timestamp for header in headers), now_ms=now_ms)
    for header in headers:
        if header.partition_leader_epoch >= 0:
            log.leader_epochs.assign(header.partition_leader_epoch, start_offset=header.base_offset)
    log.extend(plan)


def _write(log: Log, data: Buffer, batches: Sequence[AppendedBatch], max_timestamp: int, *, now_ms: int) -> None:
    with log.growth_guard:
        segment = log.segments.active
        if segment.should_roll(
            log.config, len(data), last_offset=batches[-1].last_offset, max_timestamp=max_timestamp, now_ms=now_ms
        ):
            # Also if the leader's log has a gap here: a gap between two of our segments would look like a loss.
            too_far = batches[-1].last_offset - log.log_end_offset > MAX_RELATIVE_OFFSET
            segment = _roll(log, batches[0].base_offset if too_far else log.log_end_offset, now_ms=now_ms)
        log.was_written_to = True
        try:
            segment.append(data, batches, log.config)
        except OSError as failure:
            # Unless the tail is as it was before, nothing more may be written after it.
            try:
                segment.undo_write()
            except OSError as worse:
                raise worse from failure
            raise


def _roll(log: Log, base_offset: int, *, now_ms: int) -> Segment:
    """The old segment and the snapshot are synced by the flush that is due from now on."""
    active = log.segments.active
    if active.size == 0 and active.base_offset == base_offset:
        return active
    active.seal()
    log.snapshots.write(base_offset, log.producer_states.snapshot(), sync=False)
    segment = new_segment(log, base_offset, now_ms=now_ms)
    log.segments.add(segment)
    return segment


def _recall(log: Log, refusal: AppendRefusal, producer_id: int) -> bool:
    """Whether more is known now of a producer whose batch seems to be out of order.

    It may be one that is in the log: after a restart or a truncation, a snapshot holds only the last batch of each
    producer, but five may have been in flight. A producer that resends the first of them and is refused gives it up and
    stores the others once more.
    """
    if refusal.code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
        return False
    before = log.producer_states.recall_before(producer_id)
    if before is None:
        return False
    with log.guard, contextlib.suppress(CorruptBatch, CorruptIndex):
        headers = headers_before(log.segments.below(before), before, max_bytes=RECALLED_BYTES)
        log.producer_states.recall(producer_id, headers)
    return True
