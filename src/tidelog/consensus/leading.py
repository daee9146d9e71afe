"""What a leader does: open its epoch, answer fetches, commit, introduce itself, and resign.

Progress of the others and the high watermark are kept by `tidelog.consensus.progress`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import assert_never

from tidelog.consensus.effects import NEVER, LeaderChangeAppend
from tidelog.consensus.log_view import Diverging, Matching, SnapshotNeeded, compare
from tidelog.consensus.messages import (
    BeginEpoch,
    BeginEpochAnswer,
    EndEpoch,
    EndEpochAnswer,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    FetchSnapshotAnswer,
)
from tidelog.consensus.progress import QuorumProgress
from tidelog.consensus.quorum_state import QuorumState
from tidelog.consensus.roles import Leader, ParkedFetch, Resigned
from tidelog.consensus.state import ReplicaState
from tidelog.consensus.transitions import Cause
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.leader_change_message import LeaderChangeMessage, Voter

# More fetches than this are answered at once instead of being kept until there is something new.
MAX_PARKED_FETCHES = 10_000


# --- Taking and leaving office


def take_office(state: ReplicaState, granted_by: Collection[int]) -> None:
    settings = state.settings
    epoch = state.election.epoch
    state.election = QuorumState(epoch=epoch, leader_id=settings.node_id)
    state.lost_elections = 0
    progress = QuorumProgress(
        followers=settings.other_voters,
        majority=settings.majority,
        epoch_start_offset=state.log.end_offset,
        now_ms=state.now_ms,
    )
    state.enter(Cause.VOTES_WON, Leader(progress=progress, predecessor=state.predecessor))
    state.predecessor = None
    # Without a record of its own epoch the leader could not commit those of earlier ones.
    message = LeaderChangeMessage(
        leader_id=settings.node_id,
        voters=[Voter(voter_id=voter) for voter in sorted(settings.voters)],
        granting_voters=[Voter(voter_id=voter) for voter in sorted(granted_by)],
    )
    state.draft.append = LeaderChangeAppend(epoch=epoch, message=message)
    state.write_pending = True


def resign(state: ReplicaState, role: Leader) -> None:
    deadline_ms = state.now_ms + state.draw_election_timeout_ms()
    successors = role.progress.successors()
    state.enter(Cause.RESIGNATION, Resigned(deadline_ms=deadline_ms, successors=successors, unaware=set(successors)))


def on_end_epoch_answer(state: ReplicaState, source: int, answer: EndEpochAnswer) -> None:
    if state.accept_answer(source, answer) and isinstance(state.role, Resigned):
        state.role.unaware.discard(source)


def on_begin_epoch_answer(state: ReplicaState, source: int, answer: BeginEpochAnswer) -> None:
    if state.accept_answer(source, answer) and isinstance(state.role, Leader):
        state.role.progress.followers[source].last_heard_ms = state.now_ms


# --- Answering fetches


def on_fetch(state: ReplicaState, token: int, request: Fetch) -> None:
    """An answer at once if it says anything new; otherwise the fetch waits for that."""
    error = state.leader_request_error(request.epoch)
    if not _is_sensible(request) or request.replica_id == state.settings.node_id:
        error = ErrorCode.INVALID_REQUEST
    role = state.role
    if error != ErrorCode.NONE or not isinstance(role, Leader):
        state.reply(token, state.fetch_refusal(error))
        return
    if not role.progress.has_directory(request.replica_id, request.directory_id):
        state.reply(token, state.fetch_refusal(ErrorCode.INVALID_REQUEST))
        return
    comparison = compare(state.log, request.offset, request.last_epoch)
    match comparison:
        case Diverging(point):
            state.reply(token, replace(_empty_answer(state, role), diverging=point))
        case SnapshotNeeded(snapshot_id):
            state.reply(token, replace(_empty_answer(state, role), snapshot_id=snapshot_id))
        case Matching():
            _record_fetch(state, role, request)
            if _has_news(state, role, request) or request.max_wait_ms == 0 or len(role.parked) >= MAX_PARKED_FETCHES:
                _answer_fetch(state, role, token, request)
            else:
                _park(state, role, token, request)
        case _:
            assert_never(comparison)


def _is_sensible(request: Fetch) -> bool:
    return request.offset >= 0 and 0 <= request.last_epoch <= request.epoch and request.max_wait_ms >= 0


def _record_fetch(state: ReplicaState, role: Leader, request: Fetch) -> None:
    # Whoever has no id is a reader, not a replica.
    if request.replica_id < 0:
        return
    replica = role.progress.replica(request.replica_id, request.directory_id, state.now_ms)
    replica.record_fetch(request.offset, state.log.end_offset, state.now_ms)
    commit(state, role)


def commit(state: ReplicaState, role: Leader) -> None:
    if role.progress.advance(state.durable_end_offset) and role.progress.high_watermark is not None:
        state.high_watermark = max(state.high_watermark, role.progress.high_watermark)
        release_parked(state, role)


def _has_news(state: ReplicaState, role: Leader, request: Fetch) -> bool:
    """Records, or a higher watermark (KIP-1166): without the latter a follower would learn late what is committed."""
    high_watermark = role.progress.high_watermark
    return request.offset < state.log.end_offset or (
        high_watermark is not None and request.high_watermark < min(high_watermark, request.offset)
    )


def _park(state: ReplicaState, role: Leader, token: int, request: Fetch) -> None:
    """A replica waits with one fetch at a time: an earlier one was given up by its sender."""
    if request.replica_id >= 0:
        for parked in list(role.parked.values()):
            sender = (parked.request.replica_id, parked.request.directory_id)
            if sender == (request.replica_id, request.directory_id):
                del role.parked[parked.token]
                _answer_fetch(state, role, parked.token, parked.request)
    deadline_ms = state.now_ms + request.max_wait_ms
    role.parked[token] = ParkedFetch(token=token, request=request, deadline_ms=deadline_ms)


def release_parked(state: ReplicaState, role: Leader) -> None:
    """Answer those who have waited for what is there now, and those who have waited long enough."""
    for parked in list(role.parked.values()):
        if state.now_ms >= parked.deadline_ms or _has_news(state, role, parked.request):
            del role.parked[parked.token]
            _answer_fetch(state, role, parked.token, parked.request)


def _answer_fetch(state: ReplicaState, role: Leader, token: int, request: Fetch) -> None:
    has_records = request.offset < state.log.end_offset
    read_from = request.offset if has_records else None
    state.reply(token, replace(_empty_answer(state, role), read_from=read_from, max_bytes=request.max_bytes))


def _empty_answer(state: ReplicaState, role: Leader) -> FetchAnswer:
    return FetchAnswer(
        epoch=state.election.epoch,
        leader_id=state.settings.node_id,
        high_watermark=role.progress.high_watermark,
        log_start_offset=state.log.start_offset,
    )


def on_fetch_snapshot(state: ReplicaState, token: int, request: FetchSnapshot) -> None:
    """Whether the snapshot exists and how long it is, only whoever drives the replica can say."""
    error = state.leader_request_error(request.epoch)
    if error == ErrorCode.NONE and request.position < 0:
        error = ErrorCode.POSITION_OUT_OF_RANGE
    role = state.role
    if error == ErrorCode.NONE and isinstance(role, Leader) and request.replica_id in role.progress.followers:
        # It is busy catching up: that counts as much as a fetch.
        follower = role.progress.followers[request.replica_id]
        follower.last_fetch_ms = follower.last_heard_ms = state.now_ms
    state.reply(
        token,
        FetchSnapshotAnswer(
            epoch=state.election.epoch,
            leader_id=state.known_leader_id,
            error=error,
            snapshot_id=request.snapshot_id,
            position=request.position,
            max_bytes=request.max_bytes,
            to_be_read=error == ErrorCode.NONE,
        ),
    )


# --- What becomes due


def poll_leader(state: ReplicaState, role: Leader) -> float:
    settings = state.settings
    quorum_expires_ms = role.progress.quorum_expires_ms(settings.check_quorum_timeout_ms)
    if state.now_ms >= quorum_expires_ms or (state.shutting_down and not settings.is_only_voter):
        resign(state, role)
        return state.now_ms
    release_parked(state, role)
    deadline_ms = min([quorum_expires_ms, *(parked.deadline_ms for parked in role.parked.values())])
    introduction = BeginEpoch(leader_id=settings.node_id, epoch=state.election.epoch)
    for voter, follower in role.progress.followers.items():
        due_ms = follower.introduction_due_ms(settings.begin_epoch_interval_ms, role.progress.start_ms)
        if due_ms <= state.now_ms:
            if state.conversations.ready_at_ms(voter, state.now_ms) <= state.now_ms:
                follower.last_introduction_ms = state.now_ms
            due_ms = state.send(voter, lambda: introduction)
        deadline_ms = min(deadline_ms, due_ms)
    return deadline_ms


def poll_resigned(state: ReplicaState, role: Resigned) -> float:
    """Tell the others that they have to elect somebody."""
    request = EndEpoch(leader_id=state.settings.node_id, epoch=state.election.epoch, successors=role.successors)
    deadline_ms = NEVER
    for voter in sorted(role.unaware):
        deadline_ms = min(deadline_ms, state.send(voter, lambda: request))
    return deadline_ms
