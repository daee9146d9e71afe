"""What a page of a log shows: records, control records, gaps, and what cannot be read. No I/O.

A gap is a run of offsets that no batch has: compaction has removed them, or a transaction's offsets were never used.
Gaps are part of the page, so that every offset of its range is accounted for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from tidelog.client.browsing.outcomes import AbortedRange, Marker, Outcomes, TransactionOutcome
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.batch import SEQUENCE_MODULUS, BatchHeader, Buffer, CorruptBatch, iterate_headers
from tidelog.records.control import EndTransactionMarker, QuorumControl, decode_control_record
from tidelog.records.record import Header, Record, decode_records, read_payload


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEntry:
    """The producer's fields are None for a producer that is not idempotent, `outcome` outside of transactions."""

    offset: int
    timestamp_ms: int
    log_append_time: bool
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    leader_epoch: int
    batch_offset: int
    compression: int
    producer_id: int | None
    producer_epoch: int | None
    sequence: int | None
    outcome: TransactionOutcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlEntry:
    """A record that brokers write for themselves: the end of a transaction, or something of the metadata quorum."""

    offset: int
    timestamp_ms: int
    leader_epoch: int
    # As Kafka names it: COMMIT, ABORT, LEADER_CHANGE, ... or its number, if it is newer than we are.
    kind: str
    producer_id: int | None
    producer_epoch: int | None
    coordinator_epoch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Nothing is left of the offsets from `offset` to `last_offset`."""

    offset: int
    last_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A damaged batch. Readers stop in front of it."""

    offset: int
    last_offset: int
    reason: str


Entry = RecordEntry | ControlEntry | Gap | Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Some entries of a log in the order of their offsets. The next page begins at `next_offset`."""

    entries: tuple[Entry, ...]
    next_offset: int
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    header: BatchHeader
    # None of a batch that cannot be read.
    records: tuple[Record, ...] | None
    problem: str = ""


def entries_of(
    data: Buffer,
    *,
    offset: int,
    aborted: Collection[AbortedRange],
    open_since: Mapping[int, int],
    last_stable_offset: int,
) -> tuple[list[Entry], int]:
    """What is in these batches from `offset` on, and the offset behind it."""
    batches, damage = _batches(data)
    outcomes = Outcomes(
        markers=[marker for batch in batches for marker in _markers(batch)],
        aborted=aborted,
        open_since=open_since,
        last_stable_offset=last_stable_offset,
    )
    entries: list[Entry] = []
    # Every offset before it is accounted for.
    position = offset
    for batch in batches:
        for entry in _entries_of_batch(batch, outcomes):
            last = entry.last_offset if isinstance(entry, Unreadable) else entry.offset
            if last < position:
                continue
            if entry.offset > position:
                entries.append(Gap(offset=position, last_offset=entry.offset - 1))
            entries.append(entry)
            position = last + 1
    end = max((batch.header.next_offset for batch in batches), default=offset)
    if position < end:
        # The records at the end of the last batch are gone.
        entries.append(Gap(offset=position, last_offset=end - 1))
        position = end
    if damage is not None:
        # How far it goes is unknown; the next page may begin behind it.
        entries.append(Unreadable(offset=position, last_offset=position, reason=damage))
        position += 1
    return entries, position


def end_of(data: Buffer, offset: int) -> int:
    """The offset behind the last whole batch; `offset` if there is none."""
    headers, _ = _headers(data)
    return max((header.next_offset for _, header in headers), default=offset)


def _headers(data: Buffer) -> tuple[list[tuple[int, BatchHeader]], str | None]:
    """Of the whole batches, and what is wrong with what follows them, if anything."""
    found: list[tuple[int, BatchHeader]] = []
    try:
        found.extend(iterate_headers(data))
    except CorruptBatch as error:
        return found, str(error)
    return found, None


def _batches(data: Buffer) -> tuple[list[_Batch], str | None]:
    view = memoryview(data)
    headers, damage = _headers(view)
    batches: list[_Batch] = []
    for position, header in headers:
        try:
            records = decode_records(header, read_payload(header, view[position : position + header.size]))
        except CorruptBatch as error:
            batches.append(_Batch(header=header, records=None, problem=str(error)))
        else:
            batches.append(_Batch(header=header, records=tuple(records)))
    return batches, damage


def _markers(batch: _Batch) -> Iterator[Marker]:
    header = batch.header
    if not (header.is_control and header.is_transactional):
        return
    for record in batch.records or ():
        try:
            control = decode_control_record(record.key, record.value)
        except CorruptBatch:
            continue
        if isinstance(control, EndTransactionMarker):
            yield Marker(record.offset, header.producer_id, control.commit)


def _entries_of_batch(batch: _Batch, outcomes: Outcomes) -> Iterator[RecordEntry | ControlEntry | Unreadable]:
    header = batch.header
    if batch.records is None:
        yield Unreadable(offset=header.base_offset, last_offset=header.last_offset, reason=batch.problem)
        return
    for record in batch.records:
        if header.is_control:
            yield _control_entry(header, record)
        else:
            yield _record_entry(header, record, outcomes)


def _record_entry(header: BatchHeader, record: Record, outcomes: Outcomes) -> RecordEntry:
    has_producer = header.has_producer_id
    sequence = None
    if has_producer and header.base_sequence >= 0:
        sequence = (header.base_sequence + record.offset - header.base_offset) % SEQUENCE_MODULUS
    return RecordEntry(
        offset=record.offset,
        timestamp_ms=record.timestamp,
        log_append_time=bool(header.timestamp_type),
        key=record.key,
        value=record.value,
        headers=record.headers,
        leader_epoch=header.partition_leader_epoch,
        batch_offset=header.base_offset,
        compression=header.compression,
        producer_id=header.producer_id if has_producer else None,
        producer_epoch=header.producer_epoch if has_producer else None,
        sequence=sequence,
        outcome=outcomes.of(header.producer_id, record.offset) if header.is_transactional else None,
    )


def _control_entry(header: BatchHeader, record: Record) -> ControlEntry | Unreadable:
    try:
        control = decode_control_record(record.key, record.value)
    except CorruptBatch as error:
        return Unreadable(offset=record.offset, last_offset=record.offset, reason=str(error))
    coordinator_epoch = None
    if isinstance(control, EndTransactionMarker):
        kind = "COMMIT" if control.commit else "ABORT"
        coordinator_epoch = control.coordinator_epoch
    elif isinstance(control, QuorumControl):
        kind = control.type.name
    else:
        kind = str(control.type)
    return ControlEntry(
        offset=record.offset,
        timestamp_ms=record.timestamp,
        leader_epoch=header.partition_leader_epoch,
        kind=kind,
        producer_id=header.producer_id if header.has_producer_id else None,
        producer_epoch=header.producer_epoch if header.has_producer_id else None,
        coordinator_epoch=coordinator_epoch,
    )
