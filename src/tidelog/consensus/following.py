"""Fetching: what followers and observers do with the leader's log, its truncations and its snapshots.

The next fetch is built only when the log is flushed up to its end, because its offset is the promise that everything
before it will survive a crash. The leader counts on that promise (`tidelog.consensus.progress`).
"""

from __future__ import annotations

from tidelog.consensus import amnesia, elections
from tidelog.consensus.effects import FetchedAppend, SnapshotChunk
from tidelog.consensus.log_view import last_epoch, truncation_offset
from tidelog.consensus.messages import (
    BeginEpoch,
    BeginEpochAnswer,
    EpochEnd,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    FetchSnapshotAnswer,
    SnapshotId,
)
from tidelog.consensus.roles import Follower, SnapshotDownload, Unattached
from tidelog.consensus.state import ReplicaState
from tidelog.consensus.transitions import Cause, QuorumInvariantBroken
from tidelog.model.errors import ErrorCode

# A port that is refused once may be about to open; one that stays so for this many fetches has nobody behind it.
REFUSALS_BEFORE_ELECTION = 3
MAX_HURRIED_DELAY_MS = 150

_RESTART_DOWNLOAD = frozenset({ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE})


def on_begin_epoch(state: ReplicaState, token: int, request: BeginEpoch) -> None:
    error = state.voter_request_error(request.leader_id, request.epoch)
    if error == ErrorCode.NONE:
        known_id = state.election.leader_id
        if request.epoch == state.election.epoch and known_id not in (None, request.leader_id):
            error = ErrorCode.INVALID_REQUEST
        else:
            state.learn(request.epoch, request.leader_id)
    answer = BeginEpochAnswer(epoch=state.election.epoch, leader_id=state.known_leader_id, error=error)
    state.reply(token, answer)


# --- Records


def on_fetch_answer(state: ReplicaState, source: int, answer: FetchAnswer) -> None:
    role = _answered_by_leader(state, source, answer)
    if role is None:
        return
    if answer.diverging is not None:
        _truncate(state, answer.diverging)
        return
    if answer.snapshot_id is not None:
        role.download = SnapshotDownload(snapshot_id=answer.snapshot_id)
        return
    if answer.records:
        state.draft.append = FetchedAppend(base_offset=state.log.end_offset, records=answer.records)
        state.write_pending = True
    if answer.high_watermark is not None:
        role.leader_high_watermark = max(role.leader_high_watermark, answer.high_watermark)
    raise_high_watermark(state)


def _answered_by_leader(state: ReplicaState, source: int, answer: FetchAnswer | FetchSnapshotAnswer) -> Follower | None:
    if not state.accept_answer(source, answer):
        return None
    role = state.role
    if not isinstance(role, Follower) or source != role.leader_id:
        return None
    role.has_fetched = True
    role.refusals = 0
    role.may_hurry = True
    role.deadline_ms = state.now_ms + state.settings.fetch_timeout_ms
    return role


def _truncate(state: ReplicaState, diverging: EpochEnd) -> None:
    offset = truncation_offset(state.log, diverging)
    if offset < state.high_watermark:
        raise QuorumInvariantBroken(
            f"the leader of epoch {state.election.epoch} does not have offset {offset}, "
            f"but everything before {state.high_watermark} is committed"
        )
    if offset >= state.log.end_offset:
        raise QuorumInvariantBroken(f"the leader's log parts from the own one at {diverging}, which cuts nothing off")
    state.draft.truncate_to = offset
    state.durable_end_offset = min(state.durable_end_offset, offset)
    state.write_pending = True


def raise_high_watermark(state: ReplicaState) -> None:
    """A follower knows that the leader's records are committed, and applies those that it has durably itself."""
    if isinstance(state.role, Follower):
        reached = min(state.role.leader_high_watermark, state.durable_end_offset)
        state.high_watermark = max(state.high_watermark, reached)


def on_append_failed(state: ReplicaState) -> None:
    """Damaged on the way: ask again, but not at once."""
    state.write_pending = False
    if isinstance(state.role, Follower):
        state.conversations.pause(state.role.leader_id, state.now_ms)


def on_leader_refused(state: ReplicaState, role: Follower) -> None:
    """The leader's process is gone, or it seems so from here: do not wait for the fetch timeout.

    A wrong guess costs nothing but a pre-vote: others who still hear from the leader refuse it. One that was refused so
    has had its chance, and waits for the fetch timeout like everybody else until it has fetched again. The draw keeps
    voters that notice at the same moment from standing against each other.
    """
    role.refusals += 1
    if role.refusals == REFUSALS_BEFORE_ELECTION and role.may_hurry:
        role.has_fetched = False
        hurried_ms = state.now_ms + state.randomness.below(MAX_HURRIED_DELAY_MS)
        role.deadline_ms = min(role.deadline_ms, hurried_ms)


# --- Snapshots


def on_fetch_snapshot_answer(state: ReplicaState, source: int, answer: FetchSnapshotAnswer) -> None:
    role = _answered_by_leader(state, source, answer)
    if role is None:
        if isinstance(state.role, Follower) and answer.error in _RESTART_DOWNLOAD:
            # The leader has a newer snapshot by now; the next fetch will name it.
            state.role.download = None
        return
    download = role.download
    if download is None:
        return
    end_position = answer.position + len(answer.data)
    if (answer.snapshot_id, answer.position) != (download.snapshot_id, download.position) or not answer.data:
        role.download = None
        state.conversations.pause(source, state.now_ms)
        return
    is_last = end_position >= answer.size
    state.draft.snapshot_chunk = SnapshotChunk(
        snapshot_id=download.snapshot_id, position=download.position, data=answer.data, is_last=is_last
    )
    download.position = end_position
    if is_last:
        role.download = None
        state.write_pending = True


def on_snapshot_installed(state: ReplicaState, snapshot_id: SnapshotId) -> None:
    state.write_pending = False
    state.durable_end_offset = state.log.end_offset
    state.high_watermark = max(state.high_watermark, snapshot_id.end_offset)


# --- What becomes due


def poll_follower(state: ReplicaState, role: Follower) -> float:
    if state.now_ms >= role.deadline_ms:
        if not state.settings.is_voter or state.amnesia is not None:
            lose_leader(state)
            return state.now_ms
        if not state.shutting_down:
            elections.become_prospective(state, Cause.TIMEOUT)
            return state.now_ms
    deadline_ms = role.deadline_ms if role.deadline_ms > state.now_ms else float("inf")
    if state.amnesia is not None:
        deadline_ms = min(deadline_ms, amnesia.ask(state, state.amnesia))
    if not _may_fetch(state):
        return deadline_ms
    return min(deadline_ms, state.send(role.leader_id, lambda: _next_fetch(state, role.download)))


def lose_leader(state: ReplicaState) -> None:
    """An observer asks others who leads, a voter without a past waits until somebody introduces itself. The leader it
    knew stays on record until it learns of another."""
    state.enter(Cause.LEADER_LOST, Unattached(deadline_ms=float("inf")))


def poll_discovery(state: ReplicaState) -> float:
    """An observer fetches from any voter; one that does not lead answers who does."""
    now_ms = state.now_ms
    busy_until_ms = state.conversations.waiting_until_ms(now_ms)
    if busy_until_ms > now_ms:
        return busy_until_ms
    if not _may_fetch(state):
        return float("inf")
    voters = state.settings.other_voters
    ready = [voter for voter in voters if state.conversations.ready_at_ms(voter, now_ms) <= now_ms]
    if not ready:
        return min(state.conversations.ready_at_ms(voter, now_ms) for voter in voters)
    return state.send(ready[state.randomness.below(len(ready))], lambda: _next_fetch(state, None))


def _may_fetch(state: ReplicaState) -> bool:
    return not state.write_pending and state.durable_end_offset >= state.log.end_offset


def _next_fetch(state: ReplicaState, download: SnapshotDownload | None) -> Fetch | FetchSnapshot:
    settings = state.settings
    if download is not None:
        return FetchSnapshot(
            replica_id=settings.node_id,
            directory_id=settings.directory_id,
            epoch=state.election.epoch,
            snapshot_id=download.snapshot_id,
            position=download.position,
            max_bytes=settings.fetch_snapshot_max_bytes,
        )
    return Fetch(
        replica_id=settings.node_id,
        directory_id=settings.directory_id,
        epoch=state.election.epoch,
        offset=state.log.end_offset,
        last_epoch=last_epoch(state.log),
        high_watermark=state.high_watermark,
        max_wait_ms=settings.fetch_max_wait_ms,
        max_bytes=settings.fetch_max_bytes,
    )
