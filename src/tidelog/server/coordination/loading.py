"""Reads a coordinator's log from beginning to end, a little at a time, so that other requests get their turn."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from tidelog.records.batch import iterate_headers
from tidelog.records.control import EndTransactionMarker, decode_control_record
from tidelog.records.record import Record, decode_batch
from tidelog.server.coordination.port import CoordinatorLog

logger = logging.getLogger(__name__)

# What is decoded before the event loop goes on with other things; about ten milliseconds' worth.
RECORDS_AT_A_TIME = 500


class Replayed(Protocol):
    """What is filled from the log."""

    def record_read(self, record: Record, producer_id: int | None) -> None:
        """`producer_id` if the record belongs to a transaction."""
        ...

    def marker_read(self, producer_id: int, *, commit: bool) -> None: ...


async def load(log: CoordinatorLog, partition: int, into: Replayed, *, read_bytes: int) -> int:
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
                    _replay_control(into, header.producer_id, record)
                elif record.key is not None:
                    into.record_read(record, header.producer_id if header.is_transactional else None)
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


def _replay_control(into: Replayed, producer_id: int, record: Record) -> None:
    marker = decode_control_record(record.key, record.value)
    if isinstance(marker, EndTransactionMarker):
        into.marker_read(producer_id, commit=marker.commit)
