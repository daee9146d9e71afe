from __future__ import annotations

import pytest
from consensus.scripted import ScriptedQuorum

from tidelog.consensus.transitions import (
    OBSERVER_ROLES,
    QUORUM_ROLE,
    Cause,
    QuorumInvariantBroken,
    Role,
)


def test_every_role_can_be_reached_and_left() -> None:
    assert {role for role, _ in QUORUM_ROLE.steps} == set(Role)
    assert set(QUORUM_ROLE.steps.values()) == set(Role)
    assert {cause for _, cause in QUORUM_ROLE.steps} == set(Cause)


def test_every_role_gives_way_to_a_higher_epoch_and_to_its_leader() -> None:
    for role in Role:
        assert QUORUM_ROLE.after(role, Cause.HIGHER_EPOCH) is Role.UNATTACHED
        assert QUORUM_ROLE.after(role, Cause.LEADER_FOUND) is Role.FOLLOWER


def test_only_a_candidate_with_votes_leads() -> None:
    assert [pair for pair, role in QUORUM_ROLE.steps.items() if role is Role.LEADER] == [
        (Role.CANDIDATE, Cause.VOTES_WON)
    ]


def test_only_pre_votes_make_a_candidate() -> None:
    assert [pair for pair, role in QUORUM_ROLE.steps.items() if role is Role.CANDIDATE] == [
        (Role.PROSPECTIVE, Cause.PRE_VOTES_WON)
    ]


def test_observers_stay_among_their_roles_without_elections() -> None:
    elections = {Cause.TIMEOUT, Cause.VOTE_GIVEN}
    for (role, cause), following in QUORUM_ROLE.steps.items():
        if role in OBSERVER_ROLES and cause not in elections:
            assert following in OBSERVER_ROLES


@pytest.mark.parametrize(
    ("role", "cause"),
    [(Role.FOLLOWER, Cause.VOTES_WON), (Role.LEADER, Cause.TIMEOUT), (Role.RESIGNED, Cause.VOTE_GIVEN)],
)
def test_a_change_that_is_not_in_the_table_stops_the_replica(role: Role, cause: Cause) -> None:
    with pytest.raises(QuorumInvariantBroken, match=role.name):
        QUORUM_ROLE.after(role, cause)


def test_replicas_start_in_the_initial_roles() -> None:
    """With no leader, as the leader of the epoch, and as a follower."""
    quorum = ScriptedQuorum()
    quorum.play("voters 1 2 3\nremember 2 1 2\nremember 3 1 2\nstart 1 2 3")

    assert {node.role for node in quorum.nodes.values()} == {role.value for role in QUORUM_ROLE.initial}
