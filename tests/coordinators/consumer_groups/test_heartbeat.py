"""Joining a consumer group, being in it, and what becomes of members that are out of step."""

from __future__ import annotations

from typing import Any

import pytest
from support.consumer_group_driver import Consumer, ConsumerDriver, settle
from support.group_driver import GROUP

from tidelog.coordinators.consumer_groups.states import ConsumerGroupState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest

ORDERS = {("orders", number) for number in range(4)}


def _first_request(**changes: Any) -> ConsumerGroupHeartbeatRequest:
    fields: dict[str, Any] = {
        "group_id": GROUP,
        "member_id": "a",
        "member_epoch": 0,
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    }
    return ConsumerGroupHeartbeatRequest(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "version", "problem"),
    [
        ({"member_id": ""}, 1, "MemberId"),
        ({"member_id": "", "member_epoch": 3}, 0, "MemberId"),
        ({"member_id": "", "member_epoch": -1}, 0, "MemberId"),
        ({"group_id": ""}, 1, "GroupId"),
        ({"instance_id": ""}, 1, "InstanceId"),
        ({"rack_id": ""}, 1, "RackId"),
        ({"rebalance_timeout_ms": -1}, 1, "RebalanceTimeoutMs"),
        ({"topic_partitions": None}, 1, "TopicPartitions"),
        ({"subscribed_topic_names": None}, 1, "SubscribedTopicNames"),
        ({"member_epoch": -2}, 1, "InstanceId"),
        ({"member_epoch": -3}, 1, "MemberEpoch"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_what_is_wrong(
    changes: dict[str, Any], version: int, problem: str
) -> None:
    driver = ConsumerDriver()
    reply = driver.ask(_first_request(**changes), version)
    assert reply.error_code == ErrorCode.INVALID_REQUEST
    assert problem in reply.error_message
    assert driver.log == []


def test_an_unknown_assignor_is_refused_and_the_known_ones_are_named() -> None:
    reply = ConsumerDriver().join_as("a", assignor="clever")
    assert reply.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert "'clever'" in reply.error_message
    assert "uniform, range" in reply.error_message


def test_the_only_member_gets_everything_at_once() -> None:
    driver = ConsumerDriver()
    reply = driver.join_as("a")
    assert (reply.error_code, reply.member_id, reply.member_epoch) == (0, "a", 2)
    assert reply.heartbeat_interval_ms == 5000
    assert [list(topic.partitions) for topic in reply.assignment.topic_partitions] == [[0, 1, 2, 3]]
    assert driver.consumer_group().state is ConsumerGroupState.STABLE


def test_up_to_version_0_the_coordinator_makes_up_the_id() -> None:
    driver = ConsumerDriver()
    reply = driver.ask(_first_request(member_id=""), 0)
    assert reply.error_code == 0
    assert reply.member_id
    assert set(driver.consumer_group().members) == {reply.member_id}


def test_a_heartbeat_with_nothing_new_writes_nothing_and_repeats_no_assignment() -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    # The first one after a change still has to find out that the topics are as the group knows them.
    driver.heartbeat_as("a", 2)
    written = len(driver.log)
    reply = driver.heartbeat_as("a", 2)
    assert (reply.error_code, reply.member_epoch, reply.assignment) == (0, 2, None)
    assert len(driver.log) == written


def test_a_member_that_says_everything_is_told_everything() -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    reply = driver.heartbeat_as("a", 2, owned=ORDERS, topics=["orders"], rebalance_ms=60_000)
    assert [list(topic.partitions) for topic in reply.assignment.topic_partitions] == [[0, 1, 2, 3]]


def test_a_second_member_waits_until_the_first_has_given_up() -> None:
    driver = ConsumerDriver()
    first, second = Consumer(driver, "a"), Consumer(driver, "b")
    first.join()
    assert second.join() == 0
    assert second.epoch == 3
    assert second.owned == set()
    assert first.beat() == 0
    assert first.epoch == 2, "in its old epoch it may still commit what it gives up"
    assert len(first.owned) == 2
    assert second.beat() == 0
    assert second.owned == set(), "the first has been told, but has not confirmed"
    assert first.beat() == 0
    assert first.epoch == 3
    assert second.beat() == 0
    assert second.owned == ORDERS - first.owned
    assert driver.consumer_group().state is ConsumerGroupState.STABLE


def test_those_who_stay_inherit_from_who_leaves() -> None:
    driver = ConsumerDriver()
    first, second = Consumer(driver, "a"), Consumer(driver, "b")
    first.join()
    second.join()
    settle([first, second])
    assert second.leave() == 0
    settle([first])
    assert first.owned == ORDERS
    assert set(driver.consumer_group().members) == {"a"}


def test_more_partitions_reach_the_members_with_their_next_heartbeats() -> None:
    driver = ConsumerDriver()
    first, second = Consumer(driver, "a"), Consumer(driver, "b")
    first.join()
    second.join()
    settle([first, second])
    before = first.owned | second.owned
    driver.set_topics(orders=6)
    settle([first, second])
    assert len(before) == 4
    assert first.owned | second.owned == {("orders", number) for number in range(6)}
    assert len(first.owned) == len(second.owned) == 3


def test_a_topic_that_comes_later_is_assigned_and_one_that_goes_is_given_up() -> None:
    driver = ConsumerDriver({"orders": 1})
    member = Consumer(driver, "a", topics=["orders", "returns"])
    member.join()
    assert member.owned == {("orders", 0)}
    driver.set_topics(orders=1, returns=2)
    settle([member])
    assert member.owned == {("orders", 0), ("returns", 0), ("returns", 1)}
    driver.set_topics(orders=1)
    settle([member])
    assert member.owned == {("orders", 0)}
    assert set(driver.named(driver.consumer_group().owners)) == {("orders", 0)}


def test_a_change_of_other_topics_is_nobodys_business() -> None:
    driver = ConsumerDriver()
    member = Consumer(driver, "a")
    member.join()
    driver.set_topics(orders=4, unrelated=7)
    member.beat()
    assert member.epoch == driver.consumer_group().epoch == 2


def test_a_member_can_change_its_subscription() -> None:
    driver = ConsumerDriver({"orders": 2, "returns": 2})
    member = Consumer(driver, "a")
    member.join()
    member.beat(topics=["returns"])
    settle([member])
    assert member.owned == {("returns", 0), ("returns", 1)}


@pytest.mark.parametrize(
    ("epoch", "owned", "code"),
    [
        (3, None, ErrorCode.NONE),
        (4, None, ErrorCode.FENCED_MEMBER_EPOCH),
        # One behind, because the reply was lost: accepted if it owns no more than it may.
        (2, {("orders", 0)}, ErrorCode.NONE),
        (2, set(), ErrorCode.NONE),
        (2, ORDERS, ErrorCode.FENCED_MEMBER_EPOCH),
        (2, None, ErrorCode.FENCED_MEMBER_EPOCH),
        (0, set(), ErrorCode.NONE),
    ],
)
def test_members_are_held_to_their_epoch(epoch: int, owned: set[tuple[str, int]] | None, code: ErrorCode) -> None:
    driver = ConsumerDriver()
    first, second = Consumer(driver, "a"), Consumer(driver, "b")
    first.join()
    second.join()
    settle([first, second])
    assert (first.epoch, first.owned) == (3, {("orders", 0), ("orders", 1)})
    reply = driver.join_as("a") if epoch == 0 else driver.heartbeat_as("a", epoch, owned=owned)
    assert reply.error_code == code


def test_two_epochs_behind_is_too_late() -> None:
    driver = ConsumerDriver({"orders": 1})
    member = Consumer(driver, "a")
    member.join()
    for count in (2, 3):
        driver.set_topics(orders=count)
        settle([member])
    assert member.epoch == 4
    assert driver.heartbeat_as("a", 2, owned=[]).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_that_joins_again_keeps_its_place() -> None:
    driver = ConsumerDriver()
    member = Consumer(driver, "a")
    member.join()
    driver.set_topics(orders=5)
    settle([member])
    assert member.join() == 0
    assert member.epoch == 3
    assert len(member.owned) == 5


@pytest.mark.parametrize("epoch", [1, -1])
def test_without_the_group_there_is_no_member(epoch: int) -> None:
    reply = ConsumerDriver().heartbeat_as("a", epoch)
    assert reply.error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [1, -1])
def test_an_unknown_member_is_told_so(epoch: int) -> None:
    driver = ConsumerDriver()
    driver.join_as("a")
    assert driver.heartbeat_as("stranger", epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_takes_nobody_but_lets_members_rejoin() -> None:
    driver = ConsumerDriver(group_consumer_max_size=1)
    assert driver.join_as("a").error_code == 0
    assert driver.join_as("b").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.join_as("a").error_code == 0


def test_most_members_choose_the_assignor() -> None:
    driver = ConsumerDriver({"orders": 3, "returns": 3})
    both = ["orders", "returns"]
    members = [Consumer(driver, name, topics=both, assignor="range") for name in ("a", "b")]
    for member in members:
        member.join()
    settle(members)
    assert members[0].owned == {(topic, number) for topic in both for number in (0, 1)}
    assert driver.shard.describe_consumer_group(GROUP).assignor_name == "range"


def test_between_two_assignments_there_is_some_time() -> None:
    driver = ConsumerDriver(group_consumer_assignment_interval_ms=1000)
    first, second = Consumer(driver, "a"), Consumer(driver, "b")
    first.join()
    driver.advance(999)
    second.join()
    group = driver.consumer_group()
    assert (group.epoch, group.assignment_epoch, second.epoch) == (3, 2, 2)
    assert group.state is ConsumerGroupState.ASSIGNING
    driver.advance(1)
    settle([first, second])
    assert len(first.owned) == len(second.owned) == 2


def test_what_the_log_did_not_take_is_decided_again() -> None:
    driver = ConsumerDriver()
    member = Consumer(driver, "a")
    member.join()
    member.beat()
    driver.set_topics(orders=6)
    driver.log_is_broken = True
    assert driver.heartbeat_as("a", 2).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    driver.log_is_broken = False
    settle([member])
    assert len(member.owned) == 6
