"""Where the records of a batch lie in its payload: enough to drop some of them and copy the others as bytes.

Compaction looks at every record of a log but needs only its key and whether it has a value. Decoding and encoding of
records is in `tidelog.records.record`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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


def encode_spans(header: BatchHeader, payload: bytes, kept: Sequence[RecordSpan]) -> bytes:
    """The batch with only these of its records, at least one: their bytes as they are, the rest as the header says.

    Offsets, the offset range, base timestamp and producer fields stay, so nothing inside of a record changes.
    """
    pieces: list[Buffer] = []
    view = memoryview(payload)
    at = until = kept[0][0]
    max_delta = kept[0][3]
    for start, end, _, timestamp_delta, _, _ in kept:
        if timestamp_delta > max_delta:
            max_delta = timestamp_delta
        if start != until:
            pieces.append(view[at:until])
            at = start
        until = end
    pieces.append(view[at:until])
    data = b"".join(pieces)
    if header.attributes & TIMESTAMP_TYPE_MASK:
        max_timestamp = header.max_timestamp
    else:
        max_timestamp = max(header.base_timestamp + max_delta, NO_TIMESTAMP)
    rewritten = header._replace(max_timestamp=max_timestamp, record_count=len(kept))
    codec = Compression(header.compression)
    return assemble_batch(rewritten, compress(codec, data) if codec else data)
