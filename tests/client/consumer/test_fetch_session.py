"""What is said in the requests of a fetch session (KIP-227)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.consumer.fetch_session import NAMED_TOPICS, FetchRequestData, FetchSessionHandler, WantedPartition
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.model.invariants import InvariantBroken

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
IDS = {"t": Uuid(b"t" * 16), "u": Uuid(b"u" * 16)}


def at(offset: int, topic_id: Uuid = IDS["t"]) -> WantedPartition:
    return WantedPartition(topic_id=topic_id, fetch_offset=offset, leader_epoch=0, max_bytes=1000)


def told(plan: FetchRequestData) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.topic, part.partition): part.fetch_offset
        for topic in plan.topics
        for part in topic.partitions
    }


def forgotten(plan: FetchRequestData) -> set[TopicPartition]:
    return {TopicPartition(topic.topic, number) for topic in plan.forgotten for number in topic.partitions}


def test_the_first_request_says_everything_and_the_next_what_has_changed() -> None:
    session = FetchSessionHandler()
    first = session.plan({T0: at(5), T1: at(7)})
    assert (first.session_id, first.session_epoch, first.full) == (0, 0, True)
    assert told(first) == {T0: 5, T1: 7}
    session.succeeded(99)
    second = session.plan({T0: at(6), T1: at(7), U0: at(0, IDS["u"])})
    assert (second.session_id, second.session_epoch, second.full) == (99, 1, False)
    assert told(second) == {T0: 6, U0: 0}
    session.succeeded(99)
    third = session.plan({T1: at(7)})
    assert third.session_epoch == 2
    assert (told(third), forgotten(third)) == ({}, {T0, U0})


def test_a_broker_that_keeps_no_session_is_told_everything_each_time() -> None:
    session = FetchSessionHandler()
    for _ in range(3):
        plan = session.plan({T0: at(5)})
        assert (plan.session_id, plan.session_epoch) == (0, 0)
        assert told(plan) == {T0: 5}
        session.succeeded(0)
    assert not session.open


def test_a_forgotten_session_is_begun_anew_without_its_id() -> None:
    session = FetchSessionHandler()
    session.plan({T0: at(5)})
    session.succeeded(99)
    session.plan({T0: at(6)})
    session.refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    plan = session.plan({T0: at(6)})
    assert (plan.session_id, plan.session_epoch) == (0, 0)
    assert told(plan) == {T0: 6}


def test_after_a_wrong_epoch_or_a_lost_reply_the_old_session_is_replaced() -> None:
    session = FetchSessionHandler()
    session.plan({T0: at(5)})
    session.succeeded(99)
    session.plan({T0: at(6)})
    session.refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
    plan = session.plan({T0: at(6)})
    assert (plan.session_id, plan.session_epoch, told(plan)) == (99, 0, {T0: 6})
    session.succeeded(100)
    session.plan({T0: at(7)})
    session.failed()
    plan = session.plan({T0: at(7)})
    assert (plan.session_id, plan.session_epoch, told(plan)) == (100, 0, {T0: 7})


def test_a_recreated_topic_under_its_name_begins_a_new_session() -> None:
    session = FetchSessionHandler()
    session.plan({T0: at(5)})
    session.succeeded(99)
    plan = session.plan({T0: at(0, Uuid(b"n" * 16))})
    assert plan.full


def test_topics_without_ids_are_named() -> None:
    session = FetchSessionHandler()
    assert session.plan({T0: at(5, ZERO_UUID)}).at_most == NAMED_TOPICS
    session.succeeded(99)
    plan = session.plan({T0: at(5)})
    assert plan.at_most is None
    assert plan.full


def test_closing_says_nothing_but_farewell() -> None:
    session = FetchSessionHandler()
    session.plan({T0: at(5)})
    session.succeeded(99)
    plan = session.close()
    assert (plan.session_id, plan.session_epoch, plan.topics) == (99, -1, [])
    assert not session.open


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("_epoch", 0, "a full request takes nothing as known"),
        ("_epoch", -1, "an incremental request goes on with a session: epoch=-1"),
        ("_id", 0, "an incremental request goes on with a session: epoch=1"),
        ("_named", True, "a session names topics in one way: named=True"),
    ],
)
def test_a_broken_session_is_noticed(field: str, value: object, rule: str) -> None:
    session = FetchSessionHandler()
    session.plan({T0: at(5)})
    session.succeeded(99)
    session.check_invariants()
    setattr(session, field, value)
    with pytest.raises(InvariantBroken, match=rule):
        session.check_invariants()


WANTS = st.dictionaries(st.sampled_from([T0, T1, U0]), st.integers(0, 3), max_size=3)


@given(rounds=st.lists(st.tuples(WANTS, st.sampled_from(["ok", "lost", "forgotten", "epoch"])), max_size=12))
def test_the_broker_always_knows_exactly_what_is_wanted(rounds: list[tuple[dict[TopicPartition, int], str]]) -> None:
    """A broker that keeps the session as KIP-227 has it, and loses it or replies now and then."""
    session = FetchSessionHandler()
    kept: dict[TopicPartition, int] = {}
    epoch = 0
    for wanted, outcome in rounds:
        plan = session.plan({partition: at(offset, IDS[partition.topic]) for partition, offset in wanted.items()})
        if plan.full:
            kept, epoch = {}, 0
        assert plan.session_epoch == epoch
        if outcome == "forgotten" and not plan.full:
            session.refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            continue
        kept = {partition: offset for partition, offset in kept.items() if partition not in forgotten(plan)}
        kept.update(told(plan))
        assert kept == wanted
        epoch += 1
        match outcome:
            case "lost":
                session.failed()
            case "epoch":
                session.refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
            case _:
                session.succeeded(7)
        session.check_invariants()
