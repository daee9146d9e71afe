"""Reads a coordinator's log from beginning to end, a little at a time, so that other requests get their turn."""

from __future__ import annotations

import asyncio
import logging

from tidelog.coordinators.decision import CoordinatorShard
from tidelog.coordinators.record_format import RecordFormat, UnknownRecordType
from tidelog.records.batch import BatchHeader, iterate_headers
from tidelog.records.control import EndTransactionMarker, decode_control_record
from tidelog.records.record import Record, decode_batch
from tidelog.server.coordination.port import CoordinatorLog

logger = logging.getLogger(__name__)

# What is decoded before the event loop turns to other work; about ten milliseconds' worth.
RECORDS_AT_A_TIME = 500


async def load(
    shard: CoordinatorShard, log: CoordinatorLog, partition: int, record_format: RecordFormat, *, read_bytes: int
) -> int:
    """Replay everything, including what is appended meanwhile; the number of records.

    When it returns, nothing has been appended since the last record was replayed. Raises ApiError, CorruptBatch, and
    ProtocolError for records that cannot be understood.
    """
    offset = log.start_offset(partition)
    count = 0
    since_pause = 0
    while offset < log.end_offset(partition):
        data = await log.read(partition, offset, read_bytes)
        view = memoryview(data)
        before = offset
        for position, header in iterate_headers(data):
            if header.next_offset <= offset:
                continue
            records = decode_batch(view[position : position + header.size])
            for record in records:
                if record.offset < offset:
                    continue
                if header.is_control:
                    marker = decode_control_record(record.key, record.value)
                    if isinstance(marker, EndTransactionMarker):
                        shard.replay_marker(header.producer_id, commit=marker.commit)
                elif record.key is not None:
                    _replay(shard, record_format, partition, record, header)
            offset = header.next_offset
            count += len(records)
            since_pause += len(records)
            if since_pause >= RECORDS_AT_A_TIME:
                since_pause = 0
                await asyncio.sleep(0)
        if offset == before:
            # Compaction may leave nothing at the very end of a log.
            break
    return count


def _replay(
    shard: CoordinatorShard, record_format: RecordFormat, partition: int, record: Record, header: BatchHeader
) -> None:
    assert record.key is not None
    try:
        decoded = record_format.decode(record.key, record.value)
    except UnknownRecordType as unknown:
        logger.warning("skipping offset %d of %s-%d: %s", record.offset, record_format.topic, partition, unknown)
        return
    producer_id = header.producer_id if header.is_transactional else None
    shard.replay(decoded, offset=record.offset, producer_id=producer_id)
