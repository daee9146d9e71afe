"""One replica of the metadata log: `start`, then `step` for each event, each giving the effects to carry out.

Pure: the log is looked at through a `LogView`, time and randomness come in, nothing is awaited. Whoever drives it
carries out the `Effects` in the order of their fields before the next step, and calls `step(Tick(), now)` when the
deadline has come. A leader's own records do not pass through here: while `Leadership.leading_from` is set, append
them in that epoch, then report `Appended` (optional, quicker) and `Flushed`. A quorum of one leads after `start` and
commits with each `Flushed`.
"""

from __future__ import annotations

from typing import assert_never

from tidelog.consensus import elections, following, leading
from tidelog.consensus.amnesia import is_over, poll_unattached
from tidelog.consensus.description import UNKNOWN, describe_replicas
from tidelog.consensus.effects import NEVER, Draft, Effects, Leadership, Predecessor
from tidelog.consensus.log_view import LogView, last_epoch
from tidelog.consensus.messages import (
    Answer,
    Answered,
    Appended,
    AppendFailed,
    BeginEpoch,
    BeginEpochAnswer,
    EndEpoch,
    EndEpochAnswer,
    Event,
    Failed,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    FetchSnapshotAnswer,
    Flushed,
    Request,
    Requested,
    Resign,
    ShutDown,
    SnapshotInstalled,
    Tick,
    Vote,
    VoteAnswer,
    sender_of,
)
from tidelog.consensus.progress import ReplicaProgress
from tidelog.consensus.quorum_state import QuorumState
from tidelog.consensus.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from tidelog.consensus.settings import QuorumSettings
from tidelog.consensus.state import Amnesia, ReplicaState
from tidelog.consensus.transitions import Role
from tidelog.model.ports import Randomness
from tidelog.protocol.messages.describe_quorum_response import PartitionData


class QuorumReplica:
    """`quorum_state` is what was persisted last, None at the very first start. The log must be flushed.

    `forgetful` says that this is the first start, or that the last one began so and no effects have said since that the
    replica `remembers`.
    """

    __slots__ = ("_persisted", "_reported_high_watermark", "_reported_leadership", "_state")

    def __init__(
        self,
        *,
        settings: QuorumSettings,
        log: LogView,
        randomness: Randomness,
        quorum_state: QuorumState | None,
        forgetful: bool = False,
    ) -> None:
        election = quorum_state or QuorumState()
        if election.epoch < last_epoch(log):
            election = QuorumState(epoch=last_epoch(log))
        self._persisted = quorum_state
        self._reported_leadership: Leadership | None = None
        self._reported_high_watermark = 0
        self._state = ReplicaState(settings, log, randomness, election)
        # A voter that is alone has nobody to ask: what it has lost is lost.
        if forgetful and settings.is_voter and not settings.is_only_voter:
            self._state.amnesia = Amnesia()

    @property
    def role(self) -> Role:
        return self._state.role.role

    @property
    def epoch(self) -> int:
        return self._state.election.epoch

    @property
    def leader_id(self) -> int | None:
        return self._state.known_leader_id

    @property
    def attached_leader_id(self) -> int | None:
        """The leader that this replica is, or follows and hears from. One that stands for election has none, although
        it may still name the last one to others."""
        role = self._state.role
        return self._state.known_leader_id if isinstance(role, Leader | Follower) else None

    @property
    def high_watermark(self) -> int:
        return self._state.high_watermark

    @property
    def is_forgetful(self) -> bool:
        return self._state.amnesia is not None

    @property
    def may_stop(self) -> bool:
        """After `ShutDown`: whether the others will not miss this replica.

        They would miss a leader, until it has told those that are there that it is none any more. They elect the next
        one among themselves: if they are too few for that without this one, they will be too few in a moment anyway.
        """
        state = self._state
        if isinstance(state.role, Leader):
            return state.settings.is_only_voter
        return not isinstance(state.role, Resigned) or not state.role.unaware

    def start(self, now_ms: float) -> Effects:
        """The first step. Wherever it stood before, a replica begins without leading anybody."""
        state = self._state
        state.now_ms = now_ms
        settings = state.settings
        leader_id = state.election.leader_id
        deadline_ms = now_ms + state.draw_election_timeout_ms()
        if settings.is_only_voter:
            deadline_ms = now_ms
        elif not settings.is_voter:
            deadline_ms = NEVER
        if settings.is_voter and leader_id == settings.node_id:
            # It led this epoch. Records that were lost with the crash must not be replaced by others in the same epoch.
            state.role = Resigned(deadline_ms=deadline_ms, successors=(), unaware=set(settings.other_voters))
        elif leader_id is not None and leader_id in settings.other_voters:
            state.role = Follower(leader_id=leader_id, deadline_ms=now_ms + settings.fetch_timeout_ms)
            state.predecessor = Predecessor(leader_id, now_ms)
        else:
            state.role = Unattached(deadline_ms=deadline_ms)
        return self._finish()

    def step(self, event: Event, now_ms: float) -> Effects:
        state = self._state
        state.now_ms = max(state.now_ms, now_ms)
        match event:
            case Requested(token=token, request=request):
                self._on_request(token, request)
            case Answered(request_id=request_id, answer=answer):
                source = state.conversations.end(request_id)
                if source is not None:
                    state.heard_from(source)
                    self._on_answer(source, answer)
            case Failed(request_id=request_id, refused=refused):
                self._on_failure(request_id, refused)
            case Appended():
                pass
            case Flushed(end_offset=end_offset):
                self._on_flushed(end_offset)
            case AppendFailed():
                following.on_append_failed(state)
            case SnapshotInstalled(snapshot_id=snapshot_id):
                following.on_snapshot_installed(state, snapshot_id)
            case Tick():
                pass
            case Resign(epoch=epoch):
                if isinstance(state.role, Leader) and epoch == state.election.epoch:
                    leading.resign(state, state.role)
            case ShutDown():
                state.shutting_down = True
            case _:
                assert_never(event)
        return self._finish()

    def describe(self, now_ms: float, wall_ms: int) -> PartitionData | None:
        """For DescribeQuorum. None unless this replica leads: only a leader knows."""
        state = self._state
        role = state.role
        if not isinstance(role, Leader):
            return None
        progress = role.progress
        progress.forget_silent_observers(now_ms)
        own = ReplicaProgress(
            replica_id=state.settings.node_id,
            directory_id=state.settings.directory_id,
            end_offset=state.log.end_offset,
            last_fetch_ms=now_ms,
            last_caught_up_ms=now_ms,
        )
        return PartitionData(
            error_message="",
            leader_id=state.settings.node_id,
            leader_epoch=state.election.epoch,
            high_watermark=UNKNOWN if progress.high_watermark is None else progress.high_watermark,
            current_voters=describe_replicas([own, *progress.followers.values()], now_ms, wall_ms),
            observers=describe_replicas(progress.observers.values(), now_ms, wall_ms),
        )

    # --- Events

    def _on_request(self, token: int, request: Request) -> None:
        state = self._state
        state.heard_from(sender_of(request))
        match request:
            case Vote():
                elections.on_vote(state, token, request)
            case BeginEpoch():
                following.on_begin_epoch(state, token, request)
            case EndEpoch():
                elections.on_end_epoch(state, token, request)
            case Fetch():
                leading.on_fetch(state, token, request)
            case FetchSnapshot():
                leading.on_fetch_snapshot(state, token, request)
            case _:
                assert_never(request)

    def _on_answer(self, source: int, answer: Answer) -> None:
        state = self._state
        match answer:
            case VoteAnswer():
                elections.on_vote_answer(state, source, answer)
            case BeginEpochAnswer():
                leading.on_begin_epoch_answer(state, source, answer)
            case EndEpochAnswer():
                leading.on_end_epoch_answer(state, source, answer)
            case FetchAnswer():
                following.on_fetch_answer(state, source, answer)
            case FetchSnapshotAnswer():
                following.on_fetch_snapshot_answer(state, source, answer)
            case _:
                assert_never(answer)

    def _on_failure(self, request_id: int, refused: bool) -> None:
        state = self._state
        source = state.conversations.end(request_id)
        if source is None:
            return
        if isinstance(state.role, Follower) and not state.settings.is_voter:
            following.lose_leader(state)
        elif refused and isinstance(state.role, Follower) and source == state.role.leader_id:
            following.on_leader_refused(state, state.role)
        elif refused and isinstance(state.role, Resigned):
            # Nobody is there who could be told.
            state.role.unaware.discard(source)
        state.conversations.pause(source, state.now_ms)

    def _on_flushed(self, end_offset: int) -> None:
        state = self._state
        state.durable_end_offset = max(state.durable_end_offset, end_offset)
        if end_offset >= state.log.end_offset:
            state.write_pending = False
        if isinstance(state.role, Leader):
            leading.commit(state, state.role)
        following.raise_high_watermark(state)

    # --- The end of each step

    def _finish(self) -> Effects:
        """Do what is due, then hand over everything that the step has brought about."""
        state = self._state
        remembers = state.amnesia is not None and is_over(state, state.amnesia)
        if remembers:
            state.amnesia = None
        polled, deadline_ms = None, state.now_ms
        while polled is not state.role:
            polled = state.role
            deadline_ms = self._poll()
        draft, state.draft = state.draft, Draft()
        quorum_state = state.election if state.election != self._persisted else None
        self._persisted = state.election
        leadership = self._leadership()
        changed = leadership if leadership != self._reported_leadership else None
        self._reported_leadership = leadership
        high_watermark = state.high_watermark if state.high_watermark > self._reported_high_watermark else None
        self._reported_high_watermark = state.high_watermark
        return Effects(
            quorum_state=quorum_state,
            remembers=remembers,
            truncate_to=draft.truncate_to,
            append=draft.append,
            snapshot_chunk=draft.snapshot_chunk,
            leadership=changed,
            high_watermark=high_watermark,
            replies=tuple(draft.replies),
            requests=tuple(draft.requests),
            deadline_ms=deadline_ms,
        )

    def _poll(self) -> float:
        state = self._state
        role = state.role
        match role:
            case Unattached():
                is_voter = state.settings.is_voter
                if state.amnesia is not None:
                    return poll_unattached(state, state.amnesia, role)
                return elections.poll_waiting(state, role) if is_voter else following.poll_discovery(state)
            case Prospective() | Candidate():
                return elections.poll_election(state, role)
            case Follower():
                return following.poll_follower(state, role)
            case Leader():
                return leading.poll_leader(state, role)
            case Resigned():
                deadline_ms = elections.poll_waiting(state, role)
                return min(deadline_ms, leading.poll_resigned(state, role)) if state.role is role else deadline_ms
            case _:
                assert_never(role)

    def _leadership(self) -> Leadership:
        role = self._state.role
        if not isinstance(role, Leader):
            return Leadership(epoch=self.epoch, leader_id=self.leader_id)
        return Leadership(
            epoch=self.epoch,
            leader_id=self.leader_id,
            leading_from=role.progress.epoch_start_offset,
            predecessor=role.predecessor,
        )
