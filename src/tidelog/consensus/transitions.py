"""The roles of a replica of the metadata log, and every way that leads from one to another (KIP-595, KIP-996).

The table is the only place that says which changes of role exist: code that wants another one fails on it. What a role
remembers is in `tidelog.consensus.roles`; what it does is in `elections`, `following` and `leading`.
"""

from __future__ import annotations

from enum import Enum

from tidelog.model.transitions import Transitions


class Role(Enum):
    """Observers, which have no vote, are only ever unattached or followers."""

    UNATTACHED = "Unattached"
    PROSPECTIVE = "Prospective"
    CANDIDATE = "Candidate"
    FOLLOWER = "Follower"
    LEADER = "Leader"
    RESIGNED = "Resigned"


class Cause(Enum):
    """Why a replica changes its role."""

    HIGHER_EPOCH = "learned of a higher epoch, but not of its leader"
    LEADER_FOUND = "learned of the leader of this or of a higher epoch"
    LEADER_REMEMBERED = "would not be elected, and has a leader to go back to"
    LEADER_LOST = "cannot reach the leader, and has no vote"
    VOTE_GIVEN = "voted for another replica"
    TIMEOUT = "has not heard from a leader for too long"
    PRE_VOTES_WON = "a majority would vote for it"
    VOTES_WON = "a majority has voted for it"
    ELECTION_LOST = "a majority was not to be had"
    RESIGNATION = "was asked to, or a majority does not fetch any more"


class QuorumInvariantBroken(Exception):
    """What must never happen has happened. Going on could lose committed records: the replica has to stop."""


QUORUM_ROLE = Transitions(
    name="Quorum role",
    meaning="What a replica of the metadata log does for the quorum (KIP-595, KIP-996).",
    # Where a replica stood when it was stopped: with a leader, as the leader itself, or with neither.
    initial=(Role.UNATTACHED, Role.FOLLOWER, Role.RESIGNED),
    states={
        Role.UNATTACHED: "Knows no leader from which it could fetch.",
        Role.PROSPECTIVE: "Asks whether it would be elected, without disturbing anybody.",
        Role.CANDIDATE: "Asks for votes in an epoch of its own.",
        Role.FOLLOWER: "Fetches from the leader.",
        Role.LEADER: "Appends, and commits what a majority has fetched.",
        Role.RESIGNED: "Was the leader of this epoch, and will not be again.",
    },
    steps={
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
    },
    illegal=QuorumInvariantBroken,
)

# What an observer may be, whatever the table allows to voters.
OBSERVER_ROLES = frozenset({Role.UNATTACHED, Role.FOLLOWER})
