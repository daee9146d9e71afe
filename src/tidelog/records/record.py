"""Decoding and encoding of the records in a batch (format v2).

The loops over records are in `tidelog.records.decoding` and `tidelog.records.encoding`, compiled where that is possible
(`tidelog.records.implementation`). The header is in `tidelog.records.batch`, the records of control batches in
`tidelog.records.control`, records as columns in `tidelog.records.columns`.

A record, all numbers being zigzag varints:

    length, attributes (one byte, unused), timestamp delta, offset delta, key length (-1: null), key,
    value length (-1: null), value, header count, per header: key length, key, value length (-1: null), value
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tidelog.records.batch import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL_MASK,
    CREATE_TIME,
    CURRENT_MAGIC,
    DELETE_HORIZON_MASK,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
    BatchHeader,
    Buffer,
    CorruptBatch,
    parse_header,
)
from tidelog.records.checksum import crc32c
from tidelog.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression, compress, decompress
from tidelog.records.implementation import decoding, encoding

Header = tuple[str, bytes | None]
# Timestamp, key, value, headers.
NewRecord = tuple[int, Buffer | None, Buffer | None, Sequence[Header]]

SMALLEST_RECORD: Final = decoding.SMALLEST_RECORD


class Record(NamedTuple):
    """One record as it was read: offset and timestamp are absolute."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


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
    # Readers on several threads are better off if none of them lets go of the interpreter's lock here: a batch takes a
    # few microseconds, and to hand the lock over and back takes longer.
    if check_crc and header.crc != crc32c(memoryview(batch)[ATTRIBUTES_AT:], gil_release_mode=0):
        raise CorruptBatch(0, f"the batch does not match its checksum, {header.crc:#010x}")
    codec = header.attributes & COMPRESSION_MASK
    if codec > Compression.ZSTD:
        raise CorruptBatch(0, f"unknown compression type {codec}")
    payload = memoryview(batch)[HEADER_SIZE:]
    if not header.record_count and not payload:
        return b""
    return decompress(Compression(codec), payload, max_decompressed_bytes)


def decode_records(header: BatchHeader, payload: bytes) -> list[Record]:
    """The records in a decompressed payload, which must consist of exactly as many records as the header says."""
    records: list[Record] = decoding.decode_records(Record, header, payload)
    return records


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
    payload, max_timestamp = encoding.encode_records(records, base_timestamp)
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

    Offsets, the offset range, the producer's fields and the codec stay. A batch may become empty and be kept, to
    preserve its producer's last sequence. A delete horizon takes the place of the base timestamp (KIP-534).
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
    payload, max_timestamp = encoding.encode_records(
        [record[1:] for record in records], base_timestamp, [record.offset - base_offset for record in records]
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
