"""Which partition a record goes to, if its sender does not say.

Records with a key: murmur2 of the key, as Kafka's Java client computes it, so that producers of both kinds put equal
keys into equal partitions. Records without: one partition after the other, staying with each for about a batch
(KIP-480, KIP-794). Filling one batch at a time makes fewer and fuller requests than dealing records out one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidelog.model.ports import Randomness

_MASK = 0xFFFFFFFF
_SEED = 0x9747B28C
_M = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """The 32-bit hash with the seed that Kafka uses, as an unsigned number."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for position in range(0, whole, 4):
        k = int.from_bytes(data[position : position + 4], "little") * _M & _MASK
        k ^= k >> 24
        h = (h * _M & _MASK) ^ (k * _M & _MASK)
    rest = data[whole:]
    if rest:
        h ^= int.from_bytes(rest, "little")
        h = h * _M & _MASK
    h ^= h >> 13
    h = h * _M & _MASK
    return h ^ h >> 15


def partition_for_key(key: bytes, partition_count: int) -> int:
    # Java clears the sign bit before it takes the remainder.
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class Partitioner(Protocol):
    """Chooses partitions for one producer; users may bring their own."""

    def partition(self, topic: str, key: bytes | None, size: int, available: Sequence[int], count: int) -> int:
        """A partition below `count`. `size` is the record's in bytes.

        `available` are the partitions that have a leader now; empty if all have one.
        """
        ...


class UniformStickyPartitioner:
    """The default: keys by hash, the rest in runs of about `run_bytes`."""

    def __init__(self, randomness: Randomness, run_bytes: int, *, ignore_keys: bool = False) -> None:
        self._randomness = randomness
        self._run_bytes = max(run_bytes, 1)
        self._ignore_keys = ignore_keys
        # Topic to the partition of the current run and the bytes that it has got.
        self._runs: dict[str, tuple[int, int]] = {}

    def partition(self, topic: str, key: bytes | None, size: int, available: Sequence[int], count: int) -> int:
        if key is not None and not self._ignore_keys:
            return partition_for_key(key, count)
        current, used = self._runs.get(topic, (-1, 0))
        candidates = available or range(count)
        if not 0 <= current < count or used >= self._run_bytes or (available and current not in available):
            current, used = self._next(current, candidates), 0
        self._runs[topic] = (current, used + size)
        return current

    def _next(self, current: int, candidates: Sequence[int]) -> int:
        others = [candidate for candidate in candidates if candidate != current]
        if not others:
            return candidates[0]
        return others[self._randomness.below(len(others))]
