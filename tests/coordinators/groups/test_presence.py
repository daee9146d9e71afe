"""Heartbeats, sessions, LeaveGroup."""

from __future__ import annotations

import pytest
from support.group_driver import GROUP, SESSION_MS, Driver

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest


def test_heartbeats_keep_a_member_in_the_group() -> None:
    driver = Driver()
    (member,), generation = driver.stable_group(1)
    for _ in range(10):
        driver.advance(SESSION_MS - 1)
        assert driver.heartbeat(member, generation) == 0


def test_a_silent_member_is_dropped_after_its_session_timeout() -> None:
    driver = Driver()
    members, generation = driver.stable_group(2)
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat(members[0], generation) == 0
    driver.advance(1)
    assert driver.heartbeat(members[0], generation) == ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.heartbeat(members[1], generation) == ErrorCode.UNKNOWN_MEMBER_ID


def test_commits_count_as_signs_of_life() -> None:
    driver = Driver()
    (member,), generation = driver.stable_group(1)
    for offset in range(5):
        driver.advance(SESSION_MS - 1)
        assert driver.commit(offset, member_id=member, generation=generation) == 0


def test_a_group_whose_last_member_is_gone_is_empty_and_the_log_says_so() -> None:
    driver = Driver()
    _, generation = driver.stable_group(1)
    driver.advance(SESSION_MS)
    assert driver.state() == "Empty"
    (group,) = driver.reloaded().groups
    assert (group.state.value, group.generation, group.leader, group.protocol_name) == (
        "Empty",
        generation + 1,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("known", "generation", "group", "expected"),
    [
        (True, 0, GROUP, ErrorCode.ILLEGAL_GENERATION),
        (True, 7, GROUP, ErrorCode.ILLEGAL_GENERATION),
        (False, 1, GROUP, ErrorCode.UNKNOWN_MEMBER_ID),
        (True, 1, "unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        (True, 1, "", ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_refused_heartbeats(known: bool, generation: int, group: str, expected: ErrorCode) -> None:
    driver = Driver()
    (member,), _ = driver.stable_group(1)
    assert driver.heartbeat(member if known else "stranger", generation, group=group) == expected


def test_members_in_the_join_phase_need_no_heartbeats_while_they_wait() -> None:
    driver = Driver()
    (leader, _), _ = driver.stable_group(2, session_ms=SESSION_MS)
    token = driver.join(leader)
    # The other one never comes back and is dropped after its session; this one must outlive many of its own.
    driver.join(rebalance_ms=1_000_000, session_ms=100_000)
    driver.advance(5 * SESSION_MS)
    assert driver.waiting() == [token]
    driver.advance(10 * SESSION_MS)
    assert driver.answers[token].error_code == 0


def test_sessions_start_anew_when_another_broker_takes_over() -> None:
    driver = Driver()
    (member,), generation = driver.stable_group(1)
    driver.advance(SESSION_MS - 1)
    driver.fail_over()
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat(member, generation) == 0
    driver.advance(SESSION_MS)
    assert driver.state() == "Empty"


def test_the_group_rebalances_when_a_member_leaves() -> None:
    driver = Driver()
    members, generation = driver.stable_group(2)
    assert driver.leave((members[1], None)) == [0]
    assert driver.heartbeat(members[0], generation) == ErrorCode.REBALANCE_IN_PROGRESS


def test_several_members_leave_with_one_request() -> None:
    driver = Driver()
    members, generation = driver.stable_group(3)
    assert driver.leave((members[1], None), ("stranger", None), (members[2], None)) == [
        0,
        ErrorCode.UNKNOWN_MEMBER_ID,
        0,
    ]
    assert driver.heartbeat(members[0], generation) == ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.leave((members[0], None)) == [0]
    assert driver.state() == "Empty"


def test_up_to_version_2_one_member_leaves_and_its_error_is_that_of_the_reply() -> None:
    driver = Driver()
    (member,), _ = driver.stable_group(1)
    refused = driver.ask(LeaveGroupRequest(group_id=GROUP, member_id="stranger"), 2)
    assert (refused.error_code, refused.members) == (ErrorCode.UNKNOWN_MEMBER_ID, ())
    assert driver.ask(LeaveGroupRequest(group_id=GROUP, member_id=member), 2).error_code == 0
    assert driver.state() == "Empty"


def test_leaving_an_unknown_group_is_an_error_for_each_member() -> None:
    driver = Driver()
    assert driver.leave(("a", None), ("b", None), group="unknown") == [ErrorCode.UNKNOWN_MEMBER_ID] * 2


def test_an_id_that_was_only_handed_out_can_leave_without_a_rebalance() -> None:
    driver = Driver()
    (member,), generation = driver.stable_group(1)
    pending = driver.answers[driver.join()].member_id
    assert driver.leave((pending, None)) == [0]
    assert driver.heartbeat(member, generation) == 0


def test_whoever_waits_is_answered_when_it_leaves() -> None:
    driver = Driver()
    (leader, follower), _ = driver.stable_group(2)
    token = driver.join(leader)
    assert driver.leave((leader, None)) == [0]
    assert driver.answers[token].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    rejoined = driver.join(follower)
    assert driver.answers[rejoined].leader == follower


def test_a_waiting_sync_is_answered_when_its_member_leaves() -> None:
    driver = Driver()
    entered = [driver.enter() for _ in range(2)]
    driver.advance(6000)
    leader = driver.answers[entered[0][1]].leader
    (follower,) = [member_id for member_id, _ in entered if member_id != leader]
    token = driver.sync(follower, 1)
    driver.leave((follower, None))
    assert driver.answers[token].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.waiting() == []
