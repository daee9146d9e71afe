"""Spreading partitions over nodes: even, complete, and with no move that is not needed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.cli.spreading import Replicas, spread
from tidelog.model.ids import TopicPartition

NODES = st.sets(st.integers(1, 6), min_size=1)


def topic(*replicas: Replicas, name: str = "orders") -> dict[TopicPartition, Replicas]:
    return {TopicPartition(name, number): each for number, each in enumerate(replicas)}


@st.composite
def topics(draw: st.DrawFn) -> dict[TopicPartition, Replicas]:
    found: dict[TopicPartition, Replicas] = {}
    for name in draw(st.sets(st.sampled_from(["a", "b", "c"]), min_size=1)):
        count = draw(st.integers(1, 3))
        replicas = st.permutations(range(1, 7)).map(lambda order, count=count: tuple(order[:count]))  # type: ignore[misc]
        found.update(topic(*draw(st.lists(replicas, min_size=1, max_size=9)), name=name))
    return found


@pytest.mark.parametrize(
    ("before", "nodes", "after"),
    [
        (topic((1,), (2,), (1,), (2,)), [1, 2], {}),
        (topic((1,), (1,)), [1, 2], topic((1,), (2,))),
        # Only as many move as have to.
        (topic((1,), (2,), (1,), (2,), (1,), (2,)), [1, 2, 3], topic((1,), (2,), (1,), (2,), (3,), (3,))),
        (topic((1,), (2,), (3,), (4,)), [1, 2], topic((1,), (2,), (1,), (2,))),
        # Where one node has to lead one partition more, it is one that leads it already.
        (topic((2,), (2,), (2,)), [1, 2], topic((2,), (2,), (1,))),
        (topic((1, 2), (1, 2)), [1, 2], topic((1, 2), (2, 1))),
        (topic((1, 2), (3, 1)), [2, 3], topic((2, 3), (3, 2))),
        # More replicas than nodes.
        (topic((1, 2, 3)), [3], topic((3,))),
    ],
)
def test_what_moves(
    before: dict[TopicPartition, Replicas], nodes: list[int], after: dict[TopicPartition, Replicas]
) -> None:
    changed = {partition: replicas for partition, replicas in after.items() if before[partition] != replicas}
    assert spread(before, nodes) == changed


@given(before=topics(), nodes=NODES)
def test_the_result_is_even_and_only_on_the_nodes(before: dict[TopicPartition, Replicas], nodes: set[int]) -> None:
    after = {**before, **spread(before, nodes)}
    assert after.keys() == before.keys()
    for partition, replicas in after.items():
        assert set(replicas) <= nodes
        assert len(set(replicas)) == len(replicas) == min(len(before[partition]), len(nodes))
    for name in {partition.topic for partition in before}:
        leads = Counter(replicas[0] for partition, replicas in after.items() if partition.topic == name)
        counts = [leads[node] for node in nodes]
        assert max(counts) - min(counts) <= 1


@given(before=topics(), nodes=NODES)
def test_what_is_spread_stays(before: dict[TopicPartition, Replicas], nodes: set[int]) -> None:
    assert spread({**before, **spread(before, nodes)}, nodes) == {}
