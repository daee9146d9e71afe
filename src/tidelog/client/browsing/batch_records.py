"""The records of a batch, decoded in parts, so that what a hostile batch costs stays bounded. No I/O.

A kilobyte can unpack to gigabytes, and a megabyte of the smallest records becomes many times as many bytes of objects.
So a batch may unpack to LARGEST_BATCH_BYTES and no more, and its records become objects only as far as somebody takes
them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.records.batch import HEADER_SIZE, BatchHeader, Buffer, CorruptBatch
from tidelog.records.record import SMALLEST_RECORD, Record, decode_records, read_payload
from tidelog.records.unpacking import UnpacksTooLarge
from tidelog.records.varint import SMALL_SIGNED, read_varint

# Brokers bound the packed size of a batch, by default at 1 MiB; what is in it rarely is more than tenfold.
LARGEST_BATCH_BYTES = 32 << 20
# Of records that are decoded together. The compiled loop holds the interpreter meanwhile: a few milliseconds.
_PART_RECORDS = 10_000
_PART_BYTES = 1 << 20
# Of one record, each being an object. As many as could be in a part, the smallest header having two bytes.
MOST_HEADERS = _PART_BYTES // 2


class TooLargeHere(CorruptBatch):
    """Nothing is wrong with it, but it would cost more than is spent here."""


def payload_of(header: BatchHeader, batch: Buffer) -> bytes:
    """The records as they are encoded, unpacked. Raises CorruptBatch, also for a batch that is too large."""
    try:
        return read_payload(header, batch, LARGEST_BATCH_BYTES)
    except UnpacksTooLarge:
        raise TooLargeHere(
            0,
            f"the records of this batch, which has {len(batch):,} bytes, take more than "
            f"{LARGEST_BATCH_BYTES >> 20} MiB when decompressed: that is more than is decompressed here of one batch, "
            "but consumers may be able to read it",
        ) from None


def records_of(header: BatchHeader, payload: bytes) -> Iterator[list[Record]]:
    """All records, in parts. Raises CorruptBatch where a part is damaged; those before it are good."""
    count = header.record_count
    is_small = count <= _PART_RECORDS and len(payload) <= _PART_BYTES
    if is_small or count * SMALLEST_RECORD > len(payload):
        yield decode_records(header, payload)
        return
    start = 0
    last_offset = header.base_offset - 1
    while count > 0:
        end, number = _part(payload, start, count)
        part = decode_records(header._replace(record_count=number), payload[start:end])
        if part[0].offset <= last_offset:
            raise CorruptBatch(HEADER_SIZE + start, f"offset {part[0].offset} follows {last_offset}")
        yield part
        last_offset = part[-1].offset
        start = end
        count -= number
    if start != len(payload):
        raise CorruptBatch(HEADER_SIZE + start, f"{len(payload) - start} bytes follow the last record")


def _part(payload: bytes, start: int, most: int) -> tuple[int, int]:
    """Where a part ends that begins at `start`, and how many records it has: at least one. Raises CorruptBatch."""
    try:
        position, count = _behind_record(payload, start), 1
        if position - start > _PART_BYTES:
            _check_headers(payload, start)
        while count < min(most, _PART_RECORDS):
            end = _behind_record(payload, position)
            if end - start > _PART_BYTES:
                break
            position = end
            count += 1
    except IndexError:
        raise CorruptBatch(HEADER_SIZE + start, "the last record is cut short") from None
    return position, count


def _behind_record(payload: bytes, start: int) -> int:
    byte = payload[start]
    position = start + 1
    if byte < 0x80:
        length = SMALL_SIGNED[byte]
    else:
        length, position = read_varint(payload, start)
    if not 0 < length <= len(payload) - position:
        raise CorruptBatch(
            HEADER_SIZE + position, f"a record claims {length} bytes, {len(payload) - position} are left"
        )
    return position + length


def _check_headers(payload: bytes, start: int) -> None:
    """Of one record. What else may be wrong with it is found where it is decoded."""
    _, position = read_varint(payload, start)
    # Attributes, timestamp and offset; then key and value, whose lengths are -1 for null.
    _, position = read_varint(payload, position + 1)
    _, position = read_varint(payload, position)
    for _ in range(2):
        length, position = read_varint(payload, position)
        position += max(length, 0)
    count, _ = read_varint(payload, position)
    if count > MOST_HEADERS:
        raise TooLargeHere(
            HEADER_SIZE + start, f"a record has {count:,} headers, more than the {MOST_HEADERS:,} that can be shown"
        )
