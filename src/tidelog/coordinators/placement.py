"""Which partition of a coordinator's topic a group or a transactional id belongs to.

Every broker and every tool must come to the same answer as Apache Kafka, whose formula is built on Java's string hash.
"""

from __future__ import annotations

from functools import lru_cache

_INT_BITS = 32
_INT_MASK = (1 << _INT_BITS) - 1
_SIGN_BIT = 1 << (_INT_BITS - 1)


def java_hash(text: str) -> int:
    """What `String.hashCode` gives in Java: a signed 32-bit number over the UTF-16 code units."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(units), 2):
        value = (31 * value + (units[index] << 8 | units[index + 1])) & _INT_MASK
    return value - (1 << _INT_BITS) if value & _SIGN_BIT else value


# Asked for each request of a group or a transaction, mostly about the same ones.
@lru_cache(maxsize=4096)
def partition_for(key: str, partition_count: int) -> int:
    """Java's smallest integer has no positive counterpart: Kafka's `abs` makes it 0."""
    value = java_hash(key)
    positive = 0 if value == -_SIGN_BIT else abs(value)
    return positive % partition_count
