"""Large batches: compaction goes through them record by record and keeps none in memory.

A batch of a few kilobytes may hold millions of records, or one of many megabytes. So it is unpacked piece by piece,
once to decide and once to write, and what stays goes straight into the compressor. Ordinary batches are handled in
`tidelog.storage.cleaner.batch_filter`, which is quicker.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Final, NamedTuple

from tidelog.records.batch import (
    DELETE_HORIZON_MASK,
    HEADER_SIZE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_MASK,
    BatchHeader,
    Buffer,
    CorruptBatch,
)
from tidelog.records.compression import Compression, Packer
from tidelog.records.record import assemble_batch, read_payload
from tidelog.records.spans import RecordSpan, iterate_spans
from tidelog.records.unpacking import UnpacksTooLarge, unpack
from tidelog.records.varint import encode_varint, read_varint

# What unpacks to more is large. A megabyte of the smallest records takes about 40 MB when all are kept in memory.
LARGE_BYTES: Final = 1 << 20

_NO_LIMIT: Final = 1 << 62
_LONGEST_NUMBER: Final = 10
LARGE_RECORDS_PER_STEP: Final = 64


class Survey(NamedTuple):
    """What stays of a large batch."""

    kept: int
    tombstones: bool
    max_timestamp: int


def small_payload(header: BatchHeader, batch: Buffer) -> Buffer | None:
    """The decompressed records of a batch that is not large; None if it is. Raises CorruptBatch."""
    if not header.compression and len(batch) <= HEADER_SIZE + LARGE_BYTES:
        return memoryview(batch)[HEADER_SIZE:]
    try:
        return read_payload(header, batch, LARGE_BYTES, check_crc=False)
    except UnpacksTooLarge:
        return None


def iterate_records(header: BatchHeader, batch: Buffer) -> Iterator[tuple[bytes, RecordSpan]]:
    """Each record as it is encoded, and what is needed of it. Raises CorruptBatch."""
    buffer = bytearray()
    count = 0
    one = header._replace(record_count=1)
    for piece in unpack(header.compression, memoryview(batch)[HEADER_SIZE:], _NO_LIMIT):
        buffer += piece
        position = 0
        while (end := _end_of_record(buffer, position)) > 0:
            record = bytes(buffer[position:end])
            for span in iterate_spans(one, record):
                yield record, span
            count += 1
            position = end
        del buffer[:position]
    if buffer or count != header.record_count:
        raise CorruptBatch(HEADER_SIZE, f"{count} records were found instead of {header.record_count}")


def _end_of_record(buffer: bytearray, position: int) -> int:
    """-1 if the record that begins at `position` is not whole yet."""
    if position == len(buffer):
        return -1
    try:
        length, body_at = read_varint(bytes(buffer[position : position + _LONGEST_NUMBER]), 0)
    except IndexError:
        return -1
    if length < 0:
        raise CorruptBatch(HEADER_SIZE + position, f"a record claims {length} bytes")
    end = position + body_at + length
    return end if end <= len(buffer) else -1


def survey(header: BatchHeader, batch: Buffer, stays: Callable[[RecordSpan], bool]) -> Generator[int, None, Survey]:
    """Go through the batch once; yields now and then so that the caller can give way."""
    kept = 0
    tombstones = False
    max_timestamp = NO_TIMESTAMP
    for number, (_, span) in enumerate(iterate_records(header, batch)):
        if stays(span):
            kept += 1
            tombstones = tombstones or not span[5]
            max_timestamp = max(max_timestamp, header.base_timestamp + span[3])
        if number % LARGE_RECORDS_PER_STEP == LARGE_RECORDS_PER_STEP - 1:
            yield 0
    return Survey(kept, tombstones, max_timestamp)


def rewrite(
    header: BatchHeader,
    batch: Buffer,
    stays: Callable[[RecordSpan], bool],
    found: Survey,
    delete_horizon_ms: int | None,
) -> Generator[int, None, bytes]:
    """The batch with only the records that stay. A delete horizon takes the place of the base timestamp (KIP-534)."""
    base_timestamp = header.base_timestamp if delete_horizon_ms is None else delete_horizon_ms
    shift = header.base_timestamp - base_timestamp
    packer = Packer(Compression(header.compression))
    packed: list[bytes] = []
    for number, (record, span) in enumerate(iterate_records(header, batch)):
        if stays(span):
            packed.append(packer.add(_shifted(record, span[3] + shift) if shift else record))
        if number % LARGE_RECORDS_PER_STEP == LARGE_RECORDS_PER_STEP - 1:
            yield 0
    packed.append(packer.finish())
    stamped = header.attributes & TIMESTAMP_TYPE_MASK
    rewritten = header._replace(
        attributes=header.attributes if delete_horizon_ms is None else header.attributes | DELETE_HORIZON_MASK,
        base_timestamp=base_timestamp,
        max_timestamp=header.max_timestamp if stamped else found.max_timestamp,
        record_count=found.kept,
    )
    return assemble_batch(rewritten, b"".join(packed))


def _shifted(record: bytes, timestamp_delta: int) -> bytes:
    """The record with another timestamp delta; its length may change with it."""
    _, body_at = read_varint(record, 0)
    _, rest_at = read_varint(record, body_at + 1)
    body = b"".join((record[body_at : body_at + 1], encode_varint(timestamp_delta), record[rest_at:]))
    return encode_varint(len(body)) + body
