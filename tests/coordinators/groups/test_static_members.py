"""Static members (KIP-345): a restart keeps the assignment, a double is fenced."""

from __future__ import annotations

from support.group_driver import REBALANCE_MS, SESSION_MS, Driver, subscription

from tidelog.model.errors import ErrorCode

DELAY_MS = 3000


def _static_group(driver: Driver, *instances: str) -> tuple[dict[str, str], int]:
    """Instance to member id of a stable group, and its generation."""
    tokens = {instance: driver.join(instance=instance) for instance in instances}
    driver.advance(2 * DELAY_MS)
    replies = {instance: driver.answers[token] for instance, token in tokens.items()}
    members = {instance: reply.member_id for instance, reply in replies.items()}
    (leader,) = {reply.leader for reply in replies.values()}
    for instance, member_id in members.items():
        if member_id != leader:
            driver.sync(member_id, 1, instance=instance)
    given = {member_id: instance.encode() for instance, member_id in members.items()}
    leading = next(instance for instance, member_id in members.items() if member_id == leader)
    driver.sync(leader, 1, given, instance=leading)
    assert driver.state() == "Stable"
    return members, 1


def test_a_static_member_joins_without_asking_for_an_id_first() -> None:
    driver = Driver()
    token = driver.join(instance="warehouse")
    driver.advance(DELAY_MS)
    assert driver.answers[token].error_code == 0
    assert driver.answers[token].member_id.startswith("warehouse-")


def test_a_restart_keeps_generation_and_assignment() -> None:
    driver = Driver()
    members, generation = _static_group(driver, "a", "b")
    reply = driver.answers[driver.join(instance="b")]
    assert reply.error_code == 0
    assert reply.generation_id == generation
    assert reply.member_id != members["b"]
    assert driver.state() == "Stable"
    assert driver.heartbeat(members["a"], generation, "a") == 0
    assert driver.answers[driver.sync(reply.member_id, generation, instance="b")].assignment == b"b"


def test_the_old_self_is_fenced_everywhere() -> None:
    driver = Driver()
    members, generation = _static_group(driver, "a", "b")
    driver.join(instance="b")
    fenced = ErrorCode.FENCED_INSTANCE_ID
    old = members["b"]
    assert driver.heartbeat(old, generation, "b") == fenced
    assert driver.answers[driver.sync(old, generation, instance="b")].error_code == fenced
    assert driver.answers[driver.join(old, instance="b")].error_code == fenced
    assert driver.commit(1, member_id=old, generation=generation, instance="b") == fenced
    assert driver.leave((old, "b")) == [fenced]
    assert driver.heartbeat(old, generation) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_restarted_leader_is_told_to_skip_the_assignment() -> None:
    driver = Driver()
    _, generation = _static_group(driver, "a", "b")
    reply = driver.answers[driver.join(instance="a", version=9)]
    assert reply.leader == reply.member_id
    assert reply.skip_assignment
    assert {member.group_instance_id for member in reply.members} == {"a", "b"}
    assert driver.answers[driver.sync(reply.member_id, generation, instance="a")].assignment == b"a"


def test_before_version_9_a_restarted_leader_is_not_told_that_it_leads() -> None:
    driver = Driver()
    members, _ = _static_group(driver, "a", "b")
    reply = driver.answers[driver.join(instance="a", version=8)]
    assert reply.leader == members["a"]
    assert not reply.skip_assignment
    assert reply.members == ()


def test_the_new_id_is_in_the_log() -> None:
    driver = Driver()
    _, generation = _static_group(driver, "a", "b")
    new_id = driver.answers[driver.join(instance="b")].member_id
    driver.fail_over()
    assert driver.heartbeat(new_id, generation, "b") == 0


def test_if_the_log_cannot_take_it_the_old_self_goes_on() -> None:
    driver = Driver()
    members, generation = _static_group(driver, "a", "b")
    driver.log_is_broken = True
    assert driver.answers[driver.join(instance="b")].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.heartbeat(members["b"], generation, "b") == 0


def test_other_protocols_of_a_returning_member_are_not_forgotten() -> None:
    driver = Driver()
    both = {"range": subscription("orders"), "sticky": subscription("orders")}
    token = driver.join(instance="a", protocols=both)
    driver.advance(DELAY_MS)
    driver.sync(driver.answers[token].member_id, 1, instance="a")
    driver.join(instance="a", protocols=both)
    # Only possible if the group still knows that the member can do both.
    newcomer = driver.join(protocols={"sticky": subscription("orders")})
    assert driver.answers[newcomer].error_code == ErrorCode.MEMBER_ID_REQUIRED


def test_a_return_that_changes_the_protocol_rebalances() -> None:
    driver = Driver()
    token = driver.join(instance="a", protocols={"range": b"", "sticky": b""})
    driver.advance(DELAY_MS)
    driver.sync(driver.answers[token].member_id, 1, instance="a")
    again = driver.join(instance="a", protocols={"sticky": b""})
    assert driver.answers[again].generation_id == 2
    assert driver.answers[again].protocol_name == "sticky"


def test_a_double_that_comes_while_the_first_still_waits_takes_its_place() -> None:
    driver = Driver()
    first = driver.join(instance="a")
    second = driver.join(instance="a")
    assert driver.answers[first].error_code == ErrorCode.FENCED_INSTANCE_ID
    driver.advance(2 * DELAY_MS)
    assert driver.answers[second].error_code == 0
    assert len(driver.answers[second].members) == 1


def test_a_double_during_the_sync_phase_starts_it_all_over() -> None:
    driver = Driver()
    tokens = {instance: driver.join(instance=instance) for instance in "ab"}
    driver.advance(2 * DELAY_MS)
    leader = driver.answers[tokens["a"]].leader
    follower = next(instance for instance, token in tokens.items() if driver.answers[token].member_id != leader)
    waiting = driver.sync(driver.answers[tokens[follower]].member_id, 1, instance=follower)
    driver.join(instance=follower)
    assert driver.answers[waiting].error_code == ErrorCode.FENCED_INSTANCE_ID
    assert driver.state() == "PreparingRebalance"


def test_absent_static_members_are_kept_through_a_rebalance_until_their_session_ends() -> None:
    driver = Driver(group_max_session_timeout_ms=10_000_000)
    tokens = {instance: driver.join(instance=instance, session_ms=2 * REBALANCE_MS) for instance in "ab"}
    driver.advance(2 * DELAY_MS)
    ids = {instance: driver.answers[token].member_id for instance, token in tokens.items()}
    leader = driver.answers[tokens["a"]].leader
    for instance, member_id in sorted(ids.items(), key=lambda item: item[1] == leader):
        driver.sync(member_id, 1, dict.fromkeys(ids.values(), b"x"), instance=instance)
    assert driver.state() == "Stable"
    # The newcomer makes everybody rejoin; one of the static members is down.
    _, newcomer = driver.enter(session_ms=2 * REBALANCE_MS)
    driver.join(ids["a"], instance="a", session_ms=2 * REBALANCE_MS)
    driver.advance(REBALANCE_MS)
    reply = driver.answers[newcomer]
    assert reply.generation_id == 2
    (group,) = driver.shard.groups
    assert ids["b"] in group.members


def test_a_group_of_absent_static_members_waits_for_one_of_them() -> None:
    driver = Driver()
    members, _ = _static_group(driver, "a", "b")
    driver.leave((members["a"], "a"))
    assert driver.state() == "PreparingRebalance"
    driver.advance(SESSION_MS)
    assert driver.state() == "Empty"


def test_an_administrator_removes_a_static_member_by_its_instance_id() -> None:
    driver = Driver()
    members, generation = _static_group(driver, "a", "b")
    assert driver.leave(("", "b"), ("", "unknown"), ("", None)) == [
        0,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert driver.heartbeat(members["a"], generation, "a") == ErrorCode.REBALANCE_IN_PROGRESS
