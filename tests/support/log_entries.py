"""Entries of a log as `LogBrowser` gives them, with ordinary values where a test does not care."""

from __future__ import annotations

from tidelog.client.browsing import ControlEntry, RecordEntry, TransactionOutcome
from tidelog.records.record import Header


def record_entry(
    offset: int,
    value: bytes | None = b"value",
    *,
    key: bytes | None = None,
    headers: tuple[Header, ...] = (),
    timestamp_ms: int = 0,
    outcome: TransactionOutcome | None = None,
    producer_id: int | None = None,
    log_append_time: bool = False,
    compression: int = 0,
) -> RecordEntry:
    return RecordEntry(
        offset=offset,
        timestamp_ms=timestamp_ms,
        log_append_time=log_append_time,
        key=key,
        value=value,
        headers=headers,
        leader_epoch=3,
        batch_offset=offset,
        compression=compression,
        producer_id=producer_id,
        producer_epoch=None if producer_id is None else 0,
        sequence=None if producer_id is None else offset,
        outcome=outcome,
    )


def marker_entry(offset: int, kind: str = "COMMIT", *, producer_id: int = 7, timestamp_ms: int = 0) -> ControlEntry:
    return ControlEntry(
        offset=offset,
        timestamp_ms=timestamp_ms,
        leader_epoch=3,
        kind=kind,
        producer_id=producer_id,
        producer_epoch=0,
        coordinator_epoch=1,
    )
