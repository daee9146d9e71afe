"""JoinGroup, and the join phase of rebalances."""

from __future__ import annotations

import pytest
from support.group_driver import GROUP, REBALANCE_MS, SESSION_MS, Driver, subscription

from tidelog.model.errors import ErrorCode

DELAY_MS = 3000


def test_a_new_dynamic_member_is_first_given_an_id() -> None:
    driver = Driver()
    reply = driver.answers[driver.join(version=4, client_id="billing")]
    assert reply.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert reply.member_id == "billing-0001"
    assert driver.state() == "Empty"


@pytest.mark.parametrize("version", [0, 3])
def test_before_version_4_a_new_member_joins_at_once(version: int) -> None:
    driver = Driver()
    token = driver.join(version=version)
    assert driver.waiting() == [token]
    driver.advance(DELAY_MS)
    assert driver.answers[token].error_code == 0
    assert driver.answers[token].member_id == driver.answers[token].leader


def test_the_leader_alone_is_told_about_all_members() -> None:
    driver = Driver()
    first, first_token = driver.enter()
    second, second_token = driver.enter()
    driver.advance(2 * DELAY_MS)
    first_reply, second_reply = driver.answers[first_token], driver.answers[second_token]
    assert first_reply.leader == second_reply.leader == first
    assert [member.member_id for member in first_reply.members] == [first, second]
    assert first_reply.members[0].metadata == subscription("orders")
    assert second_reply.members == ()
    assert (first_reply.generation_id, second_reply.generation_id) == (1, 1)
    assert first_reply.protocol_name == "range"
    assert first_reply.protocol_type == "consumer"


def test_the_first_rebalance_waits_for_the_initial_delay() -> None:
    driver = Driver()
    _, token = driver.enter()
    driver.advance(DELAY_MS - 1)
    assert token not in driver.answers
    driver.advance(1)
    assert driver.answers[token].error_code == 0


def test_the_initial_delay_is_extended_while_members_arrive_but_not_beyond_the_rebalance_timeout() -> None:
    driver = Driver()
    tokens = []
    # One more member each second: the delay would never end by itself.
    for _ in range(20):
        tokens.append(driver.enter(rebalance_ms=10_000)[1])
        driver.advance(1000)
        if any(token in driver.answers for token in tokens):
            break
    assert 10_000 <= driver.elapsed_ms <= 10_000 + DELAY_MS
    assert all(driver.answers[token].generation_id == 1 for token in tokens)


def test_no_initial_delay_if_it_is_turned_off() -> None:
    driver = Driver(group_initial_rebalance_delay_ms=0)
    _, token = driver.enter()
    driver.advance(0)
    assert driver.answers[token].generation_id == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"group": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_ms": 5999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": {}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_refused_before_a_group_is_made(options: dict[str, object], expected: ErrorCode) -> None:
    driver = Driver()
    token = driver.join(**options)  # type: ignore[arg-type]
    assert driver.answers[token].error_code == expected
    assert driver.shard.list_groups() == []
    assert driver.log == []


@pytest.mark.parametrize(
    "options", [{"protocol_type": "connect"}, {"protocols": {"sticky": b""}}, {"protocols": {"sticky": b"", "x": b""}}]
)
def test_a_member_that_has_no_protocol_in_common_is_refused(options: dict[str, object]) -> None:
    driver = Driver()
    driver.stable_group(1)
    token = driver.join(**options)  # type: ignore[arg-type]
    assert driver.answers[token].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.state() == "Stable"


def test_the_protocol_with_most_votes_among_those_known_to_all_is_chosen() -> None:
    driver = Driver()
    wishes = [
        {"sticky": b"1", "range": b"1", "only-me": b"1"},
        {"range": b"2", "sticky": b"2"},
        {"range": b"3", "sticky": b"3"},
    ]
    tokens = [driver.enter(protocols=wish)[1] for wish in wishes]
    driver.advance(3 * DELAY_MS)
    replies = [driver.answers[token] for token in tokens]
    assert [reply.protocol_name for reply in replies] == ["range"] * 3
    assert [member.metadata for member in replies[0].members] == [b"1", b"2", b"3"]


def test_a_new_member_makes_all_others_rejoin() -> None:
    driver = Driver()
    (old,), generation = driver.stable_group(1)
    new, new_token = driver.enter()
    assert driver.state() == "PreparingRebalance"
    assert driver.heartbeat(old, generation) == ErrorCode.REBALANCE_IN_PROGRESS
    assert new_token not in driver.answers
    old_token = driver.join(old)
    # No delay this time: all are there.
    assert driver.answers[old_token].generation_id == driver.answers[new_token].generation_id == generation + 1
    assert {member.member_id for member in driver.answers[old_token].members} == {old, new}


def test_dynamic_members_that_do_not_rejoin_in_time_are_dropped_and_another_leader_is_chosen() -> None:
    driver = Driver()
    (leader, follower), generation = driver.stable_group(2, session_ms=1_000_000)
    token = driver.join(follower, protocols={"range": subscription("other")}, session_ms=1_000_000)
    driver.advance(REBALANCE_MS - 1)
    assert token not in driver.answers
    driver.advance(1)
    reply = driver.answers[token]
    assert reply.generation_id == generation + 1
    assert reply.leader == follower
    assert [member.member_id for member in reply.members] == [follower]
    assert driver.heartbeat(leader, generation) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_join_phase_waits_for_an_id_that_was_handed_out() -> None:
    driver = Driver()
    (old,), generation = driver.stable_group(1)
    driver.join()
    token = driver.join(old)
    assert driver.waiting() == [token]
    driver.advance(SESSION_MS)
    assert driver.answers[token].generation_id == generation + 1


def test_a_follower_that_asks_again_without_change_is_told_the_current_generation() -> None:
    driver = Driver()
    (_, follower), generation = driver.stable_group(2)
    reply = driver.answers[driver.join(follower)]
    assert reply.generation_id == generation
    assert driver.state() == "Stable"


def test_a_leader_that_rejoins_forces_a_rebalance() -> None:
    driver = Driver()
    (leader, _), _ = driver.stable_group(2)
    token = driver.join(leader)
    assert token in driver.waiting()
    assert driver.state() == "PreparingRebalance"


def test_a_member_that_lost_the_reply_gets_it_again_while_the_leader_works() -> None:
    driver = Driver()
    first, _ = driver.enter()
    driver.advance(DELAY_MS)
    assert driver.state() == "CompletingRebalance"
    reply = driver.answers[driver.join(first)]
    assert reply.generation_id == 1
    assert [member.member_id for member in reply.members] == [first]


def test_changed_metadata_forces_a_rebalance_and_sends_waiting_members_back() -> None:
    driver = Driver()
    first, first_token = driver.enter()
    second, _ = driver.enter()
    driver.advance(2 * DELAY_MS)
    leader = driver.answers[first_token].leader
    waiting = second if leader == first else first
    sync_token = driver.sync(waiting, 1)
    driver.join(leader, protocols={"range": subscription("other")})
    assert driver.answers[sync_token].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.state() == "PreparingRebalance"


def test_a_second_request_of_the_same_member_takes_the_place_of_the_first() -> None:
    driver = Driver()
    (leader, _), _ = driver.stable_group(2)
    first = driver.join(leader)
    second = driver.join(leader)
    assert driver.answers[first].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.waiting() == [second]


def test_a_new_member_that_waits_too_long_is_dropped() -> None:
    driver = Driver()
    members, generation = driver.stable_group(1, rebalance_ms=1_000_000, session_ms=1_000_000)
    _, token = driver.enter(rebalance_ms=1_000_000)
    driver.advance(300_000)
    reply = driver.answers[token]
    assert (reply.error_code, reply.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert driver.heartbeat(members[0], generation) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_full_group_takes_no_more_members() -> None:
    driver = Driver(group_max_size=2)
    members, generation = driver.stable_group(2)
    reply = driver.answers[driver.join()]
    assert (reply.error_code, reply.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert driver.heartbeat(members[0], generation) == 0


def test_while_members_rejoin_the_last_beyond_the_limit_is_left_out() -> None:
    driver = Driver(group_max_size=2)
    pending = [driver.answers[driver.join()].member_id for _ in range(3)]
    tokens = [driver.join(member_id) for member_id in pending]
    assert driver.answers[tokens[2]].error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    driver.advance(2 * DELAY_MS)
    assert [driver.answers[token].error_code for token in tokens[:2]] == [0, 0]


def test_a_group_that_is_over_a_lowered_limit_rebalances_after_loading() -> None:
    driver = Driver()
    driver.stable_group(3)
    driver.settings = Driver(group_max_size=2).settings
    driver.fail_over()
    assert driver.state() == "PreparingRebalance"


def test_version_0_has_the_session_timeout_for_both() -> None:
    driver = Driver()
    token = driver.join(version=0, rebalance_ms=-1)
    driver.advance(DELAY_MS)
    driver.sync(driver.answers[token].member_id, 1)
    (group,) = driver.shard.groups
    assert group.rebalance_timeout_ms == SESSION_MS


def test_a_new_group_is_announced_in_the_log() -> None:
    driver = Driver()
    driver.join()
    (record,) = driver.records()
    assert record.value is not None
    assert driver.reloaded().describe_group(GROUP, 6).group_state == "Empty"


def test_an_announcement_does_not_disturb_a_rebalance_that_has_begun() -> None:
    driver = Driver()
    token = driver.join(version=3)
    assert len(driver.log) == 1
    assert driver.state() == "PreparingRebalance"
    driver.advance(DELAY_MS)
    assert driver.answers[token].error_code == 0
