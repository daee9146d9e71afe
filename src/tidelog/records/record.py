"""Decoding and encoding of the records in a batch (format v2).

These loops run for each record that a client sends or reads, and in the broker only where it has to look inside. So
they use plain tuples and local variables, and read the common one- and two-byte numbers in place. The header is in
`tidelog.records.batch`, the records of control batches in `tidelog.records.control`.

A record, all numbers being zigzag varints:

    length, attributes (one byte, unused), timestamp delta, offset delta, key length (-1: null), key,
    value length (-1: null), value, header count, per header: key length, key, value length (-1: null), value
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from crc32c import crc32c

from tidelog.records.batch import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL_MASK,
    CREATE_TIME,
    CURRENT_MAGIC,
    DELETE_HORIZON_MASK,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
    BatchHeader,
    Buffer,
    CorruptBatch,
    compute_crc,
    iterate_headers,
    parse_header,
)
from tidelog.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression, compress, decompress
from tidelog.records.varint import SMALL_SIGNED, SMALL_VARINTS, SMALL_VARINTS_COUNT, encode_varint, read_varint

Header = tuple[str, bytes | None]
# Timestamp, key, value, headers.
NewRecord = tuple[int, Buffer | None, Buffer | None, Sequence[Header]]

# Length, attributes, two deltas, key length, value length, header count: one byte each.
SMALLEST_RECORD: Final = 7


class Record(NamedTuple):
    """One record as it was read: offset and timestamp are absolute."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


class RecordOutline(NamedTuple):
    """What the broker wants to know of a record without taking it apart."""

    offset_delta: int
    timestamp_delta: int
    has_key: bool


# Reading


def decode_batch(
    batch: Buffer,
    *,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    check_crc: bool = True,
) -> list[Record]:
    """The records of exactly one batch. Raises CorruptBatch, and nothing else, whatever the bytes are."""
    header = parse_header(batch)
    return decode_records(header, read_payload(header, batch, max_decompressed_bytes, check_crc=check_crc))


def decode_all(
    buffer: Buffer,
    *,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    check_crc: bool = True,
) -> list[Record]:
    """The records of all whole batches; control batches, which hold no records of users, are left out."""
    view = memoryview(buffer)
    records: list[Record] = []
    for position, header in iterate_headers(buffer):
        if not header.is_control:
            records += decode_batch(
                view[position : position + header.size],
                max_decompressed_bytes=max_decompressed_bytes,
                check_crc=check_crc,
            )
    return records


def read_payload(
    header: BatchHeader,
    batch: Buffer,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    *,
    check_crc: bool = True,
) -> bytes:
    """The encoded records behind the header, decompressed."""
    if header.magic != CURRENT_MAGIC:
        raise CorruptBatch(0, f"magic {header.magic} is not the record batch format ({CURRENT_MAGIC})")
    if header.size != len(batch):
        raise CorruptBatch(0, f"the batch says it has {header.size} bytes, but there are {len(batch)}")
    if check_crc and header.crc != compute_crc(batch):
        raise CorruptBatch(0, f"the checksum of the batch is not {header.crc:#010x}")
    codec = header.attributes & COMPRESSION_MASK
    if codec > Compression.ZSTD:
        raise CorruptBatch(0, f"compression type {codec} does not exist")
    payload = memoryview(batch)[HEADER_SIZE:]
    if not header.record_count and not payload:
        return b""
    return decompress(Compression(codec), payload, max_decompressed_bytes)


def decode_records(header: BatchHeader, payload: bytes) -> list[Record]:
    """The records in a decompressed payload. All of it must be used, by as many records as the header says."""
    count = header.record_count
    if not 0 <= count * SMALLEST_RECORD <= len(payload):
        raise CorruptBatch(HEADER_SIZE, f"{len(payload)} bytes cannot hold {count} records")
    try:
        return _decode_records(header, payload)
    except IndexError:
        raise CorruptBatch(HEADER_SIZE, "the last record is cut short") from None


def _decode_records(header: BatchHeader, data: bytes) -> list[Record]:
    base_offset = header.base_offset
    base_timestamp = header.base_timestamp
    append_timestamp = header.max_timestamp if header.timestamp_type == LOG_APPEND_TIME else None
    last_delta = -1
    no_headers: tuple[Header, ...] = ()
    key: bytes | None
    value: bytes | None
    records: list[Record] = []
    append = records.append
    new = tuple.__new__
    signed = SMALL_SIGNED
    size = len(data)
    position = 0
    for _ in range(header.record_count):
        # In each step: one byte in place, the rest by call. Lengths and offset deltas often take two.
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
        if length < 0 or end > size:
            raise CorruptBatch(HEADER_SIZE + position, f"a record claims {length} bytes, {size - position} are left")

        byte = data[position + 1]
        if byte < 0x80:
            position += 2
            timestamp = base_timestamp + signed[byte]
        elif (high := data[position + 2]) < 0x80:
            position += 3
            timestamp = base_timestamp + signed[byte & 0x7F | high << 7]
        else:
            timestamp, position = read_varint(data, position + 1)
            timestamp += base_timestamp

        byte = data[position]
        position += 1
        if byte < 0x80:
            delta = signed[byte]
        elif (high := data[position]) < 0x80:
            position += 1
            delta = signed[byte & 0x7F | high << 7]
        else:
            delta, position = read_varint(data, position - 1)
        if delta <= last_delta:
            raise CorruptBatch(HEADER_SIZE + position, f"offset delta {delta} follows {last_delta}")
        last_delta = delta

        byte = data[position]
        if byte < 0x80:
            position += 1
            length = signed[byte]
        else:
            length, position = read_varint(data, position)
        if length >= 0:
            stop = position + length
            key = data[position:stop]
            position = stop
        elif length == -1:
            key = None
        else:
            raise CorruptBatch(HEADER_SIZE + position, f"{length} is not a length")

        byte = data[position]
        position += 1
        if byte < 0x80:
            length = signed[byte]
        elif (high := data[position]) < 0x80:
            position += 1
            length = signed[byte & 0x7F | high << 7]
        else:
            length, position = read_varint(data, position - 1)
        if length >= 0:
            stop = position + length
            value = data[position:stop]
            position = stop
        elif length == -1:
            value = None
        else:
            raise CorruptBatch(HEADER_SIZE + position, f"{length} is not a length")

        if data[position]:
            headers, position = _decode_headers(data, position, end)
        else:
            headers = no_headers
            position += 1
        if position != end:
            raise CorruptBatch(HEADER_SIZE + position, f"a record should end at {end} but its fields do at {position}")
        if append_timestamp is not None:
            timestamp = append_timestamp
        append(new(Record, (base_offset + delta, timestamp, key, value, headers)))
    if position != size:
        raise CorruptBatch(HEADER_SIZE + position, f"{size - position} bytes follow the last record")
    if last_delta > header.last_offset_delta:
        raise CorruptBatch(HEADER_SIZE, f"offset delta {last_delta} is above the last, {header.last_offset_delta}")
    return records


def _decode_headers(data: bytes, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(data, position)
    if not 0 <= count <= (end - position) // 2:
        raise CorruptBatch(HEADER_SIZE + position, f"{end - position} bytes cannot hold {count} headers")
    headers: list[Header] = []
    for _ in range(count):
        length, position = read_varint(data, position)
        if not 0 <= length <= end - position:
            raise CorruptBatch(HEADER_SIZE + position, f"a header's key cannot have {length} bytes")
        # Kafka's own client reads bytes that are not UTF-8 as replacement characters.
        key = data[position : position + length].decode("utf-8", "replace")
        position += length
        length, position = read_varint(data, position)
        if length >= 0:
            if length > end - position:
                raise CorruptBatch(HEADER_SIZE + position, f"a header's value cannot have {length} bytes")
            headers.append((key, data[position : position + length]))
            position += length
        elif length == -1:
            headers.append((key, None))
        else:
            raise CorruptBatch(HEADER_SIZE + position, f"{length} is not a length")
    return tuple(headers), position


def outline_records(header: BatchHeader, payload: bytes) -> Iterator[RecordOutline]:
    """Walk over the records without keeping any, so that a batch of millions of tiny ones takes no memory.

    Raises CorruptBatch as `decode_records` does, except that values and headers are not looked into.
    """
    size = len(payload)
    position = 0
    try:
        for _ in range(header.record_count):
            length, position = read_varint(payload, position)
            end = position + length
            if length < SMALLEST_RECORD - 1 or end > size:
                raise CorruptBatch(
                    HEADER_SIZE + position, f"a record claims {length} bytes, {size - position} are left"
                )
            timestamp_delta, position = read_varint(payload, position + 1)
            offset_delta, position = read_varint(payload, position)
            key_length, position = read_varint(payload, position)
            if not -1 <= key_length < end - position:
                raise CorruptBatch(HEADER_SIZE + position, f"a key cannot have {key_length} bytes")
            yield RecordOutline(offset_delta, timestamp_delta, key_length >= 0)
            position = end
    except IndexError:
        raise CorruptBatch(HEADER_SIZE, "the last record is cut short") from None
    if position != size:
        raise CorruptBatch(HEADER_SIZE + position, f"{size - position} bytes follow the last record")


# Writing


def encode_batch(
    records: Sequence[NewRecord],
    *,
    base_offset: int = 0,
    compression: Compression = Compression.NONE,
    level: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    leader_epoch: int = -1,
    transactional: bool = False,
    control: bool = False,
    timestamp_type: int = CREATE_TIME,
) -> bytes:
    """A batch of at least one record, at consecutive offsets."""
    if not records:
        raise ValueError("a batch needs at least one record")
    base_timestamp = records[0][0]
    payload, max_timestamp = _encode_records(enumerate(records), base_timestamp)
    attributes = compression | timestamp_type << 3
    if transactional:
        attributes |= TRANSACTIONAL_MASK
    if control:
        attributes |= CONTROL_MASK
    header = BatchHeader(
        base_offset,
        0,
        leader_epoch,
        CURRENT_MAGIC,
        0,
        attributes,
        len(records) - 1,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    return assemble_batch(header, compress(compression, payload, level) if compression else payload)


def encode_retained(header: BatchHeader, records: Sequence[Record], *, delete_horizon_ms: int | None = None) -> bytes:
    """A batch with only some of its records left, as compaction writes it.

    Offsets, the offset range, the producer's fields and the codec stay. A batch may become empty and be kept, for the
    sake of its producer's last sequence. A delete horizon takes the place of the base timestamp (KIP-534).
    """
    if not records:
        emptied = header._replace(
            attributes=header.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_MASK),
            base_timestamp=header.max_timestamp,
            record_count=0,
        )
        return assemble_batch(emptied, b"")
    attributes = header.attributes
    base_timestamp = header.base_timestamp
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_MASK
        base_timestamp = delete_horizon_ms
    base_offset = header.base_offset
    payload, max_timestamp = _encode_records(
        ((record.offset - base_offset, record[1:]) for record in records), base_timestamp
    )
    if attributes & TIMESTAMP_TYPE_MASK:
        max_timestamp = header.max_timestamp
    rewritten = header._replace(
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        record_count=len(records),
    )
    return assemble_batch(rewritten, compress(Compression(header.compression), payload))


def assemble_batch(header: BatchHeader, payload: Buffer) -> bytes:
    """Header and payload as one batch, with the length and the CRC they have together."""
    fields = list(header)
    fields[1] = HEADER_SIZE - LOG_OVERHEAD + len(payload)
    fields[4] = 0
    head = HEADER.pack(*fields)
    fields[4] = crc32c(payload, crc32c(head[ATTRIBUTES_AT:]))
    return b"".join((HEADER.pack(*fields), payload))


def _encode_records(records: Iterable[tuple[int, NewRecord]], base_timestamp: int) -> tuple[bytes, int]:
    """(payload, largest timestamp) of records, each with its offset delta."""
    small = SMALL_VARINTS
    limit = SMALL_VARINTS_COUNT
    join = b"".join
    parts: list[bytes] = []
    append = parts.append
    max_timestamp = NO_TIMESTAMP
    key_head: bytes
    value_head: bytes
    for offset_delta, (timestamp, key, value, headers) in records:
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        delta = timestamp - base_timestamp
        if key is None:
            key = b""
            key_head = b"\x01"
        else:
            length = len(key)
            key_head = small[length] if length < limit else encode_varint(length)
        if value is None:
            value = b""
            value_head = b"\x01"
        else:
            length = len(value)
            value_head = small[length] if length < limit else encode_varint(length)
        body = join(
            (
                b"\x00",
                small[delta] if 0 <= delta < limit else encode_varint(delta),
                small[offset_delta] if offset_delta < limit else encode_varint(offset_delta),
                key_head,
                key,
                value_head,
                value,
                _encode_headers(headers) if headers else b"\x00",
            )
        )
        length = len(body)
        append(small[length] if length < limit else encode_varint(length))
        append(body)
    return join(parts), max_timestamp


def _encode_headers(headers: Sequence[Header]) -> bytes:
    parts: list[Buffer] = [encode_varint(len(headers))]
    for name, value in headers:
        key = name.encode("utf-8")
        parts.append(encode_varint(len(key)))
        parts.append(key)
        if value is None:
            parts.append(b"\x01")
        else:
            parts.append(encode_varint(len(value)))
            parts.append(value)
    return b"".join(parts)
