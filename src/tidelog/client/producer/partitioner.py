"""Which partition a record goes to, if its sender does not say. The option `partitioner` chooses among these:

    uniform-sticky  the default (KIP-794): keys by hash; without key one partition until about a batch.size of bytes
                    is in it, then another one. Each partition gets the same share, however slow its leader is.
    sticky          KIP-480: keys by hash; without key one partition until its batch is closed, then another one.
    round-robin     one partition after the other, with and without keys.
    hash            keys by hash; without key any partition.

The hash of a key is murmur2, as Kafka's Java client computes it, so that producers of both kinds put equal keys into
equal partitions. Filling one batch at a time makes fewer and fuller requests than dealing records out one by one.
Users may bring their own: a `Partitioner`, or a plain function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mypy_extensions import mypyc_attr

from tidelog.model.ports import Randomness
from tidelog.records.implementation import hashing

murmur2 = hashing.murmur2

# (topic, key, value, number of partitions) -> partition
PartitionFunction = Callable[[str, bytes | None, bytes | None, int], int]


def partition_for_key(key: bytes, partition_count: int) -> int:
    # Java clears the sign bit before it takes the remainder.
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class Partitioner(Protocol):
    """Chooses partitions for one producer; users may bring their own, or derive one from those below."""

    def partition(self, topic: str, key: bytes | None, size: int, available: Sequence[int], count: int) -> int:
        """A partition below `count`. `size` is the record's in bytes.

        `available` are the partitions that have a leader now; empty if all have one.
        """
        ...


@mypyc_attr(allow_interpreted_subclasses=True)
class StickyPartitioner:
    """Keys by hash; the rest stays with a partition until its batch is closed (KIP-480).

    A record that does not fit into the batch any more is asked about again after that.
    """

    def __init__(self, randomness: Randomness, *, ignore_keys: bool = False) -> None:
        self._randomness = randomness
        self._ignore_keys = ignore_keys
        self._current: dict[str, int] = {}
        # The partition whose batch was closed last, by topic: not taken again if there is another one.
        self._left: dict[str, int] = {}

    def partition(self, topic: str, key: bytes | None, size: int, available: Sequence[int], count: int) -> int:
        if key is not None and not self._ignore_keys:
            return partition_for_key(key, count)
        current = self._current.get(topic)
        if current is None or current >= count or (available and current not in available):
            left = self._left.get(topic, -1) if current is None else current
            current = _another(self._randomness, left, available or range(count))
            self._current[topic] = current
        return current

    def batch_closed(self, topic: str, partition: int) -> None:
        if self._current.get(topic) == partition:
            self._left[topic] = self._current.pop(topic)


# A batch is closed when the next record does not fit, so a full one is somewhat smaller than batch.size.
_ENOUGH = 0.75


class _Run:
    __slots__ = ("partition", "used")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.used = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class UniformStickyPartitioner:
    """The default: keys by hash, the rest in runs of about `run_bytes` (KIP-794).

    A run ends with a batch, because the rest of a batch would go as a small one; but at the latest when it is twice as
    long, because records with keys may keep a batch open.
    """

    def __init__(self, randomness: Randomness, run_bytes: int, *, ignore_keys: bool = False) -> None:
        self._randomness = randomness
        self._run_bytes = max(run_bytes, 1)
        self._ignore_keys = ignore_keys
        self._runs: dict[str, _Run] = {}

    def partition(self, topic: str, key: bytes | None, size: int, available: Sequence[int], count: int) -> int:
        if key is not None and not self._ignore_keys:
            return partition_for_key(key, count)
        run = self._runs.get(topic)
        if run is None or run.partition >= count or run.used >= 2 * self._run_bytes:
            run = self._next(topic, run, available or range(count))
        elif available and run.partition not in available:
            run = self._next(topic, run, available)
        run.used += size
        return run.partition

    def batch_closed(self, topic: str, partition: int) -> None:
        run = self._runs.get(topic)
        if run is not None and run.partition == partition and run.used >= self._run_bytes * _ENOUGH:
            # The next record chooses: only then it is known which partitions have leaders.
            run.used = 2 * self._run_bytes

    def _next(self, topic: str, before: _Run | None, candidates: Sequence[int]) -> _Run:
        run = _Run(_another(self._randomness, -1 if before is None else before.partition, candidates))
        self._runs[topic] = run
        return run


@mypyc_attr(allow_interpreted_subclasses=True)
class RoundRobinPartitioner:
    """One after the other, as Java's: keys do not count. Starts anywhere, so that producers do not go in step."""

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        self._turns: dict[str, int] = {}

    def partition(self, topic: str, key: bytes | None, size: int, available: Sequence[int], count: int) -> int:
        turn = self._turns.get(topic)
        if turn is None:
            turn = self._randomness.below(count)
        self._turns[topic] = turn + 1
        return available[turn % len(available)] if available else turn % count


@mypyc_attr(allow_interpreted_subclasses=True)
class HashPartitioner:
    """Keys by hash, records without key anywhere."""

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness

    def partition(self, topic: str, key: bytes | None, size: int, available: Sequence[int], count: int) -> int:
        if key is not None:
            return partition_for_key(key, count)
        if available:
            return available[self._randomness.below(len(available))]
        return self._randomness.below(count)


def make_partitioner(name: str, randomness: Randomness, *, run_bytes: int, ignore_keys: bool) -> Partitioner:
    match name:
        case "sticky":
            return StickyPartitioner(randomness, ignore_keys=ignore_keys)
        case "round-robin":
            return RoundRobinPartitioner(randomness)
        case "hash":
            return HashPartitioner(randomness)
        case _:
            return UniformStickyPartitioner(randomness, run_bytes, ignore_keys=ignore_keys)


def _another(randomness: Randomness, current: int, candidates: Sequence[int]) -> int:
    others = [candidate for candidate in candidates if candidate != current]
    if not others:
        return candidates[0]
    return others[randomness.below(len(others))]
