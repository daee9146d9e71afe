"""Where the records of a batch lie in its payload: enough to drop some of them and copy the others as bytes.

Compaction looks at every record of a log but needs only its key and whether it has a value. In ordinary batches the
loops of `tidelog.records.filtering` find the same. What is here is for single records of large batches, and says what
is wrong with damaged ones. Decoding and encoding of records is in `tidelog.records.record`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.records.batch import (
    HEADER_SIZE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
    Buffer,
    CorruptBatch,
)
from tidelog.records.compression import Compression, compress
from tidelog.records.record import SMALLEST_RECORD, assemble_batch
from tidelog.records.varint import SMALL_SIGNED, read_varint

# Start and end in the payload, offset delta, timestamp delta, key, whether there is a value. A plain tuple, because
# compaction creates one for each record of a log.
RecordSpan = tuple[int, int, int, int, bytes | None, bool]


def iterate_spans(header: BatchHeader, payload: bytes) -> Iterator[RecordSpan]:
    """The records in a decompressed payload, in order. Raises CorruptBatch."""
    try:
        yield from _iterate_spans(header.record_count, payload)
    except IndexError:
        raise CorruptBatch(HEADER_SIZE, "the last record is cut short") from None


def _iterate_spans(count: int, data: bytes) -> Iterator[RecordSpan]:
    signed = SMALL_SIGNED
    size = len(data)
    position = 0
    key: bytes | None
    for _ in range(count):
        # In each step: one or two bytes in place, longer numbers by a call.
        start = position
        byte = data[position]
        position += 1
        if byte < 0x80:
            length = signed[byte]
        elif (high := data[position]) < 0x80:
            position += 1
            length = signed[byte & 0x7F | high << 7]
        else:
            length, position = read_varint(data, position - 1)
        end = position + length
        if length < SMALLEST_RECORD - 1 or end > size:
            raise CorruptBatch(HEADER_SIZE + position, f"a record claims {length} bytes, {size - position} are left")

        byte = data[position + 1]
        if byte < 0x80:
            position += 2
            timestamp_delta = signed[byte]
        else:
            timestamp_delta, position = read_varint(data, position + 1)

        byte = data[position]
        position += 1
        if byte < 0x80:
            offset_delta = signed[byte]
        elif (high := data[position]) < 0x80:
            position += 1
            offset_delta = signed[byte & 0x7F | high << 7]
        else:
            offset_delta, position = read_varint(data, position - 1)

        byte = data[position]
        if byte < 0x80:
            position += 1
            length = signed[byte]
        else:
            length, position = read_varint(data, position)
        if not -1 <= length < end - position:
            raise CorruptBatch(HEADER_SIZE + position, f"a key cannot have {length} bytes")
        if length < 0:
            key = None
        else:
            key = data[position : position + length]
            position += length
        # -1, a value that is null, is one byte: 0x01.
        yield start, end, offset_delta, timestamp_delta, key, data[position] != 0x01
        position = end
    if position != size:
        raise CorruptBatch(HEADER_SIZE + position, f"{size - position} bytes follow the last record")


def damage_of(header: BatchHeader, payload: Buffer) -> CorruptBatch:
    """Of a payload in which `tidelog.records.filtering` has found no records: what is wrong with it."""
    try:
        for _ in iterate_spans(header, bytes(payload)):
            pass
    except CorruptBatch as damage:
        return damage
    raise AssertionError("the records are not damaged")


def encode_remaining(header: BatchHeader, records: Buffer, count: int, max_timestamp_delta: int) -> bytes:
    """The batch with only `count` of its records, at least one: their bytes as they are, the rest as the header says.

    Offsets, the offset range, base timestamp and producer fields stay, so nothing inside of a record changes.
    """
    if header.attributes & TIMESTAMP_TYPE_MASK:
        max_timestamp = header.max_timestamp
    else:
        max_timestamp = max(header.base_timestamp + max_timestamp_delta, NO_TIMESTAMP)
    rewritten = header._replace(max_timestamp=max_timestamp, record_count=count)
    codec = Compression(header.compression)
    return assemble_batch(rewritten, compress(codec, records) if codec else records)
