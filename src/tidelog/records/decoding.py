"""The loop that decodes the records of a batch. It runs for each record that a client reads.

Compiled where a C compiler is available: `decoding.pxd` beside this file gives the variables their C types, and
`tidelog.records.implementation` decides which of the two runs. So the code is written for both: plain Python reads the
common one- and two-byte numbers in place and looks their meaning up in a table, and the compiled loop reads memory
without Python's bounds checks. That is safe, because

- the payload is a `bytes` object, which has a zero byte behind its end: a number that starts at or before the end is
  never read beyond that byte;
- before each field that follows one of variable length, the position is compared with the end of the record.

What plain Python detects by an IndexError, the compiled loop detects by these comparisons.
"""

from __future__ import annotations

from typing import Any

from tidelog.records.batch import HEADER_SIZE, LOG_APPEND_TIME, BatchHeader, CorruptBatch

# Length, attributes, two deltas, key length, value length, header count: one byte each.
SMALLEST_RECORD = 7
_SMALLEST_BODY = SMALLEST_RECORD - 1

# What one or two bytes mean, without their continuation bit.
_SIGNED = tuple((folded >> 1) ^ -(folded & 1) for folded in range(16_384))

_LAST_SHIFT = 63
_MOST = (1 << 63) - 1
_LEAST = -_MOST - 1


def decode_records(
    kind: type[Any], header: BatchHeader, payload: bytes, place: tuple[str, int, int] | None = None
) -> list[Any]:
    """The records in a decompressed payload, which must consist of exactly as many records as the header says.

    Without a place, `kind` gets (offset, timestamp, key, value, headers). With (topic, partition, first wanted offset)
    it gets (topic, partition, offset, timestamp, timestamp type, key, value, headers, leader epoch), from that offset
    on. Raises CorruptBatch.
    """
    count = header.record_count
    if not 0 <= count * SMALLEST_RECORD <= len(payload):
        raise CorruptBatch(HEADER_SIZE, f"{len(payload)} bytes cannot hold {count} records")
    if header.base_offset > _MOST - max(header.last_offset_delta, 0):
        raise CorruptBatch(0, f"offset {header.base_offset} + {header.last_offset_delta} is out of range")
    try:
        return _decode_records(kind, header, payload, place)
    except IndexError:
        raise CorruptBatch(HEADER_SIZE, "the last record is cut short") from None


def _decode_records(
    kind: type[Any], header: BatchHeader, payload: bytes, place: tuple[str, int, int] | None
) -> list[Any]:
    base_offset = header.base_offset
    base_timestamp = header.base_timestamp
    timestamp_type = header.timestamp_type
    append_time = header.max_timestamp
    stamped = timestamp_type == LOG_APPEND_TIME
    leader_epoch = header.partition_leader_epoch
    topic, partition, wanted_from = ("", 0, 0) if place is None else place
    placed = place is not None
    last_delta = -1
    no_headers: tuple[Any, ...] = ()
    key: bytes | None
    value: bytes | None
    records: list[Any] = []
    new = tuple.__new__
    data = payload
    signed = _SIGNED
    size = len(payload)
    position = 0
    for _ in range(header.record_count):
        # In each step: one or two bytes in place, longer numbers by a call.
        byte = data[position]
        position += 1
        if byte < 0x80:
            length = signed[byte]
        else:
            high = data[position]
            if high < 0x80:
                position += 1
                length = signed[byte & 0x7F | high << 7]
            else:
                length, position = read_long(data, position - 1, size)
        if length < _SMALLEST_BODY or length > size - position:
            raise CorruptBatch(HEADER_SIZE + position, f"a record claims {length} bytes, {size - position} are left")
        end = position + length

        byte = data[position + 1]
        if byte < 0x80:
            position += 2
            delta = signed[byte]
        else:
            high = data[position + 2]
            if high < 0x80:
                position += 3
                delta = signed[byte & 0x7F | high << 7]
            else:
                delta, position = read_long(data, position + 1, end)
        timestamp = base_timestamp + delta
        if timestamp > _MOST or timestamp < _LEAST:
            # Absurd, but a reader must get past it: it wraps, as in Java. In C it has wrapped by itself.
            timestamp = (timestamp - _LEAST) % (1 << 64) + _LEAST

        byte = data[position]
        position += 1
        if byte < 0x80:
            delta = signed[byte]
        else:
            high = data[position]
            if high < 0x80:
                position += 1
                delta = signed[byte & 0x7F | high << 7]
            else:
                delta, position = read_long(data, position - 1, end)
        if delta <= last_delta:
            raise CorruptBatch(HEADER_SIZE + position, f"offset delta {delta} follows {last_delta}")
        last_delta = delta
        if position >= end:
            raise _cut_short(position)

        byte = data[position]
        if byte < 0x80:
            position += 1
            length = signed[byte]
        else:
            length, position = read_long(data, position, end)
        if length >= 0:
            if length > end - position:
                raise _too_long(position, length)
            key = data[position : position + length]
            position += length
        elif length == -1:
            key = None
        else:
            raise _too_long(position, length)

        byte = data[position]
        position += 1
        if byte < 0x80:
            length = signed[byte]
        else:
            high = data[position]
            if high < 0x80:
                position += 1
                length = signed[byte & 0x7F | high << 7]
            else:
                length, position = read_long(data, position - 1, end)
        if length >= 0:
            if length > end - position:
                raise _too_long(position, length)
            value = data[position : position + length]
            position += length
        elif length == -1:
            value = None
        else:
            raise _too_long(position, length)

        if position >= end:
            raise _cut_short(position)
        if data[position]:
            headers, position = _decode_headers(payload, position, end)
        else:
            headers = no_headers
            position += 1
        if position != end:
            raise CorruptBatch(HEADER_SIZE + position, f"a record should end at {end}, its fields end at {position}")
        if stamped:
            timestamp = append_time
        offset = base_offset + delta
        if not placed:
            records.append(new(kind, (offset, timestamp, key, value, headers)))
        elif offset >= wanted_from:
            records.append(
                new(
                    kind,
                    (topic, partition, offset, timestamp, timestamp_type, key, value, headers, leader_epoch),
                )
            )
    if position != size:
        raise CorruptBatch(HEADER_SIZE + position, f"{size - position} bytes follow the last record")
    if last_delta > header.last_offset_delta:
        raise CorruptBatch(HEADER_SIZE, f"offset delta {last_delta} exceeds the last one, {header.last_offset_delta}")
    return records


def _decode_headers(payload: bytes, position: int, end: int) -> tuple[tuple[Any, ...], int]:
    data = payload
    count, position = read_long(data, position, end)
    if count < 0 or count > (end - position) // 2:
        raise CorruptBatch(HEADER_SIZE + position, f"{end - position} bytes cannot hold {count} headers")
    headers: list[Any] = []
    for _ in range(count):
        length, position = read_long(data, position, end)
        if length < 0 or length > end - position:
            raise CorruptBatch(HEADER_SIZE + position, f"a header's key cannot have {length} bytes")
        # Kafka's own client reads bytes that are not UTF-8 as replacement characters.
        key = payload[position : position + length].decode("utf-8", "replace")
        position += length
        length, position = read_long(data, position, end)
        if length >= 0:
            if length > end - position:
                raise CorruptBatch(HEADER_SIZE + position, f"a header's value cannot have {length} bytes")
            headers.append((key, payload[position : position + length]))
            position += length
        elif length == -1:
            headers.append((key, None))
        else:
            raise _too_long(position, length)
    return tuple(headers), position


def read_long(data: bytes, position: int, end: int) -> tuple[int, int]:
    """(number of any length, position behind it). Reads nothing from `end` on."""
    folded = 0
    shift = 0
    while True:
        if position >= end:
            raise _cut_short(position)
        byte = data[position]
        position += 1
        if shift == _LAST_SHIFT and byte > 1:
            raise CorruptBatch(HEADER_SIZE + position, "a number does not fit into 64 bits")
        folded |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (folded >> 1) ^ -(folded & 1), position
        shift += 7


def _cut_short(position: int) -> CorruptBatch:
    return CorruptBatch(HEADER_SIZE + position, "a record is shorter than its fields")


def _too_long(position: int, length: int) -> CorruptBatch:
    return CorruptBatch(HEADER_SIZE + position, f"a key or value cannot have {length} bytes")
