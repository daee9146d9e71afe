"""SyncGroup: assignments travel from the leader to the members, through the log."""

from __future__ import annotations

import pytest
from support.group_driver import REBALANCE_MS, Driver

from tidelog.model.errors import ErrorCode

DELAY_MS = 3000


def _joined(driver: Driver, count: int, **options: object) -> list[str]:
    """Members of a group whose leader, the first of them, has not handed in an assignment yet."""
    entered = [driver.enter(**options) for _ in range(count)]
    driver.advance(2 * DELAY_MS)
    assert driver.state() == "CompletingRebalance"
    return [member_id for member_id, _ in entered]


def test_followers_wait_for_the_leader() -> None:
    driver = Driver()
    leader, follower = _joined(driver, 2)
    follower_token = driver.sync(follower, 1)
    assert driver.waiting() == [follower_token]
    leader_token = driver.sync(leader, 1, {leader: b"left", follower: b"right"})
    assert driver.answers[leader_token].assignment == b"left"
    assert driver.answers[follower_token].assignment == b"right"
    assert driver.answers[follower_token].protocol_name == "range"
    assert driver.state() == "Stable"


def test_who_comes_after_the_leader_is_answered_at_once() -> None:
    driver = Driver()
    leader, follower = _joined(driver, 2)
    driver.sync(leader, 1, {leader: b"left", follower: b"right"})
    assert driver.answers[driver.sync(follower, 1)].assignment == b"right"


def test_a_member_that_the_leader_forgot_gets_an_empty_assignment() -> None:
    driver = Driver()
    leader, follower = _joined(driver, 2)
    driver.sync(leader, 1, {leader: b"all", "stranger": b"none"})
    assert driver.answers[driver.sync(follower, 1)].assignment == b""


def test_the_assignment_is_in_the_log_before_anybody_hears_of_it() -> None:
    driver = Driver()
    leader, follower = _joined(driver, 2)
    driver.sync(leader, 1, {leader: b"left", follower: b"right"})
    described = driver.reloaded().describe_group("orders", 6)
    assert described.group_state == "Stable"
    assert {member.member_id: member.member_assignment for member in described.members} == {
        leader: b"left",
        follower: b"right",
    }


def test_if_the_log_cannot_take_it_all_are_told_and_the_leader_can_try_again() -> None:
    driver = Driver()
    leader, follower = _joined(driver, 2)
    follower_token = driver.sync(follower, 1)
    driver.log_is_broken = True
    leader_token = driver.sync(leader, 1, {leader: b"left", follower: b"right"})
    assert driver.answers[leader_token].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.answers[follower_token].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.state() == "CompletingRebalance"
    driver.log_is_broken = False
    follower_token = driver.sync(follower, 1)
    driver.sync(leader, 1, {leader: b"left", follower: b"right"})
    assert driver.answers[follower_token].assignment == b"right"


@pytest.mark.parametrize(
    ("member", "options", "expected"),
    [
        (0, {"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        (0, {"generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        (None, {"generation": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        (0, {"generation": 1, "group": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        (0, {"generation": 1, "group": ""}, ErrorCode.INVALID_GROUP_ID),
        (0, {"generation": 1, "protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (0, {"generation": 1, "protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (0, {"generation": 1, "instance": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_refusals(member: int | None, options: dict[str, object], expected: ErrorCode) -> None:
    driver = Driver()
    members = _joined(driver, 1)
    token = driver.sync("stranger" if member is None else members[member], **options)  # type: ignore[arg-type]
    assert driver.answers[token].error_code == expected


def test_during_the_join_phase_members_are_sent_back_to_join() -> None:
    driver = Driver()
    (member,), generation = driver.stable_group(1)
    driver.enter()
    assert driver.answers[driver.sync(member, generation)].error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_members_that_never_sync_are_dropped_after_the_rebalance_timeout() -> None:
    driver = Driver()
    leader, lazy = _joined(driver, 2, session_ms=1_000_000)
    driver.sync(leader, 1, {leader: b"left", lazy: b"right"})
    driver.advance(REBALANCE_MS)
    assert driver.state() == "PreparingRebalance"
    assert driver.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.heartbeat(lazy, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_never_syncs_does_not_block_the_group() -> None:
    driver = Driver()
    leader, follower = _joined(driver, 2, session_ms=1_000_000)
    token = driver.sync(follower, 1)
    driver.advance(REBALANCE_MS)
    assert driver.answers[token].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    rejoined = driver.join(follower)
    assert driver.answers[rejoined].leader == follower
    assert driver.heartbeat(leader, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_whose_members_all_synced_is_left_alone() -> None:
    driver = Driver()
    members, generation = driver.stable_group(2, session_ms=1_000_000)
    driver.advance(2 * REBALANCE_MS)
    assert driver.state() == "Stable"
    assert driver.heartbeat(members[0], generation) == 0


def test_cooperative_rebalancing_is_two_rebalances() -> None:
    """First the owner gives partitions up, then the others get them; the coordinator sees opaque bytes only."""
    driver = Driver()
    (old,), generation = driver.stable_group(1, protocols={"cooperative-sticky": b"owns 0,1"})
    new, new_token = driver.enter(protocols={"cooperative-sticky": b"owns nothing"})
    old_token = driver.join(old, protocols={"cooperative-sticky": b"owns 0,1"})
    assert driver.answers[old_token].generation_id == generation + 1
    driver.sync(new, generation + 1)
    driver.sync(old, generation + 1, {old: b"0", new: b""})
    # The owner has let go of partition 1 and, being the leader, asks for the second rebalance.
    old_token = driver.join(old, protocols={"cooperative-sticky": b"owns 0"})
    new_token = driver.join(new, protocols={"cooperative-sticky": b"owns nothing"})
    assert driver.answers[old_token].generation_id == driver.answers[new_token].generation_id == generation + 2
    driver.sync(old, generation + 2, {old: b"0", new: b"1"})
    assert driver.answers[driver.sync(new, generation + 2)].assignment == b"1"
