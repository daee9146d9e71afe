"""Unpacking the records of a batch piece by piece, so that memory stays bounded whatever the batch claims to hold.

A few kilobytes can unpack to gigabytes. Brokers, which only look at records, go through these pieces and keep none of
them; `tidelog.records.compression.decompress` joins them, up to a limit, for callers that need the records.

What is read is what every client reads: Kafka's own, librdkafka and ours. The Java client also takes a gzip stream of
two members, several concatenated snappy streams, and bytes after an LZ4 frame. librdkafka stops at all of these, so
they count as damaged.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final

import cramjam
import zstandard

from tidelog.records.batch import Buffer, CorruptBatch

# The usual size of a piece. LZ4 and snappy have blocks, which come whole: LZ4's are 4 MB at most, and those of snappy
# at most SNAPPY_MAX_RATIO times as large as they are packed.
PIECE_BYTES: Final = 64 * 1024

# A block that unpacks to more than this is announced by an empty piece: a caller in a hurry can continue elsewhere.
ANNOUNCED_BYTES: Final = 256 * 1024


class UnpacksTooLarge(CorruptBatch):
    """The records would take more than the caller allows."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(0, f"the records would take more than {max_bytes} bytes when decompressed")
        self.max_bytes = max_bytes


def unpack(codec: int, data: Buffer, max_bytes: int) -> Iterator[Buffer]:
    """The pieces of what `data` unpacks to; some may be empty. A piece is valid until the next one is asked for.

    Raises CorruptBatch if `data` cannot be unpacked, and UnpacksTooLarge where it would exceed `max_bytes`.
    """
    view = memoryview(data)
    match codec:
        case 0:
            pieces: Iterator[Buffer] = iter((view,))
        case 1:
            pieces = _unpack_gzip(view)
        case 2:
            pieces = _unpack_snappy(view, max_bytes)
        case 3:
            pieces = _unpack_lz4(view)
        case 4:
            pieces = _unpack_zstd(view)
        case _:
            raise CorruptBatch(0, f"unknown compression type {codec}")
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > max_bytes:
            raise UnpacksTooLarge(max_bytes)
        yield piece


def _broken(reason: object) -> CorruptBatch:
    return CorruptBatch(0, f"the records cannot be decompressed: {reason}")


# gzip

_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
# The Java client does not look for a second member in fewer bytes.
_GZIP_SMALLEST_MEMBER: Final = 18
_GZIP_WINDOW_BITS: Final = 31


def _unpack_gzip(view: memoryview) -> Iterator[Buffer]:
    rest: Buffer = view
    first = True
    while True:
        unpacker = zlib.decompressobj(wbits=_GZIP_WINDOW_BITS)
        while not unpacker.eof:
            try:
                piece = unpacker.decompress(rest, PIECE_BYTES)
            except zlib.error as error:
                raise _broken(error) from error
            rest = unpacker.unconsumed_tail
            if piece:
                if not first:
                    raise _broken("a second gzip stream follows, which not all clients read")
                yield piece
            elif not rest and not unpacker.eof:
                raise _broken("the gzip stream is cut short")
        rest = unpacker.unused_data
        # All clients ignore other bytes after the stream.
        if len(rest) <= _GZIP_SMALLEST_MEMBER or not rest.startswith(_GZIP_MAGIC):
            return
        first = False


# Snappy: the Java client wraps blocks in the framing of the snappy-java library, others send one bare block.

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
# Three bytes can stand for 64, and none for more.
SNAPPY_MAX_RATIO: Final = 22
_BLOCK_LENGTH: Final = Struct(">i")


def _unpack_snappy(view: memoryview, max_bytes: int) -> Iterator[Buffer]:
    if bytes(view[: len(XERIAL_MAGIC)]) != XERIAL_MAGIC:
        yield from _unpack_snappy_block(view, max_bytes)
        return
    position = len(XERIAL_HEADER)
    end = len(view)
    if position > end:
        raise _broken("the snappy framing is cut short")
    while position < end:
        if end - position < _BLOCK_LENGTH.size:
            raise _broken("a snappy block's length is cut short")
        length: int = _BLOCK_LENGTH.unpack_from(view, position)[0]
        position += _BLOCK_LENGTH.size
        if not 0 < length <= end - position:
            raise _broken(f"a snappy block claims {length} bytes, {end - position} are left")
        yield from _unpack_snappy_block(view[position : position + length], max_bytes)
        position += length


def _unpack_snappy_block(block: memoryview, max_bytes: int) -> Iterator[Buffer]:
    """A block begins with its unpacked length, and the decoder writes neither more nor less than that."""
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > SNAPPY_MAX_RATIO * len(block):
            raise _broken(f"{len(block)} bytes of snappy claim to be {size}")
        if size > max_bytes:
            raise UnpacksTooLarge(max_bytes)
        if size > ANNOUNCED_BYTES:
            yield b""
        yield memoryview(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise _broken(error) from error


# LZ4: one frame of independent blocks.

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_LENGTH: Final = Struct("<I")
_LZ4_STORED: Final = 0x80000000
_LZ4_VERSION_AND_RESERVED: Final = 0xC2
_LZ4_VERSION: Final = 0x40
_LZ4_BLOCK_CHECKSUM: Final = 0x10
_LZ4_CONTENT_SIZE: Final = 0x08
_LZ4_CONTENT_CHECKSUM: Final = 0x04
_LZ4_BLOCK_SIZES: Final = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}


def _unpack_lz4(view: memoryview) -> Iterator[Buffer]:
    flags, max_block, position = _read_lz4_header(view)
    end = len(view)
    output = bytearray()
    while True:
        if end - position < _LZ4_LENGTH.size:
            raise _broken("the lz4 frame has no end")
        word: int = _LZ4_LENGTH.unpack_from(view, position)[0]
        position += _LZ4_LENGTH.size
        length = word & ~_LZ4_STORED
        if length == 0:
            rest = end - position - (_LZ4_LENGTH.size if flags & _LZ4_CONTENT_CHECKSUM else 0)
            if rest < 0:
                raise _broken("the lz4 frame is cut short")
            if rest > 0:
                raise _broken(f"{rest} bytes follow the lz4 frame")
            return
        if length > max_block or length > end - position:
            raise _broken(f"an lz4 block claims {length} bytes, {end - position} are left")
        block = view[position : position + length]
        position += length
        if flags & _LZ4_BLOCK_CHECKSUM:
            if end - position < _LZ4_LENGTH.size:
                raise _broken("the checksum of an lz4 block is cut short")
            if _xxh32(block) != _LZ4_LENGTH.unpack_from(view, position)[0]:
                raise _broken("the checksum of an lz4 block is wrong")
            position += _LZ4_LENGTH.size
        if word & _LZ4_STORED:
            yield block
            continue
        if not output:
            output = bytearray(max_block)
        if max_block > ANNOUNCED_BYTES:
            yield b""
        try:
            written = cramjam.lz4.decompress_block_into(block, output)
        except (cramjam.DecompressionError, ValueError) as error:
            raise _broken(error) from error
        yield memoryview(output)[:written]


def _read_lz4_header(view: memoryview) -> tuple[int, int, int]:
    """(flags, largest size of a block, where the first block begins)."""
    if len(view) < 7 or bytes(view[:4]) != _LZ4_MAGIC:
        raise _broken("this is not an lz4 frame")
    flags, block = view[4], view[5]
    if flags & _LZ4_VERSION_AND_RESERVED != _LZ4_VERSION or block & 0x8F or block >> 4 not in _LZ4_BLOCK_SIZES:
        raise _broken(f"lz4 frames with the flags {flags:#x} and {block:#x} are unknown")
    position = 14 if flags & _LZ4_CONTENT_SIZE else 6
    if len(view) <= position:
        raise _broken("the lz4 frame is cut short")
    if view[position] != _xxh32(view[4:position]) >> 8 & 0xFF:
        raise _broken("the lz4 frame's header has a wrong checksum")
    return flags, _LZ4_BLOCK_SIZES[block >> 4], position + 1


_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_32_BITS: Final = 0xFFFFFFFF
_STRIPE: Final = Struct("<IIII")


def _rotated(value: int, bits: int) -> int:
    value &= _32_BITS
    return (value << bits | value >> (32 - bits)) & _32_BITS


def _xxh32(data: memoryview) -> int:
    """XXH32 with seed 0. Headers have two or ten bytes; blocks with a checksum of their own are rare."""
    size = len(data)
    position = 0
    if size >= _STRIPE.size:
        lanes = [_PRIME_1 + _PRIME_2, _PRIME_2, 0, -_PRIME_1]
        while size - position >= _STRIPE.size:
            words = _STRIPE.unpack_from(data, position)
            lanes = [_rotated(lane + word * _PRIME_2, 13) * _PRIME_1 for lane, word in zip(lanes, words, strict=True)]
            position += _STRIPE.size
        total = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        total = _PRIME_5
    total += size
    while size - position >= _LZ4_LENGTH.size:
        total = _rotated(total + _LZ4_LENGTH.unpack_from(data, position)[0] * _PRIME_3, 17) * _PRIME_4
        position += _LZ4_LENGTH.size
    for byte in data[position:]:
        total = _rotated(total + byte * _PRIME_5, 11) * _PRIME_1
    total &= _32_BITS
    total = (total ^ total >> 15) * _PRIME_2 & _32_BITS
    total = (total ^ total >> 13) * _PRIME_3 & _32_BITS
    return total ^ total >> 16


# Zstandard

# As Kafka's own library has it. The memory for a window is touched only as far as it is filled.
_ZSTD_MAX_WINDOW: Final = 1 << 27


def _unpack_zstd(view: memoryview) -> Iterator[Buffer]:
    """Concatenated frames. The reader ends silently where a frame is cut short, so that is checked first."""
    position = 0
    while position < len(view):
        frame_end = _zstd_frame_end(view, position)
        reader = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW).stream_reader(view[position:frame_end])
        while True:
            try:
                piece = reader.read(PIECE_BYTES)
            except zstandard.ZstdError as error:
                raise _broken(error) from error
            if not piece:
                break
            yield piece
        position = frame_end


_ZSTD_MAGIC: Final = 0xFD2FB528
_ZSTD_SKIPPABLE: Final = 0x184D2A50
_ZSTD_RLE: Final = 1


def _zstd_frame_end(view: memoryview, position: int) -> int:
    end = len(view)
    if end - position < 8:
        raise _broken("the zstd stream is cut short")
    magic = int.from_bytes(view[position : position + 4], "little")
    if magic & ~0xF == _ZSTD_SKIPPABLE:
        position += 8 + int.from_bytes(view[position + 4 : position + 8], "little")
    elif magic != _ZSTD_MAGIC:
        raise _broken("this is not a zstd frame")
    else:
        descriptor = view[position + 4]
        single_segment = descriptor >> 5 & 1
        content_size = (single_segment, 2, 4, 8)[descriptor >> 6]
        position += 5 + (not single_segment) + (0, 1, 2, 4)[descriptor & 3] + content_size
        last = 0
        while not last:
            if end - position < 3:
                raise _broken("the zstd frame is cut short")
            block = view[position] | view[position + 1] << 8 | view[position + 2] << 16
            last = block & 1
            position += 3 + (1 if block >> 1 & 3 == _ZSTD_RLE else block >> 3)
        if descriptor & 4:
            position += 4
    if position > end:
        raise _broken("the zstd frame is cut short")
    return position
