"""Dividing partitions among members: what holds for every strategy, and what each promises beyond it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.consumer.assignors import ASSIGNORS, assign_ranges, assign_round_robin
from tidelog.client.consumer.group_protocol import MemberSubscription, encode_sticky_user_data
from tidelog.client.consumer.sticky import assign_cooperatively, assign_sticky
from tidelog.model.ids import TopicPartition

Assignment = dict[str, list[TopicPartition]]


def wants(*topics: str, instance_id: str | None = None) -> MemberSubscription:
    return MemberSubscription(topics=topics, instance_id=instance_id)


def numbers(assignment: Assignment) -> dict[str, list[str]]:
    return {member: [str(partition) for partition in partitions] for member, partitions in assignment.items()}


def remembering(
    assignment: Assignment, subscriptions: Mapping[str, MemberSubscription]
) -> dict[str, MemberSubscription]:
    """The same members in the next generation of a sticky group."""
    return {
        member: replace(wanted, user_data=encode_sticky_user_data(assignment.get(member, ()), 1))
        for member, wanted in subscriptions.items()
    }


MEMBERS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.builds(lambda topics: wants(*sorted(topics)), st.sets(st.sampled_from("wxyz"), min_size=1)),
    min_size=1,
    max_size=8,
)
COUNTS = st.dictionaries(st.sampled_from("wxyz"), st.integers(0, 12))
EQUAL_MEMBERS = st.integers(1, 7).map(lambda count: {f"m{number}": wants("w", "x") for number in range(count)})


# -- for every strategy ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASSIGNORS)
@given(members=MEMBERS, counts=COUNTS)
def test_every_wanted_partition_has_exactly_one_owner_who_wants_it(
    name: str, members: dict[str, MemberSubscription], counts: dict[str, int]
) -> None:
    assignment = ASSIGNORS[name].assign(members, counts)
    assert set(assignment) == set(members)
    owned = [partition for partitions in assignment.values() for partition in partitions]
    wanted = {topic for member in members.values() for topic in member.topics}
    assert sorted(owned) == sorted(TopicPartition(t, n) for t in wanted & set(counts) for n in range(counts[t]))
    for member, partitions in assignment.items():
        assert {partition.topic for partition in partitions} <= set(members[member].topics)


@pytest.mark.parametrize("name", ASSIGNORS)
@given(members=MEMBERS, counts=COUNTS)
def test_static_members_get_the_same_again_under_new_member_ids(
    name: str, members: dict[str, MemberSubscription], counts: dict[str, int]
) -> None:
    before = {member: replace(wanted, instance_id=f"i-{member}") for member, wanted in members.items()}
    # The order of the member ids is turned around; that of the instance ids stays.
    after = {f"{999 - n}-{member}": before[member] for n, member in enumerate(sorted(before))}
    first, second = ASSIGNORS[name].assign(before, counts), ASSIGNORS[name].assign(after, counts)
    assert {members_id.partition("-")[2]: owned for members_id, owned in second.items()} == first


def test_static_members_come_first() -> None:
    members = {"a": wants("t"), "z": wants("t", instance_id="i")}
    assert numbers(assign_ranges(members, {"t": 1})) == {"a": [], "z": ["t-0"]}


# -- range and round-robin -------------------------------------------------------------------------------------------


def test_ranges_are_neighbouring_and_the_first_members_get_more() -> None:
    assignment = assign_ranges({"b": wants("t"), "a": wants("t"), "c": wants("t")}, {"t": 7})
    assert numbers(assignment) == {"a": ["t-0", "t-1", "t-2"], "b": ["t-3", "t-4"], "c": ["t-5", "t-6"]}


def test_ranges_of_topics_are_divided_alike() -> None:
    assignment = assign_ranges({"a": wants("x", "y"), "b": wants("x", "y")}, {"x": 2, "y": 2})
    assert numbers(assignment) == {"a": ["x-0", "y-0"], "b": ["x-1", "y-1"]}


@given(members=MEMBERS, counts=COUNTS)
def test_shares_of_one_topic_differ_by_one_at_most(
    members: dict[str, MemberSubscription], counts: dict[str, int]
) -> None:
    assignment = assign_ranges(members, counts)
    for topic in counts:
        shares = [
            sum(p.topic == topic for p in assignment[m]) for m, wanted in members.items() if topic in wanted.topics
        ]
        assert not shares or max(shares) - min(shares) <= 1


def test_round_robin_deals_out_all_topics_in_one_round() -> None:
    # The example in the documentation of Java's RoundRobinAssignor.
    assignment = assign_round_robin({"c0": wants("t0", "t1"), "c1": wants("t0", "t1")}, {"t0": 3, "t1": 3})
    assert numbers(assignment) == {"c0": ["t0-0", "t0-2", "t1-1"], "c1": ["t0-1", "t1-0", "t1-2"]}


def test_round_robin_passes_over_members_who_do_not_want_a_topic() -> None:
    members = {"c0": wants("t0"), "c1": wants("t0", "t1"), "c2": wants("t0", "t1", "t2")}
    assignment = assign_round_robin(members, {"t0": 1, "t1": 2, "t2": 3})
    assert numbers(assignment) == {"c0": ["t0-0"], "c1": ["t1-0"], "c2": ["t1-1", "t2-0", "t2-1", "t2-2"]}


# -- sticky ----------------------------------------------------------------------------------------------------------


def test_sticky_is_more_even_than_round_robin_where_members_want_different_topics() -> None:
    members = {"c0": wants("t0"), "c1": wants("t0", "t1"), "c2": wants("t0", "t1", "t2")}
    assignment = assign_sticky(members, {"t0": 1, "t1": 2, "t2": 3})
    assert numbers(assignment) == {"c0": ["t0-0"], "c1": ["t1-0", "t1-1"], "c2": ["t2-0", "t2-1", "t2-2"]}


def test_sticky_passes_partitions_on_through_members_between() -> None:
    """Nothing that `full` has is wanted by `empty`, but `between` wants both."""
    members = {"full": wants("x"), "between": wants("x", "y"), "empty": wants("y")}
    before = {
        "full": [TopicPartition("x", n) for n in range(4)],
        "between": [TopicPartition("y", n) for n in range(3)],
        "empty": [TopicPartition("y", n) for n in range(3, 5)],
    }
    assignment = assign_sticky(remembering(before, members), {"x": 4, "y": 5})
    assert {member: len(partitions) for member, partitions in assignment.items()} == dict.fromkeys(members, 3)


@given(members=MEMBERS, counts=COUNTS, old_counts=COUNTS, data=st.data())
def test_sticky_is_as_even_as_can_be_from_any_past(
    members: dict[str, MemberSubscription], counts: dict[str, int], old_counts: dict[str, int], data: st.DataObject
) -> None:
    past: Assignment = {}
    for topic, count in old_counts.items():
        for number in range(count):
            owner = data.draw(st.sampled_from([*sorted(members), "gone"]))
            past.setdefault(owner, []).append(TopicPartition(topic, number))
    assignment = assign_sticky(remembering(past, members), counts)
    loads = {member: len(partitions) for member, partitions in assignment.items()}
    for giver, partitions in assignment.items():
        for taker, wanted in members.items():
            if any(partition.topic in wanted.topics for partition in partitions):
                assert loads[giver] - loads[taker] <= 1, "one move would make it more even"


@given(members=MEMBERS, counts=COUNTS)
def test_sticky_moves_nothing_without_need(members: dict[str, MemberSubscription], counts: dict[str, int]) -> None:
    first = assign_sticky(members, counts)
    assert assign_sticky(remembering(first, members), counts) == first


@given(members=EQUAL_MEMBERS, counts=COUNTS)
def test_sticky_survivors_keep_what_they_have(members: dict[str, MemberSubscription], counts: dict[str, int]) -> None:
    first = assign_sticky(members, counts)
    left = {member: wanted for member, wanted in members.items() if member != "m0"}
    second = assign_sticky(remembering(first, left), counts)
    for member in left:
        assert set(first[member]) <= set(second[member])


@given(members=EQUAL_MEMBERS, counts=COUNTS)
def test_sticky_newcomers_get_their_share_and_nothing_else_moves(
    members: dict[str, MemberSubscription], counts: dict[str, int]
) -> None:
    first = assign_sticky(members, counts)
    more = {**members, "newcomer": wants("w", "x")}
    second = assign_sticky(remembering(first, more), counts)
    for member in members:
        assert set(second[member]) <= set(first[member])
    total = counts.get("w", 0) + counts.get("x", 0)
    assert total // len(more) <= len(second["newcomer"]) <= -(-total // len(more))


def test_of_two_claims_the_later_generation_is_right() -> None:
    claimed = (TopicPartition("t", 0), TopicPartition("t", 1))
    members = {
        "a": replace(wants("t"), user_data=encode_sticky_user_data(claimed, 4)),
        "b": replace(wants("t"), user_data=encode_sticky_user_data(claimed[:1], 5)),
    }
    assert numbers(assign_sticky(members, {"t": 2})) == {"a": ["t-1"], "b": ["t-0"]}


def test_two_claims_of_one_generation_are_worth_nothing() -> None:
    members = {
        "a": MemberSubscription(topics=("t",), owned=(TopicPartition("t", 0),), generation=5),
        "b": MemberSubscription(topics=("t",), owned=(TopicPartition("t", 0),), generation=5),
        "c": MemberSubscription(topics=("t",), owned=(), generation=5),
    }
    given_now = assign_cooperatively(members, {"t": 1})
    assert sum(len(partitions) for partitions in given_now.values()) <= 1


# -- cooperative -----------------------------------------------------------------------------------------------------


def test_a_partition_that_changes_hands_is_given_to_nobody_at_first() -> None:
    owned = tuple(TopicPartition("t", n) for n in range(4))
    members = {"a": MemberSubscription(topics=("t",), owned=owned, generation=3), "b": wants("t")}
    first = assign_cooperatively(members, {"t": 4})
    assert numbers(first) == {"a": ["t-0", "t-1"], "b": []}
    members["a"] = replace(members["a"], owned=tuple(first["a"]), generation=4)
    assert numbers(assign_cooperatively(members, {"t": 4})) == {"a": ["t-0", "t-1"], "b": ["t-2", "t-3"]}


def test_generations_of_older_members_are_in_the_user_data() -> None:
    owned = (TopicPartition("t", 0),)
    members = {
        "a": MemberSubscription(topics=("t",), owned=owned, user_data=b"\x00\x00\x00\x07"),
        "b": MemberSubscription(topics=("t",), owned=owned, generation=6),
    }
    assert numbers(assign_cooperatively(members, {"t": 1})) == {"a": ["t-0"], "b": []}


@given(
    rounds=st.lists(st.sets(st.sampled_from(["m0", "m1", "m2", "m3"]), min_size=1), min_size=1, max_size=5),
    partitions=st.integers(0, 9),
)
def test_no_partition_ever_has_two_owners_and_two_rounds_are_enough(rounds: list[set[str]], partitions: int) -> None:
    """Members come and go; those who lose partitions join again, as KIP-429 has it."""
    owned: dict[str, set[TopicPartition]] = {}
    generation = 0
    for members in rounds:
        owned = {member: owned.get(member, set()) for member in members}
        for _ in range(2):
            generation += 1
            told = {
                member: MemberSubscription(
                    topics=("t",), owned=tuple(sorted(had)), generation=generation - 1 if had else -1
                )
                for member, had in owned.items()
            }
            assignment = assign_cooperatively(told, {"t": partitions})
            for member, now in assignment.items():
                others = set().union(*(had for other, had in owned.items() if other != member), set())
                assert not set(now) & others, "given to one while another still has it"
            owned = {member: set(now) for member, now in assignment.items()}
        spread = Counter({member: len(had) for member, had in owned.items()})
        assert sum(spread.values()) == partitions
        assert max(spread.values()) - min(spread.values()) <= 1
