"""The hash by which Kafka's clients choose a partition for a key: murmur2, as the Java client computes it.

Compiled where a C compiler is available: `hashing.pxd` gives the variables their C types. In plain Python the masks
keep numbers within 32 bits, in C they cost nothing. It is used in `tidelog.client.producer.partitioner`, and for
columns of keys in `tidelog.records.columns`.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 0x9747B28C
_M = 0x5BD1E995


def murmur2(key: bytes) -> int:
    """The 32-bit hash with the seed that Kafka uses, as an unsigned number."""
    return _murmur2(key, 0, len(key))


def hash_rows(
    validity: memoryview | None,
    offsets: memoryview,
    data: memoryview,
    first: int,
    count: int,
    partition_count: int,
    partitions: memoryview,
) -> None:
    """Write the partition of each key into `partitions` (int32), unless it has one; -1 stays where the key is null."""
    size = len(data)
    for row in range(count):
        if partitions[row] >= 0:
            continue
        index = first + row
        if validity is None or validity[index >> 3] >> (index & 7) & 1:
            start = offsets[index]
            length = offsets[index + 1] - start
            if start < 0 or length < 0 or start + length > size:
                raise ValueError(f"key {row} cannot be the {length} bytes from {start} of {size}")
            # Java clears the sign bit before it takes the remainder.
            partitions[row] = (_murmur2(data, start, length) & 0x7FFFFFFF) % partition_count


def _murmur2(data: bytes | memoryview, start: int, length: int) -> int:
    h = _SEED ^ length
    position = start
    whole = start + (length & ~3)
    while position < whole:
        k = data[position] | data[position + 1] << 8 | data[position + 2] << 16 | data[position + 3] << 24
        k = k * _M & _MASK
        k ^= k >> 24
        h = (h * _M & _MASK) ^ (k * _M & _MASK)
        position += 4
    rest = length & 3
    if rest:
        if rest == 3:
            h ^= data[position + 2] << 16
        if rest >= 2:
            h ^= data[position + 1] << 8
        h ^= data[position]
        h = h * _M & _MASK
    h ^= h >> 13
    h = h * _M & _MASK
    return h ^ h >> 15
