"""Dividing partitions among members, and what members tell each other about it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.assignors import assign_ranges
from tidelog.client.group_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tidelog.model.ids import TopicPartition


def wants(*topics: str) -> Subscription:
    return Subscription(topics=topics)


def numbers(assignment: dict[str, list[TopicPartition]]) -> dict[str, list[str]]:
    return {member: [str(partition) for partition in partitions] for member, partitions in assignment.items()}


def test_ranges_are_neighbouring_and_the_first_members_get_more() -> None:
    assignment = assign_ranges({"b": wants("t"), "a": wants("t"), "c": wants("t")}, {"t": 7})
    assert numbers(assignment) == {"a": ["t-0", "t-1", "t-2"], "b": ["t-3", "t-4"], "c": ["t-5", "t-6"]}


def test_topics_are_divided_alike() -> None:
    assignment = assign_ranges({"a": wants("x", "y"), "b": wants("x", "y")}, {"x": 2, "y": 2})
    assert numbers(assignment) == {"a": ["x-0", "y-0"], "b": ["x-1", "y-1"]}


def test_members_get_only_what_they_subscribe_to() -> None:
    assignment = assign_ranges({"a": wants("x"), "b": wants("x", "y"), "c": wants("missing")}, {"x": 1, "y": 2})
    assert numbers(assignment) == {"a": ["x-0"], "b": ["y-0", "y-1"], "c": []}


@given(
    members=st.dictionaries(
        st.text("abcdef", min_size=1, max_size=3), st.sets(st.sampled_from("xyz"), min_size=1), min_size=1, max_size=8
    ),
    counts=st.dictionaries(st.sampled_from("xyz"), st.integers(0, 12)),
)
def test_every_wanted_partition_has_exactly_one_owner(members: dict[str, set[str]], counts: dict[str, int]) -> None:
    assignment = assign_ranges({member: wants(*topics) for member, topics in members.items()}, counts)
    owned = [partition for partitions in assignment.values() for partition in partitions]
    wanted = {topic for topics in members.values() for topic in topics}
    expected = {TopicPartition(topic, n) for topic in wanted & set(counts) for n in range(counts[topic])}
    assert len(owned) == len(set(owned))
    assert set(owned) == expected
    for topic in expected and {partition.topic for partition in expected}:
        shares = [sum(p.topic == topic for p in assignment[m]) for m, topics in members.items() if topic in topics]
        assert max(shares) - min(shares) <= 1


def test_subscriptions_survive_the_way_over_the_coordinator() -> None:
    subscription = Subscription(
        topics=("a", "b"), owned=(TopicPartition("a", 0), TopicPartition("a", 3)), generation=7, rack="r1"
    )
    assert decode_subscription(encode_subscription(subscription)) == subscription


def test_assignments_survive_the_way_over_the_coordinator() -> None:
    partitions = (TopicPartition("a", 0), TopicPartition("a", 3), TopicPartition("b", 1))
    assert decode_assignment(encode_assignment(partitions)) == partitions
    assert decode_assignment(b"") == ()


def test_messages_of_other_makes_are_understood() -> None:
    # kafka-python 3, version 0: topics ["t"], no user data.
    assert decode_subscription(bytes.fromhex("0000 00000001 0001 74 ffffffff")).topics == ("t",)
    # A version of the future, with fields that nobody knows here.
    newest = encode_subscription(wants("t"))
    assert decode_subscription(b"\x00\x09" + newest[2:] + b"more").topics == ("t",)
    # Version 1 of an assignment: t-0 and t-2.
    assert decode_assignment(bytes.fromhex("0001 00000001 0001 74 00000002 00000000 00000002 ffffffff")) == (
        TopicPartition("t", 0),
        TopicPartition("t", 2),
    )
