"""Compression of the records in a batch, in the framings that Kafka's clients write and read.

Decompression is bounded: a few kilobytes can claim to be gigabytes, so no codec gets to write past the caller's limit.
How each codec is unpacked piece by piece is in `tidelog.records.unpacking`; which codec a topic wants is decided in
`tidelog.records.validation`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from struct import Struct
from typing import Any, Final

import cramjam
import zstandard

from tidelog.records.batch import Buffer
from tidelog.records.unpacking import XERIAL_HEADER, unpack

# Records of one batch when unpacked. Brokers limit the packed size to message.max.bytes (about 1 MB), and text shrinks
# ten- to fifty-fold; what is larger than this is an attack or a mistake.
DEFAULT_MAX_DECOMPRESSED_BYTES: Final = 128 * 1024 * 1024

# The guess of the unpacked size: generous, because a wrong guess costs unpacking twice.
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

# The defaults of Kafka's compression.*.level settings.
GZIP_DEFAULT_LEVEL: Final = 6
ZSTD_DEFAULT_LEVEL: Final = 3


def compress(codec: Compression, data: Buffer, level: int | None = None) -> bytes:
    """Pack `data`. `level` is the codec's own scale. Snappy has none, and our LZ4 ignores it."""
    match codec:
        case Compression.NONE:
            return bytes(data)
        case Compression.GZIP:
            return bytes(cramjam.gzip.compress(data, level=GZIP_DEFAULT_LEVEL if level is None else level))
        case Compression.SNAPPY:
            return b"".join((XERIAL_HEADER, *_snappy_blocks(memoryview(data))))
        case Compression.LZ4:
            return b"".join((_LZ4_FRAME_START, *_lz4_blocks(memoryview(data)), _LZ4_FRAME_END))
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=ZSTD_DEFAULT_LEVEL if level is None else level))


def decompress(codec: Compression, data: Buffer, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> bytes:
    """Unpack `data`. Raises CorruptBatch if it cannot be unpacked, or would exceed `max_bytes`."""
    if codec == Compression.NONE and len(data) <= max_bytes:
        return bytes(data)
    quick = _AT_ONCE.get(codec)
    if quick is not None:
        size = min(max_bytes, max(_SMALLEST_GUESS, _GUESSED_RATIO * len(data)))
        output = bytearray(size)
        try:
            return bytes(memoryview(output)[: quick(data, output)])
        except cramjam.DecompressionError:
            # Too large for the guess, damaged, or in a framing that only `unpack` knows.
            pass
    unpacked = bytearray()
    for piece in unpack(codec, data, max_bytes):
        unpacked += piece
    return bytes(unpacked)


# One call instead of many. The untouched part of a large zeroed buffer takes no memory.
_AT_ONCE: Final[dict[Compression, Callable[[Buffer, bytearray], int]]] = {
    Compression.GZIP: cramjam.gzip.decompress_into,
    Compression.LZ4: cramjam.lz4.decompress_into,
    Compression.ZSTD: cramjam.zstd.decompress_into,
}


class Packer:
    """Compresses piece by piece: `add` and, at the end, `finish` return what is ready."""

    def __init__(self, codec: Compression, level: int | None = None) -> None:
        self._codec = codec
        self._stream: Any = None
        self._block = bytearray()
        self._block_bytes = 0
        self._begun = False
        match codec:
            case Compression.GZIP:
                self._stream = zlib.compressobj(GZIP_DEFAULT_LEVEL if level is None else level, wbits=31)
            case Compression.ZSTD:
                level = ZSTD_DEFAULT_LEVEL if level is None else level
                self._stream = zstandard.ZstdCompressor(level=level).compressobj()
            case Compression.SNAPPY:
                self._block_bytes = _XERIAL_BLOCK_SIZE
            case Compression.LZ4:
                self._block_bytes = _LZ4_BLOCK_SIZE

    def add(self, piece: Buffer) -> bytes:
        if self._stream is not None:
            packed: bytes = self._stream.compress(piece)
            return packed
        if not self._block_bytes:
            return bytes(piece)
        self._block += piece
        whole = len(self._block) // self._block_bytes * self._block_bytes
        with memoryview(self._block) as view:
            packed = self._blocks(view[:whole])
        del self._block[:whole]
        return packed

    def finish(self) -> bytes:
        if self._stream is not None:
            packed: bytes = self._stream.flush()
            return packed
        if not self._block_bytes:
            return b""
        packed = self._blocks(memoryview(self._block))
        return packed + _LZ4_FRAME_END if self._codec == Compression.LZ4 else packed

    def _blocks(self, view: memoryview) -> bytes:
        is_lz4 = self._codec == Compression.LZ4
        parts: list[Buffer] = []
        if not self._begun:
            self._begun = True
            parts.append(_LZ4_FRAME_START if is_lz4 else XERIAL_HEADER)
        parts += _lz4_blocks(view) if is_lz4 else _snappy_blocks(view)
        return b"".join(parts)


# Snappy: the Java client wraps blocks in the framing of the snappy-java library, others send one bare block.

_XERIAL_BLOCK_SIZE: Final = 32 * 1024
_BLOCK_LENGTH: Final = Struct(">i")


def _snappy_blocks(view: memoryview) -> Iterator[Buffer]:
    for start in range(0, len(view), _XERIAL_BLOCK_SIZE):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_SIZE]))
        yield _BLOCK_LENGTH.pack(len(block))
        yield block


# LZ4: the Java client reads frames of independent blocks only, which cramjam's frame writer does not write, so the
# frame is built here: magic, flags (version 1, independent blocks), 64 KB blocks, the checksum of these two bytes.
_LZ4_FRAME_START: Final = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_BLOCK_SIZE: Final = 64 * 1024
_LZ4_BLOCK_LENGTH: Final = Struct("<I")
_LZ4_STORED: Final = 0x80000000
_LZ4_FRAME_END: Final = bytes(4)


def _lz4_blocks(view: memoryview) -> Iterator[Buffer]:
    for start in range(0, len(view), _LZ4_BLOCK_SIZE):
        plain = view[start : start + _LZ4_BLOCK_SIZE]
        packed = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(packed) < len(plain):
            yield _LZ4_BLOCK_LENGTH.pack(len(packed))
            yield packed
        else:
            yield _LZ4_BLOCK_LENGTH.pack(len(plain) | _LZ4_STORED)
            yield plain
