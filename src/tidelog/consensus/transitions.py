"""The roles of a replica of the metadata log, and every way that leads from one to another (KIP-595, KIP-996).

The table is the only place that says which changes of role exist: code that wants another one fails on it. What a role
remembers is in `tidelog.consensus.roles`; what it does is in `elections`, `following` and `leading`.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType


class Role(Enum):
    """Observers, which have no vote, are only ever unattached or followers."""

    UNATTACHED = "Unattached"  # knows no leader it could fetch from
    PROSPECTIVE = "Prospective"  # asks whether it would be elected, without disturbing anybody
    CANDIDATE = "Candidate"  # asks for votes in an epoch of its own
    FOLLOWER = "Follower"  # fetches from the leader
    LEADER = "Leader"
    RESIGNED = "Resigned"  # was the leader of this epoch, and will not be again


class Cause(Enum):
    """Why a replica changes its role."""

    HIGHER_EPOCH = "heard of a higher epoch, but not of its leader"
    LEADER_FOUND = "heard of the leader of this or of a higher epoch"
    LEADER_REMEMBERED = "would not be elected, and has a leader to go back to"
    LEADER_LOST = "cannot reach the leader, and has no vote"
    VOTE_GIVEN = "voted for another replica"
    TIMEOUT = "has not heard of a leader for too long"
    PRE_VOTES_WON = "a majority would vote for it"
    VOTES_WON = "a majority has voted for it"
    ELECTION_LOST = "a majority was not to be had"
    RESIGNATION = "was asked to, or a majority does not fetch any more"


TRANSITIONS = MappingProxyType(
    {
        (Role.UNATTACHED, Cause.HIGHER_EPOCH): Role.UNATTACHED,
        (Role.UNATTACHED, Cause.LEADER_FOUND): Role.FOLLOWER,
        (Role.UNATTACHED, Cause.VOTE_GIVEN): Role.UNATTACHED,
        (Role.UNATTACHED, Cause.TIMEOUT): Role.PROSPECTIVE,
        (Role.PROSPECTIVE, Cause.HIGHER_EPOCH): Role.UNATTACHED,
        (Role.PROSPECTIVE, Cause.LEADER_FOUND): Role.FOLLOWER,
        (Role.PROSPECTIVE, Cause.LEADER_REMEMBERED): Role.FOLLOWER,
        (Role.PROSPECTIVE, Cause.VOTE_GIVEN): Role.UNATTACHED,
        (Role.PROSPECTIVE, Cause.PRE_VOTES_WON): Role.CANDIDATE,
        (Role.PROSPECTIVE, Cause.ELECTION_LOST): Role.PROSPECTIVE,
        (Role.CANDIDATE, Cause.HIGHER_EPOCH): Role.UNATTACHED,
        (Role.CANDIDATE, Cause.LEADER_FOUND): Role.FOLLOWER,
        (Role.CANDIDATE, Cause.VOTES_WON): Role.LEADER,
        (Role.CANDIDATE, Cause.ELECTION_LOST): Role.PROSPECTIVE,
        (Role.FOLLOWER, Cause.HIGHER_EPOCH): Role.UNATTACHED,
        (Role.FOLLOWER, Cause.LEADER_FOUND): Role.FOLLOWER,
        (Role.FOLLOWER, Cause.LEADER_LOST): Role.UNATTACHED,
        (Role.FOLLOWER, Cause.TIMEOUT): Role.PROSPECTIVE,
        (Role.LEADER, Cause.HIGHER_EPOCH): Role.UNATTACHED,
        (Role.LEADER, Cause.LEADER_FOUND): Role.FOLLOWER,
        (Role.LEADER, Cause.RESIGNATION): Role.RESIGNED,
        (Role.RESIGNED, Cause.HIGHER_EPOCH): Role.UNATTACHED,
        (Role.RESIGNED, Cause.LEADER_FOUND): Role.FOLLOWER,
        (Role.RESIGNED, Cause.TIMEOUT): Role.PROSPECTIVE,
    }
)

# What an observer may be, whatever the table allows to voters.
OBSERVER_ROLES = frozenset({Role.UNATTACHED, Role.FOLLOWER})


class QuorumInvariantBroken(Exception):
    """What must never happen has happened. Going on could lose committed records: the replica has to stop."""


def next_role(role: Role, cause: Cause) -> Role:
    following = TRANSITIONS.get((role, cause))
    if following is None:
        raise QuorumInvariantBroken(f"a replica that is {role.value} cannot change its role because it {cause.value}")
    return following
