"""Asking for votes and giving them (KIP-595, with the pre-vote of KIP-996).

A voter that misses its leader first asks whether it would be elected. Only if a majority says so does it begin an
epoch of its own, and so one that merely has a bad connection does not disturb the others.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.consensus import amnesia, leading
from tidelog.consensus.effects import NEVER
from tidelog.consensus.log_view import last_epoch
from tidelog.consensus.messages import EndEpoch, EndEpochAnswer, Vote, VoteAnswer
from tidelog.consensus.quorum_state import QuorumState
from tidelog.consensus.roles import Ballot, Candidate, Follower, Leader, Prospective, Resigned, Unattached
from tidelog.consensus.state import ReplicaState
from tidelog.consensus.transitions import Cause
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID

_BACKOFF_STEP_MS = 50
# Doubling more often would exceed any sensible maximum.
_MAX_BACKOFF_DOUBLINGS = 10


# --- Giving votes


def on_vote(state: ReplicaState, token: int, request: Vote) -> None:
    error = _vote_error(state, request)
    if error != ErrorCode.NONE:
        _answer_vote(state, token, error, granted=False)
        return
    if request.epoch > state.election.epoch:
        state.become_unattached(request.epoch)
    # Who does not know what it has promised promises nothing.
    granted = may_grant(state, request)
    if state.amnesia is not None and not request.pre_vote:
        granted = granted and amnesia.may_vote(state, state.amnesia, request)
    if granted and not request.pre_vote and state.election.voted_id is None:
        state.election = replace(
            state.election, voted_id=request.candidate_id, voted_directory_id=request.candidate_directory_id
        )
        # The candidate's chances are at least as good as the own ones: give it the time to win.
        deadline_ms = state.now_ms + state.draw_election_timeout_ms()
        state.enter(Cause.VOTE_GIVEN, Unattached(deadline_ms=deadline_ms))
    _answer_vote(state, token, ErrorCode.NONE, granted=granted)


def _vote_error(state: ReplicaState, request: Vote) -> ErrorCode:
    last_allowed_epoch = request.epoch if request.pre_vote else request.epoch - 1
    if request.end_offset < 0 or not 0 <= request.last_epoch <= last_allowed_epoch:
        return ErrorCode.INVALID_REQUEST
    return state.voter_request_error(request.candidate_id, request.epoch)


def may_grant(state: ReplicaState, request: Vote) -> bool:
    """One vote per epoch, and none for a log that may lack something committed. Pre-votes are not counted."""
    own_log = (last_epoch(state.log), state.log.end_offset)
    is_up_to_date = (request.last_epoch, request.end_offset) >= own_log
    if request.pre_vote:
        role = state.role
        has_leader = isinstance(role, Leader) or (isinstance(role, Follower) and role.has_fetched)
        return is_up_to_date and not has_leader
    election = state.election
    if election.voted_id is not None:
        return election.voted_id == request.candidate_id and (
            election.voted_directory_id in (ZERO_UUID, request.candidate_directory_id)
        )
    return is_up_to_date and election.leader_id is None


def _answer_vote(state: ReplicaState, token: int, error: ErrorCode, *, granted: bool) -> None:
    answer = VoteAnswer(epoch=state.election.epoch, leader_id=state.known_leader_id, error=error, granted=granted)
    state.reply(token, answer)


# --- Asking for votes


def become_prospective(state: ReplicaState, cause: Cause) -> None:
    own_id = state.settings.node_id
    if state.election.leader_id == own_id:
        # It was the leader and is not any more. It must not vote for anybody else in that epoch.
        state.election = QuorumState(epoch=state.election.epoch, voted_id=own_id)
    deadline_ms = state.now_ms + state.draw_election_timeout_ms()
    state.enter(cause, Prospective(ballot=Ballot({own_id}), deadline_ms=deadline_ms))
    _count_votes(state)


def _become_candidate(state: ReplicaState) -> None:
    settings = state.settings
    state.election = QuorumState(
        epoch=state.election.epoch + 1, voted_id=settings.node_id, voted_directory_id=settings.directory_id
    )
    deadline_ms = state.now_ms + state.draw_election_timeout_ms()
    state.enter(Cause.PRE_VOTES_WON, Candidate(ballot=Ballot({settings.node_id}), deadline_ms=deadline_ms))
    _count_votes(state)


def on_vote_answer(state: ReplicaState, source: int, answer: VoteAnswer) -> None:
    """Answers to pre-votes cannot be taken for votes: becoming a candidate forgets the requests under way."""
    if state.amnesia is not None:
        state.amnesia.heard(source, answer)
    if not state.accept_answer(source, answer):
        return
    role = state.role
    if isinstance(role, Prospective | Candidate):
        role.ballot.record(source, answer.granted)
        _count_votes(state)


def _count_votes(state: ReplicaState) -> None:
    role = state.role
    majority = state.settings.majority
    if isinstance(role, Prospective) and role.ballot.is_won(majority):
        _become_candidate(state)
    elif isinstance(role, Candidate) and role.ballot.is_won(majority):
        leading.take_office(state, role.ballot.granted)
    elif isinstance(role, Prospective | Candidate) and role.ballot.is_lost(majority, len(state.settings.voters)):
        if isinstance(role, Prospective) and state.election.leader_id is not None:
            _lose_election(state)
        else:
            # Several that stand against each other would do so again without different pauses.
            role.deadline_ms = min(role.deadline_ms, state.now_ms + _draw_backoff_ms(state))


def _lose_election(state: ReplicaState) -> None:
    leader_id = state.election.leader_id
    if isinstance(state.role, Prospective) and leader_id is not None:
        state.become_follower(state.election.epoch, leader_id, Cause.LEADER_REMEMBERED)
    else:
        state.lost_elections += 1
        become_prospective(state, Cause.ELECTION_LOST)


def _draw_backoff_ms(state: ReplicaState) -> float:
    steps = 2 << min(state.lost_elections, _MAX_BACKOFF_DOUBLINGS)
    backoff_ms = _BACKOFF_STEP_MS * (1 + state.randomness.below(steps))
    return min(backoff_ms, state.settings.election_backoff_max_ms)


# --- A leader resigns


def on_end_epoch(state: ReplicaState, token: int, request: EndEpoch) -> None:
    error = state.voter_request_error(request.leader_id, request.epoch)
    if error == ErrorCode.NONE:
        state.learn(request.epoch, request.leader_id)
        role = state.role
        if isinstance(role, Follower) and role.leader_id == request.leader_id:
            role.has_fetched = False
            role.deadline_ms = state.now_ms + _succession_delay_ms(state, request.successors)
    answer = EndEpochAnswer(epoch=state.election.epoch, leader_id=state.known_leader_id, error=error)
    state.reply(token, answer)


def _succession_delay_ms(state: ReplicaState, successors: tuple[int, ...]) -> float:
    """The first in line stands at once; each one after it waits twice as long as the one before, up to the maximum."""
    longest_ms = state.settings.election_backoff_max_ms
    if state.settings.node_id not in successors:
        return longest_ms
    position = successors.index(state.settings.node_id)
    return 0.0 if position == 0 else longest_ms / 2.0 ** (len(successors) - position)


# --- What becomes due


def poll_election(state: ReplicaState, role: Prospective | Candidate) -> float:
    if state.shutting_down:
        return NEVER
    if state.now_ms >= role.deadline_ms:
        _lose_election(state)
        return state.now_ms
    settings = state.settings
    deadline_ms = role.deadline_ms
    if role.ballot.is_lost(settings.majority, len(settings.voters)):
        return deadline_ms
    request = Vote(
        candidate_id=settings.node_id,
        candidate_directory_id=settings.directory_id,
        epoch=state.election.epoch,
        last_epoch=last_epoch(state.log),
        end_offset=state.log.end_offset,
        pre_vote=isinstance(role, Prospective),
    )
    for voter in role.ballot.open_voters(settings.voters):
        deadline_ms = min(deadline_ms, state.send(voter, lambda: request))
    return deadline_ms


def poll_waiting(state: ReplicaState, role: Unattached | Resigned) -> float:
    """A voter that waits for others to act, but not for ever."""
    if state.shutting_down:
        return NEVER
    if state.now_ms >= role.deadline_ms:
        become_prospective(state, Cause.TIMEOUT)
        return state.now_ms
    return role.deadline_ms
