"""What members of a classic group tell each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.consumer.group_protocol import (
    MemberSubscription,
    decode_assignment,
    decode_cooperative_user_data,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_cooperative_user_data,
    encode_sticky_user_data,
    encode_subscription,
)
from tidelog.model.ids import TopicPartition


def test_subscriptions_survive_the_way_over_the_coordinator() -> None:
    subscription = MemberSubscription(
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
    newest = encode_subscription(MemberSubscription(topics=("t",)))
    assert decode_subscription(b"\x00\x09" + newest[2:] + b"more").topics == ("t",)
    # Version 1 of an assignment: t-0 and t-2.
    assert decode_assignment(bytes.fromhex("0001 00000001 0001 74 00000002 00000000 00000002 ffffffff")) == (
        TopicPartition("t", 0),
        TopicPartition("t", 2),
    )


def test_what_the_sticky_assignor_remembers_has_the_bytes_of_java() -> None:
    """STICKY_ASSIGNOR_USER_DATA_V1: topics with their partitions, then the generation."""
    partitions = (TopicPartition("t", 0), TopicPartition("t", 2), TopicPartition("u", 1))
    encoded = bytes.fromhex("00000002 0001 74 00000002 00000000 00000002 0001 75 00000001 00000001 00000009")
    assert encode_sticky_user_data(partitions, 9) == encoded
    assert decode_sticky_user_data(encoded) == (partitions, 9)
    assert decode_sticky_user_data(encoded[:-4]) == (partitions, -1), "version 0 has no generation"
    assert encode_sticky_user_data((), -1) is None, "before the first assignment there is nothing to remember"


@given(st.none() | st.binary(max_size=60))
def test_memories_that_nobody_understands_do_no_harm(data: bytes | None) -> None:
    partitions, generation = decode_sticky_user_data(data)
    assert generation >= -(2**31)
    assert all(isinstance(partition, TopicPartition) for partition in partitions)
    assert isinstance(decode_cooperative_user_data(data), int)


def test_the_cooperative_assignor_remembers_its_generation() -> None:
    assert encode_cooperative_user_data(7) == b"\x00\x00\x00\x07"
    assert decode_cooperative_user_data(encode_cooperative_user_data(7)) == 7
    assert decode_cooperative_user_data(None) == -1
