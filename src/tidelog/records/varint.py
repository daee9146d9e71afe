"""Variable-length integers in Kafka's zigzag form, as the records inside a batch use them.

Lengths in the flexible versions of the protocol are another kind (unsigned) and live in `tidelog.protocol`.
"""

from __future__ import annotations

from itertools import chain

from tidelog.records.batch import CorruptBatch

# A 64-bit number takes at most ten bytes of seven bits.
_LAST_SHIFT = 63
_MOST_POSITIVE = (1 << 63) - 1


def encode_varint(value: int) -> bytes:
    """Small numbers of either sign are short: 0, -1, 1, -2 become 0, 1, 2, 3."""
    folded = value << 1 if value >= 0 else (-value << 1) - 1
    encoded = bytearray()
    while folded > 0x7F:
        encoded.append(folded & 0x7F | 0x80)
        folded >>= 7
    encoded.append(folded)
    return bytes(encoded)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """(value, position behind it). Raises CorruptBatch for what 64 bits cannot hold, IndexError at the end of `data`.

    Callers that read many of them catch the IndexError once, around all.
    """
    byte = data[position]
    position += 1
    folded = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        if shift > _LAST_SHIFT:
            raise CorruptBatch(position, "a number is longer than ten bytes")
        byte = data[position]
        position += 1
        folded |= (byte & 0x7F) << shift
        shift += 7
    value = (folded >> 1) ^ -(folded & 1)
    if not -_MOST_POSITIVE - 1 <= value <= _MOST_POSITIVE:
        raise CorruptBatch(position, f"the number {value} does not fit into 64 bits")
    return value, position


# Sizes and deltas are mostly small: looking up their bytes is several times faster than computing them.
# These are all that take one or two bytes; written out, because calling the function for each takes 8 ms of a start.
SMALL_VARINTS = (
    *(bytes((folded,)) for folded in range(0, 128, 2)),
    *(bytes((low, high)) for high in range(1, 128) for low in range(128, 256, 2)),
)
SMALL_VARINTS_COUNT = len(SMALL_VARINTS)

# The other way round: what one or two bytes mean, without their continuation bit.
SMALL_SIGNED = tuple(chain.from_iterable(zip(range(8_192), range(-1, -8_193, -1), strict=True)))
