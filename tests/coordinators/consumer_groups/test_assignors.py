"""The assignors: who gets what, and how little has to move."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.coordinators.consumer_groups.assignment import Assignor, Subscriber
from tidelog.coordinators.consumer_groups.group import Target
from tidelog.coordinators.consumer_groups.range_assignor import assign_ranges
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.coordinators.consumer_groups.uniform_assignor import assign_uniformly
from tidelog.model.ids import Uuid

ASSIGNORS: list[Assignor] = [assign_uniformly, assign_ranges]


def _id(topic: str) -> Uuid:
    return Uuid(topic.encode().ljust(16, b"."))


def _subscriber(
    member_id: str, topics: str, had: Mapping[str, list[int]] | None = None, instance: str | None = None
) -> Subscriber:
    """Topics have names of one letter."""
    target = frozenset(
        TopicIdPartition(_id(topic), number) for topic, numbers in (had or {}).items() for number in numbers
    )
    return Subscriber(member_id, instance, frozenset(_id(topic) for topic in topics), target)


def _shown(targets: Mapping[str, Target]) -> dict[str, list[str]]:
    return {
        member_id: [f"{bytes(topic_id)[:1].decode()}{number}" for topic_id, number in sorted(target)]
        for member_id, target in targets.items()
    }


@pytest.mark.parametrize(
    ("members", "counts", "expected"),
    [
        ([("a", "x"), ("b", "x")], {"x": 4}, {"a": ["x0", "x1"], "b": ["x2", "x3"]}),
        # The first get one more, of every topic: ranges of topics with the same number belong together.
        (
            [("a", "xy"), ("b", "xy")],
            {"x": 3, "y": 3},
            {"a": ["x0", "x1", "y0", "y1"], "b": ["x2", "y2"]},
        ),
        ([("a", "x"), ("b", "x"), ("c", "x")], {"x": 2}, {"a": ["x0"], "b": ["x1"], "c": []}),
        ([("a", "xy"), ("b", "y")], {"x": 2, "y": 2}, {"a": ["x0", "x1", "y0"], "b": ["y1"]}),
        ([("a", "")], {}, {"a": []}),
    ],
)
def test_ranges(members: list[tuple[str, str]], counts: dict[str, int], expected: dict[str, list[str]]) -> None:
    subscribers = [_subscriber(name, topics) for name, topics in members]
    assert _shown(assign_ranges(subscribers, {_id(topic): count for topic, count in counts.items()})) == expected


def test_static_members_come_first_and_by_instance() -> None:
    subscribers = [_subscriber("a", "x"), _subscriber("c", "x", instance="2"), _subscriber("d", "x", instance="1")]
    assert _shown(assign_ranges(subscribers, {_id("x"): 3})) == {"d": ["x0"], "c": ["x1"], "a": ["x2"]}


@pytest.mark.parametrize(
    ("members", "counts", "expected"),
    [
        # A new member gets its share of what the other has; no more than that moves.
        (
            [("a", "x", {"x": [0, 1, 2, 3]}), ("b", "x", {})],
            {"x": 4},
            {"a": ["x0", "x1"], "b": ["x2", "x3"]},
        ),
        # Who has more already keeps it, whoever comes first.
        (
            [("a", "x", {"x": [0]}), ("b", "x", {"x": [1, 2]})],
            {"x": 3},
            {"a": ["x0"], "b": ["x1", "x2"]},
        ),
        # A member has gone: the others share what it had.
        (
            [("a", "x", {"x": [0, 1]}), ("b", "x", {"x": [2, 3]})],
            {"x": 6},
            {"a": ["x0", "x1", "x4"], "b": ["x2", "x3", "x5"]},
        ),
        # Partitions and topics that no longer exist are nobody's.
        ([("a", "x", {"x": [0, 7], "z": [0]})], {"x": 1}, {"a": ["x0"]}),
        # Different subscriptions: b can only have x, so a takes y and leaves x to b.
        (
            [("a", "xy", {"x": [0, 1], "y": [0]}), ("b", "x", {})],
            {"x": 2, "y": 1},
            {"a": ["x0", "y0"], "b": ["x1"]},
        ),
        ([("a", "xy", {}), ("b", "y", {})], {"x": 3, "y": 2}, {"a": ["x0", "x1", "x2"], "b": ["y0", "y1"]}),
    ],
)
def test_uniform(
    members: list[tuple[str, str, dict[str, list[int]]]], counts: dict[str, int], expected: dict[str, list[str]]
) -> None:
    subscribers = [_subscriber(name, topics, had) for name, topics, had in members]
    assert _shown(assign_uniformly(subscribers, {_id(topic): count for topic, count in counts.items()})) == expected


def test_nobody_gets_nothing() -> None:
    assert assign_uniformly([], {}) == {}
    assert assign_ranges([], {}) == {}


# ----------------------------------------------------------------------------------------------------------------

TOPICS = "uvwxyz"


@st.composite
def groups(draw: st.DrawFn, *, same_topics: bool | None = None) -> tuple[list[Subscriber], dict[Uuid, int]]:
    counts = {_id(topic): draw(st.integers(1, 7)) for topic in TOPICS}
    same = draw(st.booleans()) if same_topics is None else same_topics
    names = [f"m{number}" for number in range(draw(st.integers(1, 7)))]
    common = draw(st.sets(st.sampled_from(TOPICS), min_size=1))
    free = [TopicIdPartition(topic_id, number) for topic_id, count in counts.items() for number in range(count + 2)]
    had = draw(st.lists(st.sampled_from([*names, None]), min_size=len(free), max_size=len(free)))
    members = []
    for name in names:
        topics = common if same else draw(st.sets(st.sampled_from(TOPICS)))
        target = frozenset(partition for partition, owner in zip(free, had, strict=True) if owner == name)
        instance = draw(st.sampled_from([None, f"i{name}"]))
        members.append(Subscriber(name, instance, frozenset(map(_id, topics)), target))
    subscribed = frozenset[Uuid]().union(*(member.topic_ids for member in members))
    return members, {topic_id: count for topic_id, count in counts.items() if topic_id in subscribed}


@pytest.mark.parametrize("assign", ASSIGNORS)
@given(group=groups())
def test_every_partition_goes_to_one_subscriber_of_its_topic(
    assign: Assignor, group: tuple[list[Subscriber], dict[Uuid, int]]
) -> None:
    members, counts = group
    targets = assign(members, counts)
    assert targets.keys() == {member.member_id for member in members}
    given_out = [partition for target in targets.values() for partition in target]
    everything = {TopicIdPartition(topic_id, number) for topic_id, count in counts.items() for number in range(count)}
    assert len(given_out) == len(everything)
    assert set(given_out) == everything
    for member in members:
        assert {partition.topic_id for partition in targets[member.member_id]} <= member.topic_ids


@pytest.mark.parametrize("assign", ASSIGNORS)
@given(group=groups(), data=st.data())
def test_the_order_of_members_makes_no_difference(
    assign: Assignor, group: tuple[list[Subscriber], dict[Uuid, int]], data: st.DataObject
) -> None:
    members, counts = group
    assert assign(data.draw(st.permutations(members)), counts) == assign(members, counts)


@pytest.mark.parametrize("assign", ASSIGNORS)
@given(group=groups())
def test_the_same_question_again_moves_nothing(
    assign: Assignor, group: tuple[list[Subscriber], dict[Uuid, int]]
) -> None:
    members, counts = group
    targets = assign(members, counts)
    again = [member._replace(target=targets[member.member_id]) for member in members]
    assert assign(again, counts) == targets


@given(group=groups())
def test_uniform_leaves_nothing_that_one_move_could_improve(group: tuple[list[Subscriber], dict[Uuid, int]]) -> None:
    members, counts = group
    targets = assign_uniformly(members, counts)
    for member in members:
        for partition in targets[member.member_id]:
            for other in members:
                if partition.topic_id in other.topic_ids:
                    assert len(targets[member.member_id]) - len(targets[other.member_id]) <= 1


@given(group=groups(same_topics=True))
def test_uniform_moves_only_what_must_move(group: tuple[list[Subscriber], dict[Uuid, int]]) -> None:
    members, counts = group
    targets = assign_uniformly(members, counts)
    least, extra = divmod(sum(counts.values()), len(members))
    valid = {
        member.member_id: {
            partition
            for partition in member.target
            if partition.topic_id in member.topic_ids and partition.partition < counts[partition.topic_id]
        }
        for member in members
    }
    # As many as allowed have one more than the least; all others give up what is above.
    surplus = sorted((max(len(had) - least, 0) for had in valid.values()), reverse=True)
    must_go = sum(surplus) - sum(1 for count in surplus[:extra] if count)
    gone = sum(len(had - targets[member_id]) for member_id, had in valid.items())
    assert gone == must_go
