"""The state that all roles of a replica share, and the changes that all of them can undergo.

Only `enter` changes the role. The parts of the protocol that belong to some roles only are in `elections`, `following`
and `leading`; they work on this state. `tidelog.consensus.replica` is the door for everybody else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from tidelog.consensus.conversations import Conversations
from tidelog.consensus.effects import Draft, Predecessor, Reply, Send
from tidelog.consensus.log_view import LogView
from tidelog.consensus.messages import Answer, FetchAnswer, Request, VoteAnswer
from tidelog.consensus.quorum_state import QuorumState
from tidelog.consensus.roles import Candidate, Follower, Leader, Prospective, RoleState, Unattached
from tidelog.consensus.settings import QuorumSettings
from tidelog.consensus.transitions import OBSERVER_ROLES, QUORUM_ROLE, Cause, QuorumInvariantBroken
from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Randomness


@dataclass(slots=True)
class Amnesia:
    """What the other voters have answered since this one started: their epochs, and whether their logs are empty."""

    epochs: dict[int, int] = field(default_factory=dict)
    empty: dict[int, bool] = field(default_factory=dict)

    def heard(self, voter: int, answer: VoteAnswer) -> None:
        """An error only says that the question has to be asked again, in a later epoch."""
        self.epochs[voter] = max(answer.epoch, self.epochs.get(voter, 0))
        if answer.error == ErrorCode.NONE:
            # A pre-vote for an empty log is given by those only whose log is empty, and who have no leader.
            self.empty[voter] = answer.granted


@dataclass(slots=True)
class ReplicaState:
    settings: QuorumSettings
    log: LogView
    randomness: Randomness
    # What the quorum-state file has to say before the effects of this step become visible to anybody.
    election: QuorumState
    now_ms: float = 0.0
    role: RoleState = field(init=False)
    high_watermark: int = field(init=False)
    durable_end_offset: int = field(init=False)
    # Whether the log is being changed or flushed on behalf of this replica.
    write_pending: bool = False
    conversations: Conversations = field(init=False)
    lost_elections: int = 0
    # The leader that was followed last. Its silence counts from the last sign of life, however often this replica
    # has stood for election since.
    predecessor: Predecessor | None = None
    shutting_down: bool = False
    # What a voter without a past has found out so far; None for all others (`tidelog.consensus.amnesia`).
    amnesia: Amnesia | None = None
    draft: Draft = field(default_factory=Draft)

    def __post_init__(self) -> None:
        self.role = Unattached(deadline_ms=self.now_ms)
        snapshot = self.log.latest_snapshot
        self.high_watermark = 0 if snapshot is None else snapshot.end_offset
        self.durable_end_offset = self.log.end_offset
        self.conversations = Conversations(self.settings.request_timeout_ms, self.settings.retry_backoff_ms)

    # --- Talking

    def reply(self, token: int, answer: Answer) -> None:
        self.draft.replies.append(Reply(token=token, answer=answer))

    def send(self, voter: int, build_request: Callable[[], Request]) -> float:
        """Send unless a request to this voter is under way; when to try again."""
        ready_at_ms = self.conversations.ready_at_ms(voter, self.now_ms)
        if ready_at_ms > self.now_ms:
            return ready_at_ms
        request_id = self.conversations.begin(voter, self.now_ms)
        self.draft.requests.append(Send(destination=voter, request_id=request_id, request=build_request()))
        return self.conversations.ready_at_ms(voter, self.now_ms)

    def accept_answer(self, source: int, answer: Answer) -> bool:
        """Learn what every answer tells. Whether it also reports success, in this epoch."""
        if answer.epoch > self.election.epoch:
            self.learn(answer.epoch, answer.leader_id)
            return False
        if answer.epoch == self.election.epoch and answer.leader_id is not None:
            # A voter that doubts its leader is not reassured by others who name the same: they may be as wrong.
            if self.election.leader_id is None or isinstance(self.role, Unattached):
                self.learn(answer.epoch, answer.leader_id)
            elif answer.leader_id != self.election.leader_id:
                raise QuorumInvariantBroken(
                    f"voter {source} names {answer.leader_id} as the leader of epoch {answer.epoch}, "
                    f"which is led by {self.election.leader_id}"
                )
        if answer.epoch < self.election.epoch or answer.error != ErrorCode.NONE:
            self.conversations.pause(source, self.now_ms)
            return False
        return True

    def heard_from(self, sender_id: int) -> None:
        """Any message is a sign of life."""
        if self.predecessor is not None and self.predecessor.leader_id == sender_id:
            self.predecessor = Predecessor(sender_id, self.now_ms)

    # --- Changing roles

    def enter(self, cause: Cause, role: RoleState) -> None:
        expected = QUORUM_ROLE.after(self.role.role, cause, of=self.settings.node_id)
        if role.role is not expected or not (self.settings.is_voter or expected in OBSERVER_ROLES):
            raise QuorumInvariantBroken(
                f"{self.role.role.value} replica {self.settings.node_id} must not become {role.role.value}: {cause}"
            )
        left = self.role
        self.role = role
        self.conversations.forget_requests()
        if isinstance(left, Leader):
            for parked in left.parked.values():
                self.reply(parked.token, self.fetch_refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER))

    def learn(self, epoch: int, leader_id: int | None) -> None:
        """Somebody has spoken of an epoch that is not below the own one, and perhaps of its leader."""
        own_id = self.settings.node_id
        if leader_id is not None and leader_id not in self.settings.voters:
            leader_id = None
        if epoch > self.election.epoch:
            if leader_id == own_id:
                # A leader makes its epoch durable before it tells anybody, so the own files were lost. Whatever else
                # was promised in this epoch: there will be no vote in it.
                self.become_unattached(epoch)
                self.election = QuorumState(epoch=epoch, voted_id=own_id)
            elif leader_id is None:
                self.become_unattached(epoch)
            else:
                self.become_follower(epoch, leader_id, Cause.LEADER_FOUND)
        elif leader_id is None or leader_id == own_id or isinstance(self.role, Follower):
            return
        elif self.election.leader_id in (None, leader_id):
            self.become_follower(epoch, leader_id, Cause.LEADER_FOUND)

    def become_unattached(self, epoch: int) -> None:
        self.election = QuorumState(epoch=epoch)
        role = self.role
        if not self.settings.is_voter:
            deadline_ms = float("inf")
        elif isinstance(role, Unattached | Prospective | Candidate):
            # The candidacies of others do not put off the own one: one that can only lose could do so for ever.
            deadline_ms = role.deadline_ms
        else:
            deadline_ms = self.now_ms + self.draw_election_timeout_ms()
        self.enter(Cause.HIGHER_EPOCH, Unattached(deadline_ms=deadline_ms))

    def become_follower(self, epoch: int, leader_id: int, cause: Cause) -> None:
        self.election = QuorumState(epoch=epoch, leader_id=leader_id)
        self.lost_elections = 0
        if self.predecessor is None or self.predecessor.leader_id != leader_id:
            self.predecessor = Predecessor(leader_id, self.now_ms)
        deadline_ms = self.now_ms + self.settings.fetch_timeout_ms
        may_hurry = cause is not Cause.LEADER_REMEMBERED
        self.enter(cause, Follower(leader_id=leader_id, deadline_ms=deadline_ms, may_hurry=may_hurry))

    def draw_election_timeout_ms(self) -> float:
        """Between one and two election timeouts, so that voters seldom stand against each other."""
        timeout_ms = max(1, self.settings.election_timeout_ms)
        return timeout_ms + self.randomness.below(timeout_ms)

    # --- What several roles answer

    def voter_request_error(self, sender_id: int, epoch: int) -> ErrorCode:
        """What speaks against a request that only voters send to voters."""
        if epoch < self.election.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if sender_id not in self.settings.voters or not self.settings.is_voter:
            return ErrorCode.INCONSISTENT_VOTER_SET
        if sender_id == self.settings.node_id:
            return ErrorCode.INVALID_REQUEST
        return ErrorCode.NONE

    def leader_request_error(self, epoch: int) -> ErrorCode:
        """What speaks against a request that only a leader can answer."""
        if epoch < self.election.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if epoch > self.election.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not isinstance(self.role, Leader):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    def fetch_refusal(self, error: ErrorCode) -> FetchAnswer:
        return FetchAnswer(epoch=self.election.epoch, leader_id=self.known_leader_id, error=error)

    @property
    def known_leader_id(self) -> int | None:
        """Whom to send others to. A leader that has resigned is none."""
        leader_id = self.election.leader_id
        return None if leader_id == self.settings.node_id and not isinstance(self.role, Leader) else leader_id
