"""What a member of a group of the new protocol says in its heartbeats (KIP-848)."""

from __future__ import annotations

from tidelog.client.config import consumer_config
from tidelog.client.consumer.reconciliation import MembershipState, Reconciliation
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

T = Uuid(b"t" * 16)


def member() -> Reconciliation:
    options = {"client.rack": "r", "max.poll.interval.ms": "300", "group.remote.assignor": "uniform"}
    group = {"bootstrap.servers": "127.0.0.1", "group.id": "g", "group.protocol": "consumer"}
    reconciliation = Reconciliation("g", consumer_config({**options, **group}), "m")
    reconciliation.subscribe(["b", "a"], None)
    return reconciliation


def reply(epoch: int, *partitions: int, silent: bool = False) -> ConsumerGroupHeartbeatResponse:
    assignment = Assignment(topic_partitions=[TopicPartitions(topic_id=T, partitions=partitions)])
    return ConsumerGroupHeartbeatResponse(
        member_id="m", member_epoch=epoch, heartbeat_interval_ms=5000, assignment=None if silent else assignment
    )


def joined(*partitions: int) -> Reconciliation:
    reconciliation = member()
    reconciliation.heartbeat()
    reconciliation.answered(reply(1, *partitions))
    return reconciliation


def test_who_joins_says_everything() -> None:
    request = member().heartbeat()
    assert (request.group_id, request.member_id, request.member_epoch) == ("g", "m", 0)
    assert request.subscribed_topic_names == ("a", "b")
    assert request.subscribed_topic_regex is None
    assert (request.rebalance_timeout_ms, request.server_assignor, request.rack_id) == (300, "uniform", "r")
    assert request.topic_partitions == []


def test_afterwards_only_changes_are_said() -> None:
    reconciliation = joined(0, 1)
    request = reconciliation.heartbeat()
    assert (request.member_epoch, request.subscribed_topic_names, request.topic_partitions) == (1, None, None)
    assert (request.rebalance_timeout_ms, request.server_assignor) == (-1, None)
    reconciliation.answered(reply(1, silent=True))
    assert not reconciliation.has_news
    reconciliation.subscribe(["c"], None)
    assert reconciliation.has_news
    assert reconciliation.heartbeat().subscribed_topic_names == ("c",)


def test_what_was_taken_over_is_told_once() -> None:
    reconciliation = joined(0, 1)
    assert reconciliation.to_take_over == frozenset({(T, 0), (T, 1)})
    reconciliation.owned = frozenset({(T, 0), (T, 1)})
    assert reconciliation.to_take_over is None
    (topic,) = reconciliation.heartbeat().topic_partitions or ()
    assert (topic.topic_id, list(topic.partitions)) == (T, [0, 1])
    reconciliation.answered(reply(1, silent=True))
    assert reconciliation.heartbeat().topic_partitions is None


def test_without_an_answer_everything_is_said_again() -> None:
    reconciliation = joined(0)
    reconciliation.owned = frozenset({(T, 0)})
    reconciliation.heartbeat()
    reconciliation.unanswered()
    request = reconciliation.heartbeat()
    assert request.member_epoch == 1
    assert request.subscribed_topic_names == ("a", "b")
    assert request.rebalance_timeout_ms == 300
    assert request.topic_partitions


def test_who_is_out_owns_nothing_and_joins_again_under_its_id() -> None:
    reconciliation = joined(0)
    reconciliation.owned = frozenset({(T, 0)})
    reconciliation.thrown_out()
    assert reconciliation.state is MembershipState.OUT
    assert reconciliation.to_take_over is None
    # An answer that was on its way does not bring it back.
    reconciliation.answered(reply(5, 3))
    assert reconciliation.state is MembershipState.OUT
    reconciliation.join_again()
    request = reconciliation.heartbeat()
    assert (request.member_id, request.member_epoch, request.topic_partitions) == ("m", 0, [])


def test_patterns_are_taken_back_with_an_empty_one() -> None:
    reconciliation = member()
    reconciliation.subscribe([], "a.*")
    assert reconciliation.heartbeat().subscribed_topic_regex == "a.*"
    reconciliation.answered(reply(1))
    assert reconciliation.heartbeat().subscribed_topic_regex is None
    reconciliation.subscribe(["b"], None)
    request = reconciliation.heartbeat()
    assert (request.subscribed_topic_names, request.subscribed_topic_regex) == (("b",), "")


def test_farewells_name_their_kind() -> None:
    request = joined(0).farewell(-2)
    assert (request.member_id, request.member_epoch) == ("m", -2)
