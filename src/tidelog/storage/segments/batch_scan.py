"""Iterating over the batches in a segment's log file: by their headers alone, or whole and checked.

Knows nothing of indexes; `tidelog.storage.segments.segment` knows where to begin.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from tidelog.records.batch import (
    BATCH_LENGTH_AT,
    CURRENT_MAGIC,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    BatchHeader,
    CorruptBatch,
    compute_crc,
    parse_header,
)
from tidelog.storage.files.filesystem import Readable

# A batch lies on average half an index interval (4 KiB) behind its index entry: one read finds most of them.
_SEARCH_READ = 8192
_SCAN_READ = 64 << 10
_CHECK_READ = 1 << 20
# What a length can say.
_LARGEST_BATCH = (1 << 31) - 1 + LOG_OVERHEAD

# baseOffset i64, batchLength i32, then up to lastOffsetDelta i32 at 23.
_OFFSET_LENGTH_DELTA = Struct(">qi11xi")
_MIN_LENGTH = HEADER_SIZE - LOG_OVERHEAD
# Of the formats before v2: crc, magic, attributes, and the lengths of key and value.
_MIN_OLD_LENGTH = 14


# mypyc does not find `memoryview` itself as the type of a tuple's field.
View = memoryview


class UnsupportedFormat(Exception):
    """Messages of a format before v2 (Kafka 0.11). They are not damaged, so nothing may be cut off because of them."""


class BatchPosition(NamedTuple):
    """Where a batch is."""

    position: int
    size: int
    base_offset: int
    last_offset: int


class GoodBatch(NamedTuple):
    position: int
    header: BatchHeader
    # The whole batch.
    data: View


def find_batch(file: Readable, position: int, end: int, offset: int) -> BatchPosition | None:
    """The first batch from `position` on whose last offset is not below `offset`. Raises CorruptBatch."""
    unpack_from = _OFFSET_LENGTH_DELTA.unpack_from
    while end - position >= HEADER_SIZE:
        block_at = position
        block = file.read(position, min(_SEARCH_READ, end - position))
        last_header_at = len(block) - HEADER_SIZE
        if last_header_at < 0:
            raise CorruptBatch(position, "the file ends within a batch")
        at = 0
        while at <= last_header_at:
            base_offset, length, delta = unpack_from(block, at)
            if length < _MIN_LENGTH or delta < 0:
                raise CorruptBatch(position, f"batch length {length} and offset delta {delta} are impossible")
            if base_offset + delta >= offset:
                if position + length + LOG_OVERHEAD > end:
                    raise CorruptBatch(position, f"a batch of {length + LOG_OVERHEAD} bytes is cut short")
                return BatchPosition(position, length + LOG_OVERHEAD, base_offset, base_offset + delta)
            position += length + LOG_OVERHEAD
            at = position - block_at
    if position != end:
        # A caller that took this for the end would skip what is really there.
        raise CorruptBatch(position, "the file ends within a batch")
    return None


def scan_headers(file: Readable, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each batch, without reading its records. Raises CorruptBatch."""
    block_at = position
    block = b""
    while position < end:
        at = position - block_at
        if at + HEADER_SIZE > len(block):
            block_at, at = position, 0
            block = file.read(position, min(_SCAN_READ, end - position))
        header = _checked_header(file, block, at, position, end)
        yield position, header
        position += header.batch_length + LOG_OVERHEAD


def valid_batch_behind(
    file: Readable, position: int, *, end: int, least_offset: int, largest: int = _LARGEST_BATCH
) -> int | None:
    """Where the next good batch is after a bad one at `position`, or None: then nothing good follows.

    A write that a crash has interrupted is the last one. A good batch after a bad one shows that the bad one was
    good once.
    """
    while position < end:
        block = file.read(position, min(_CHECK_READ, end - position))
        if not block:
            return None
        at = block.find(CURRENT_MAGIC, MAGIC_AT + 1)
        while at >= 0:
            start = position + at - MAGIC_AT
            if _is_valid_batch(file, start, end=end, least_offset=least_offset, largest=largest):
                return start
            at = block.find(CURRENT_MAGIC, at + 1)
        # The next block begins so that a header across the boundary is not missed.
        if len(block) <= MAGIC_AT + 1:
            return None
        position += len(block) - MAGIC_AT - 1 if position + len(block) < end else len(block)
    return None


def _is_valid_batch(file: Readable, position: int, *, end: int, least_offset: int, largest: int) -> bool:
    beginning = file.read(position, min(HEADER_SIZE, end - position))
    if len(beginning) < HEADER_SIZE:
        return False
    header = parse_header(beginning)
    if not least_offset <= header.base_offset < least_offset + (1 << 31) or header.last_offset_delta < 0:
        return False
    if header.batch_length < _MIN_LENGTH or position + header.size > min(end, position + largest):
        return False
    batch = file.read(position, header.size)
    return len(batch) == header.size and compute_crc(batch) == header.crc


def scan_batches(file: Readable, position: int, end: int, *, largest: int = _LARGEST_BATCH) -> Iterator[GoodBatch]:
    """Each batch, with its checksum verified. Raises CorruptBatch at the first bad one.

    The bytes are valid until the next step. A batch of more than `largest` bytes is a bad one, and is not read.
    """
    block_at = position
    block = memoryview(b"")
    while position < end:
        at = position - block_at
        if at + HEADER_SIZE > len(block):
            block_at, at = position, 0
            block = memoryview(file.read(position, min(_CHECK_READ, end - position)))
        header = _checked_header(file, block, at, position, end)
        size = header.batch_length + LOG_OVERHEAD
        if size > largest:
            raise CorruptBatch(position, f"a batch of {size} bytes is larger than the limit of {largest}")
        if at + size > len(block):
            block_at, at = position, 0
            block = memoryview(file.read(position, min(max(_CHECK_READ, size), end - position)))
            if size > len(block):
                raise CorruptBatch(position, "the file ends within a batch")
        batch = block[at : at + size]
        if compute_crc(batch) != header.crc:
            raise CorruptBatch(position, "the checksum does not match")
        yield GoodBatch(position, header, batch)
        position += size


def _checked_header(file: Readable, block: bytes | memoryview, at: int, position: int, end: int) -> BatchHeader:
    if len(block) - at < HEADER_SIZE:
        _refuse_old_format(file, position, end)
        raise CorruptBatch(position, f"{len(block) - at} bytes are too few for a batch header")
    header = parse_header(block, at)
    if header.magic != CURRENT_MAGIC:
        _refuse_old_format(file, position, end)
        raise CorruptBatch(position, f"magic {header.magic} is unknown")
    if header.batch_length < _MIN_LENGTH or header.last_offset_delta < 0:
        raise CorruptBatch(
            position, f"batch length {header.batch_length} and offset delta {header.last_offset_delta} are impossible"
        )
    if position + header.batch_length + LOG_OVERHEAD > end:
        raise CorruptBatch(position, f"a batch of {header.batch_length + LOG_OVERHEAD} bytes is cut short")
    return header


def _refuse_old_format(file: Readable, position: int, end: int) -> None:
    """Raise UnsupportedFormat for a whole and valid message of format v0 or v1, which no torn batch can look like."""
    start = file.read(position, min(MAGIC_AT + 1, end - position))
    if len(start) <= MAGIC_AT or start[MAGIC_AT] not in (0, 1):
        return
    length = int.from_bytes(start[BATCH_LENGTH_AT:LOG_OVERHEAD], "big", signed=True)
    if length < _MIN_OLD_LENGTH or position + LOG_OVERHEAD + length > end:
        return
    message = file.read(position + LOG_OVERHEAD, length)
    # The checksum comes first and covers the rest.
    if zlib.crc32(message[4:]) == int.from_bytes(message[:4], "big"):
        raise UnsupportedFormat(
            f"at byte {position} is a message of format v{start[MAGIC_AT]}; tidelog reads only v2. "
            "Copy the topic into a new one with Apache Kafka (a consumer and a producer) and use the copy."
        )
