"""What a page of a log shows: records, control records, gaps, and what cannot be read. No I/O.

A gap is a run of offsets that no batch has: compaction has removed them, or a transaction's offsets were never used.
Gaps are part of the page, so that every offset of its range is accounted for.

Batches are unpacked one after the other, and only until the page is full: what they unpack to may be a thousand times
as large as what was fetched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from tidelog.client.browsing.batch_records import LARGEST_BATCH_BYTES, TooLargeHere, payload_of, records_of
from tidelog.client.browsing.outcomes import AbortedRange, Marker, Outcomes, TransactionOutcome
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.batch import (
    SEQUENCE_MODULUS,
    BatchHeader,
    Buffer,
    CorruptBatch,
    compute_crc,
    iterate_headers,
)
from tidelog.records.control import (
    EndTransactionMarker,
    QuorumControl,
    decode_control_record,
    read_end_transaction_marker,
)
from tidelog.records.record import Header, Record

# Of what a page unpacks, and of what it holds then. It ends with the batch that goes beyond the one, and before the
# entry that would go beyond the other, but has one entry at least.
PAGE_UNPACKED_BYTES = 32 << 20
# About what an entry and a header take beside the bytes that are in them.
_ENTRY_BYTES = 300
_HEADER_BYTES = 100


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
    """A batch, or the rest of one. If it is damaged, readers stop in front of it; else it is too large for a page."""

    offset: int
    last_offset: int
    reason: str
    is_damaged: bool = True


Entry = RecordEntry | ControlEntry | Gap | Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Some entries of a log in the order of their offsets. The next page begins at `next_offset`."""

    entries: tuple[Entry, ...]
    next_offset: int
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int


def entries_of(
    data: Buffer,
    *,
    offset: int,
    aborted: Collection[AbortedRange],
    open_since: Mapping[int, int],
    last_stable_offset: int,
    max_entries: int,
    max_unpacked_bytes: int = PAGE_UNPACKED_BYTES,
) -> tuple[list[Entry], int]:
    """What is in these batches from `offset` on, as far as it fits on a page, and the offset behind it."""
    view = memoryview(data)
    headers, damage = _headers(view)
    page = _Page(offset, max_entries, max_unpacked_bytes)
    outcomes = Outcomes(
        markers=[
            marker
            for position, header in headers
            for marker in _markers(header, view[position : position + header.size])
        ],
        aborted=aborted,
        open_since=open_since,
        last_stable_offset=last_stable_offset,
    )
    # Behind the batches that were gone through.
    end = offset
    for position, header in headers:
        if header.next_offset <= page.position:
            continue
        if not page.has_room:
            break
        for entry in _entries_of_batch(header, view[position : position + header.size], outcomes, page):
            if not page.add(entry):
                return page.entries, page.position
        end = max(end, header.next_offset)
    else:
        if page.fill_gap(end) and damage is not None:
            # How far it goes is unknown; the next page may begin behind it.
            page.add(Unreadable(offset=page.position, last_offset=page.position, reason=damage))
        return page.entries, page.position
    page.fill_gap(end)
    return page.entries, page.position


class _Page:
    """What is on it so far. `position` is the first offset that is not accounted for."""

    def __init__(self, offset: int, max_entries: int, max_unpacked_bytes: int) -> None:
        self.entries: list[Entry] = []
        self.position = offset
        self._max_entries = max_entries
        self._max_bytes = max_unpacked_bytes
        # Of the entries, and of the batches that they come from.
        self._held_bytes = 0
        self._unpacked_bytes = 0

    @property
    def has_room(self) -> bool:
        return len(self.entries) < self._max_entries and max(self._held_bytes, self._unpacked_bytes) < self._max_bytes

    def note_unpacked(self, size: int) -> None:
        self._unpacked_bytes += size

    def add(self, entry: RecordEntry | ControlEntry | Unreadable) -> bool:
        """Whether it is on the page, or before it; with the gap in front of it, which may be all that fits."""
        last = entry.last_offset if isinstance(entry, Unreadable) else entry.offset
        if last < self.position:
            return True
        if not self.fill_gap(entry.offset) or len(self.entries) >= self._max_entries:
            return False
        size = _held_bytes(entry)
        if self.entries and self._held_bytes + size > self._max_bytes:
            return False
        self.entries.append(entry)
        self._held_bytes += size
        self.position = last + 1
        return True

    def fill_gap(self, end: int) -> bool:
        """Nothing is between the position and `end`. Whether that is on the page."""
        if end <= self.position:
            return True
        if len(self.entries) >= self._max_entries:
            return False
        self.entries.append(Gap(offset=self.position, last_offset=end - 1))
        self.position = end
        return True


def _held_bytes(entry: RecordEntry | ControlEntry | Unreadable) -> int:
    if not isinstance(entry, RecordEntry):
        return _ENTRY_BYTES
    headers = sum(_HEADER_BYTES + len(name) + len(value or b"") for name, value in entry.headers)
    return _ENTRY_BYTES + len(entry.key or b"") + len(entry.value or b"") + headers


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


def _markers(header: BatchHeader, data: memoryview) -> Iterator[Marker]:
    """The end of a transaction, if this is one. It decides about records on the page even if it is not on it."""
    if not (header.is_control and header.is_transactional) or _is_damaged(header, data):
        return
    try:
        marker = read_end_transaction_marker(data)
    except CorruptBatch:
        return
    if marker is not None:
        yield Marker(header.base_offset, header.producer_id, marker.commit)


def _entries_of_batch(
    header: BatchHeader, batch: memoryview, outcomes: Outcomes, page: _Page
) -> Iterator[RecordEntry | ControlEntry | Unreadable]:
    try:
        payload = payload_of(header, batch)
    except CorruptBatch as error:
        if not _is_damaged(header, batch):
            # It was unpacked, in vain.
            page.note_unpacked(LARGEST_BATCH_BYTES)
        yield _unreadable(header.base_offset, header, error)
        return
    page.note_unpacked(len(payload))
    following = header.base_offset
    try:
        for part in records_of(header, payload):
            for record in part:
                following = record.offset + 1
                # To make entries of those before the page would cost more than to decode them.
                if record.offset < page.position:
                    continue
                yield _control_entry(header, record) if header.is_control else _record_entry(header, record, outcomes)
    except CorruptBatch as error:
        yield _unreadable(min(following, header.last_offset), header, error)


def _unreadable(first: int, header: BatchHeader, error: CorruptBatch) -> Unreadable:
    return Unreadable(
        offset=first,
        last_offset=header.last_offset,
        reason=str(error),
        is_damaged=not isinstance(error, TooLargeHere),
    )


def _is_damaged(header: BatchHeader, batch: memoryview) -> bool:
    return header.crc != compute_crc(batch)


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
