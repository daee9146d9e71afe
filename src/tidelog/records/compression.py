"""Compression of the records in a batch, in the framings that Kafka's clients write and read.

Decompression is bounded: a few kilobytes can claim to be gigabytes, so no codec gets to write past the caller's limit.
Which codec a topic wants is decided in `tidelog.records.validation`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import Final

import cramjam

from tidelog.records.batch import Buffer, CorruptBatch

# Records of one batch when unpacked. Brokers limit the packed size to message.max.bytes (about 1 MB), and text shrinks
# ten- to fifty-fold; what is larger than this is an attack or a mistake.
DEFAULT_MAX_DECOMPRESSED_BYTES: Final = 128 * 1024 * 1024

# The first guess of the unpacked size: generous, because a wrong guess costs unpacking twice.
_GUESSED_RATIO: Final = 16
_SMALLEST_GUESS: Final = 256 * 1024


class Compression(IntEnum):
    """The numbers are those in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


COMPRESSION_NAMES: Final = {codec.name.lower(): codec for codec in Compression}

# What Kafka's compression.*.level settings allow, and their defaults.
GZIP_LEVELS: Final = range(1, 10)
GZIP_DEFAULT_LEVEL: Final = 6
LZ4_LEVELS: Final = range(1, 18)
LZ4_DEFAULT_LEVEL: Final = 9
ZSTD_LEVELS: Final = range(-131072, 23)
ZSTD_DEFAULT_LEVEL: Final = 3


def compress(codec: Compression, data: Buffer, level: int | None = None) -> bytes:
    """Pack `data`. `level` is the codec's own scale. Snappy has none, and our LZ4 packs the same at each of them."""
    match codec:
        case Compression.NONE:
            return bytes(data)
        case Compression.GZIP:
            return bytes(cramjam.gzip.compress(data, level=GZIP_DEFAULT_LEVEL if level is None else level))
        case Compression.SNAPPY:
            return _compress_snappy(data)
        case Compression.LZ4:
            return _compress_lz4(data)
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=ZSTD_DEFAULT_LEVEL if level is None else level))


def decompress(codec: Compression, data: Buffer, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> bytes:
    """Unpack `data`. Raises CorruptBatch if it cannot be, or if it would be more than `max_bytes`."""
    match codec:
        case Compression.NONE:
            if len(data) > max_bytes:
                raise CorruptBatch(0, f"{len(data)} bytes of records are more than the {max_bytes} allowed")
            return bytes(data)
        case Compression.GZIP:
            return _decompress_into(cramjam.gzip.decompress_into, data, max_bytes)
        case Compression.SNAPPY:
            return _decompress_snappy(data, max_bytes)
        case Compression.LZ4:
            return _decompress_into(cramjam.lz4.decompress_into, data, max_bytes)
        case Compression.ZSTD:
            return _decompress_into(cramjam.zstd.decompress_into, data, max_bytes)


def _decompress_into(unpack: Callable[[Buffer, bytearray], int], data: Buffer, max_bytes: int) -> bytes:
    """Unpack into a buffer of fixed size, which is what bounds it.

    The frames do not say reliably how large they get, so a guess comes first and the limit second. The untouched part
    of a large zeroed buffer takes no memory.
    """
    size = min(max_bytes, max(_SMALLEST_GUESS, _GUESSED_RATIO * len(data)))
    while True:
        output = bytearray(size)
        try:
            written = unpack(data, output)
        except cramjam.DecompressionError as error:
            # A buffer that is too small and broken data look alike here; the second try tells.
            if size == max_bytes:
                raise CorruptBatch(
                    0, f"the records cannot be decompressed to {max_bytes} bytes or less: {error}"
                ) from error
            size = max_bytes
        else:
            return bytes(memoryview(output)[:written])


# Snappy: the Java client wraps blocks in the framing of the snappy-java library, others send one bare block.

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_SIZE: Final = 32 * 1024
_BLOCK_LENGTH: Final = Struct(">i")


def _compress_snappy(data: Buffer) -> bytes:
    view = memoryview(data)
    parts: list[bytes] = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_SIZE):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_SIZE]))
        parts.append(_BLOCK_LENGTH.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def _decompress_snappy(data: Buffer, max_bytes: int) -> bytes:
    view = memoryview(data)
    if bytes(view[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _decompress_snappy_block(view, 0, max_bytes)
    parts: list[bytes] = []
    remaining = max_bytes
    position = len(_XERIAL_HEADER)
    end = len(view)
    if position > end:
        raise CorruptBatch(0, "the snappy framing is cut short")
    while position < end:
        if end - position < _BLOCK_LENGTH.size:
            raise CorruptBatch(position, "a snappy block's length is cut short")
        length: int = _BLOCK_LENGTH.unpack_from(view, position)[0]
        position += _BLOCK_LENGTH.size
        if not 0 < length <= end - position:
            raise CorruptBatch(position, f"a snappy block claims {length} bytes, {end - position} are left")
        part = _decompress_snappy_block(view[position : position + length], position, remaining)
        remaining -= len(part)
        parts.append(part)
        position += length
    return b"".join(parts)


def _decompress_snappy_block(block: memoryview, position: int, max_bytes: int) -> bytes:
    """A block begins with its unpacked length, and the decoder writes neither more nor less than that."""
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > max_bytes:
            raise CorruptBatch(position, f"snappy would decompress to {size} bytes, more than the {max_bytes} allowed")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CorruptBatch(position, f"the records cannot be decompressed: {error}") from error


# LZ4: the Java client reads frames of independent blocks only, which cramjam's frame writer does not make, so the
# frame is made here: magic, flags (version 1, independent blocks), 64 KB blocks, the checksum of these two bytes.
_LZ4_FRAME_START: Final = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_BLOCK_SIZE: Final = 64 * 1024
_LZ4_BLOCK_LENGTH: Final = Struct("<I")
_LZ4_STORED: Final = 0x80000000
_LZ4_FRAME_END: Final = bytes(4)


def _compress_lz4(data: Buffer) -> bytes:
    view = memoryview(data)
    parts: list[Buffer] = [_LZ4_FRAME_START]
    for start in range(0, len(view), _LZ4_BLOCK_SIZE):
        plain = view[start : start + _LZ4_BLOCK_SIZE]
        packed = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(packed) < len(plain):
            parts.append(_LZ4_BLOCK_LENGTH.pack(len(packed)))
            parts.append(packed)
        else:
            parts.append(_LZ4_BLOCK_LENGTH.pack(len(plain) | _LZ4_STORED))
            parts.append(plain)
    parts.append(_LZ4_FRAME_END)
    return b"".join(parts)
