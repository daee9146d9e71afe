"""Partitioning, against hashes and partitions that Kafka's Java client computed (tools/Murmur2Vectors.java)."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections import Counter
from pathlib import Path

import pytest

from tidelog.client.options import PARTITIONERS
from tidelog.client.producer.batches import Accumulator, ProducerBatch
from tidelog.client.producer.partitioner import (
    HashPartitioner,
    RoundRobinPartitioner,
    StickyPartitioner,
    UniformStickyPartitioner,
    make_partitioner,
    murmur2,
    partition_for_key,
)
from tidelog.model.ids import TopicPartition
from tidelog.network.system import SystemRandomness

VECTORS = Path(__file__).with_name("murmur2_vectors.csv")


class Seeded(SystemRandomness):
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, bound: int) -> int:
        return self._random.randrange(bound)


def key_of(number: int) -> bytes:
    """As the Java program makes them: 0 to 64 bytes that look random."""
    return hashlib.sha512(str(number).encode()).digest()[: number % 65]


def test_hashes_and_partitions_equal_those_of_the_java_client() -> None:
    lines = VECTORS.read_text().splitlines()
    assert len(lines) == 10_000
    for number, line in enumerate(lines):
        expected_hash, expected_partition = line.split(",")
        key = key_of(number)
        assert murmur2(key) == int(expected_hash, 16), key
        assert partition_for_key(key, 1 + number % 97) == int(expected_partition), key


def test_the_sign_of_a_hash_does_not_matter() -> None:
    # Java: toPositive(murmur2("21")) = -973932308 & 0x7fffffff = 1173551340.
    assert murmur2(b"21") == -973932308 % 2**32
    assert partition_for_key(b"21", 7) == 1173551340 % 7


def test_equal_keys_go_to_equal_partitions() -> None:
    partitioner = UniformStickyPartitioner(Seeded(1), 100)
    for count in (1, 3, 50):
        chosen = {partitioner.partition("t", b"customer-7", 500, (), count) for _ in range(20)}
        assert chosen == {partition_for_key(b"customer-7", count)}


def runs_of(chosen: list[int]) -> list[int]:
    return [len(list(group)) for _, group in itertools.groupby(chosen)]


class Filled:
    """A partitioner and an accumulator, together as the producer has them."""

    def __init__(self, partitioner: StickyPartitioner | UniformStickyPartitioner, batch_size: int = 1000) -> None:
        self.partitioner = partitioner
        self.accumulator = Accumulator(batch_size=batch_size, linger_ms=1000)
        self.accumulator.on_closed = lambda partition: partitioner.batch_closed(partition.topic, partition.partition)
        self.batches: dict[ProducerBatch, None] = {}

    def send(self, size: int, key: bytes | None = None, count: int = 6) -> int:
        target = TopicPartition("t", self.partitioner.partition("t", key, size, (), count))
        if self.accumulator.close_if_full(target, size):
            target = TopicPartition("t", self.partitioner.partition("t", key, size, (), count))
        batch, _ = self.accumulator.append(target, (0, key, b"", ()), size, lambda: 0.0)
        self.batches[batch] = None
        return target.partition

    def linger(self) -> None:
        """Send what there is."""
        for batch in list(self.accumulator.heads()):
            self.accumulator.take(batch)


@pytest.mark.parametrize("kind", [StickyPartitioner, UniformStickyPartitioner])
def test_records_without_key_fill_one_batch_after_the_other(kind: type) -> None:
    partitioner = kind(Seeded(1)) if kind is StickyPartitioner else kind(Seeded(1), 1000)
    filled = Filled(partitioner)
    chosen = [filled.send(97) for _ in range(3001)]
    # The header takes 61 of 1000 bytes, so nine records fit.
    assert {batch.record_count for batch in filled.batches if not batch.open} == {9}
    assert set(runs_of(chosen)[:-1]) == {9}


def test_a_batch_that_went_early_does_not_end_a_uniform_run() -> None:
    filled = Filled(UniformStickyPartitioner(Seeded(1), 1000))
    chosen = []
    for _ in range(40):
        chosen += [filled.send(100) for _ in range(6)]
        filled.linger()
    assert set(runs_of(chosen)) == {12}, "600 bytes are too few, 1200 bytes are enough"
    assert {batch.record_count for batch in filled.batches} == {6}, "no batch was cut in two"


def test_a_batch_that_went_early_ends_a_sticky_run() -> None:
    filled = Filled(StickyPartitioner(Seeded(1)))
    chosen = []
    for _ in range(40):
        chosen += [filled.send(100) for _ in range(6)]
        filled.linger()
    assert set(runs_of(chosen)) == {6}


def test_a_uniform_run_ends_at_twice_its_size_at_the_latest() -> None:
    partitioner = UniformStickyPartitioner(Seeded(1), 1000)
    assert set(runs_of([partitioner.partition("t", None, 100, (), 6) for _ in range(300)])) == {20}


def test_records_without_key_spread_evenly_over_uniform_runs() -> None:
    filled = Filled(UniformStickyPartitioner(Seeded(1), 1000))
    counts = Counter(filled.send(300) for _ in range(60_000))
    assert set(counts) == set(range(6))
    assert all(8_000 < count < 12_000 for count in counts.values())


def test_records_with_keys_do_not_move_the_others() -> None:
    filled = Filled(UniformStickyPartitioner(Seeded(1), 100_000), batch_size=100_000)
    first = filled.send(100)
    for number in range(300):
        filled.send(100, key=b"%d" % number)
        assert filled.send(100) == first


def test_round_robin_goes_around_whatever_the_key() -> None:
    partitioner = RoundRobinPartitioner(Seeded(5))
    keys = (None, b"same", b"same", b"other")
    chosen = [partitioner.partition("t", keys[number % 4], 10, (), 6) for number in range(60)]
    assert {(after - before) % 6 for before, after in itertools.pairwise(chosen)} == {1}
    assert [partitioner.partition("u", None, 10, [1, 4], 6) for _ in range(40)].count(4) == 20


def test_round_robin_starts_anywhere() -> None:
    starts = {RoundRobinPartitioner(Seeded(seed)).partition("t", None, 10, (), 6) for seed in range(60)}
    assert starts == set(range(6))


def test_hash_puts_records_without_key_anywhere() -> None:
    partitioner = HashPartitioner(Seeded(1))
    assert {partitioner.partition("t", None, 10, (), 6) for _ in range(100)} == set(range(6))
    assert {partitioner.partition("t", None, 10, [2, 3], 6) for _ in range(100)} == {2, 3}
    assert {partitioner.partition("t", b"k", 10, (), 6) for _ in range(10)} == {partition_for_key(b"k", 6)}


@pytest.mark.parametrize("name", PARTITIONERS)
def test_every_name_makes_its_partitioner(name: str) -> None:
    partitioner = make_partitioner(name, Seeded(1), run_bytes=1000, ignore_keys=False)
    by_key = {partitioner.partition("t", b"key", 10, (), 50) for _ in range(20)}
    assert by_key == {partition_for_key(b"key", 50)} or name == "round-robin"
    assert all(0 <= partitioner.partition("t", None, 10, (), 3) < 3 for _ in range(50))


def test_a_topic_that_lost_partitions_keeps_records_within_it() -> None:
    for partitioner in (StickyPartitioner(Seeded(1)), UniformStickyPartitioner(Seeded(1), 10**6)):
        assert {partitioner.partition("t", None, 10, [49], 50) for _ in range(5)} == {49}
        assert partitioner.partition("t", None, 10, (), 3) < 3


def test_partitions_without_a_leader_are_left_out() -> None:
    partitioner = UniformStickyPartitioner(Seeded(1), 10)
    assert {partitioner.partition("t", None, 100, [1, 4], 6) for _ in range(50)} == {1, 4}
    assert {StickyPartitioner(Seeded(seed)).partition("t", None, 100, [1, 4], 6) for seed in range(50)} == {1, 4}
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
