"""Partitioning, against hashes that Kafka's Java client computed (murmur2_vectors.csv, made with `Utils.murmur2`)."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path

from tidelog.client.partitioner import UniformStickyPartitioner, murmur2, partition_for_key
from tidelog.client.system import SystemRandomness

VECTORS = Path(__file__).with_name("murmur2_vectors.csv")


class Seeded(SystemRandomness):
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, bound: int) -> int:
        return self._random.randrange(bound)


def test_hashes_equal_those_of_the_java_client() -> None:
    checked = 0
    for line in VECTORS.read_text().splitlines()[1:]:
        key, expected = line.split(",")
        assert murmur2(bytes.fromhex(key)) == int(expected) % 2**32, key
        checked += 1
    assert checked == 10_000


def test_the_sign_of_a_hash_does_not_matter() -> None:
    # Java: toPositive(murmur2("21")) = -973932308 & 0x7fffffff = 1173551340.
    assert murmur2(b"21") == -973932308 % 2**32
    assert partition_for_key(b"21", 7) == 1173551340 % 7


def test_equal_keys_go_to_equal_partitions() -> None:
    partitioner = UniformStickyPartitioner(Seeded(1), 100)
    for count in (1, 3, 50):
        chosen = {partitioner.partition("t", b"customer-7", 500, (), count) for _ in range(20)}
        assert chosen == {partition_for_key(b"customer-7", count)}


def test_records_without_key_stay_with_a_partition_for_about_a_batch() -> None:
    partitioner = UniformStickyPartitioner(Seeded(1), 1000)
    chosen = [partitioner.partition("t", None, 100, (), 6) for _ in range(3000)]
    runs = [1]
    for before, after in itertools.pairwise(chosen):
        if before == after:
            runs[-1] += 1
        else:
            runs.append(1)
    assert set(runs) == {10}


def test_records_without_key_spread_evenly() -> None:
    partitioner = UniformStickyPartitioner(Seeded(1), 1000)
    counts = Counter(partitioner.partition("t", None, 500, (), 6) for _ in range(60_000))
    assert set(counts) == set(range(6))
    assert all(8_000 < count < 12_000 for count in counts.values())


def test_partitions_without_a_leader_are_left_out() -> None:
    partitioner = UniformStickyPartitioner(Seeded(1), 10)
    assert {partitioner.partition("t", None, 100, [1, 4], 6) for _ in range(50)} == {1, 4}
    assert {partitioner.partition("t", None, 100, [3], 6) for _ in range(5)} == {3}


def test_topics_have_runs_of_their_own() -> None:
    partitioner = UniformStickyPartitioner(Seeded(3), 1000)
    first = partitioner.partition("a", None, 10, (), 50)
    for _ in range(20):
        partitioner.partition("b", None, 900, (), 50)
    assert partitioner.partition("a", None, 10, (), 50) == first


def test_keys_can_be_ignored() -> None:
    partitioner = UniformStickyPartitioner(Seeded(1), 10, ignore_keys=True)
    assert len({partitioner.partition("t", b"same", 100, (), 6) for _ in range(100)}) == 6
