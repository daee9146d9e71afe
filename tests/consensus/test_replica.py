"""Single decisions of a replica: how it starts, what it answers in which role, and what it leaves to its driver."""

from __future__ import annotations

from dataclasses import replace

import pytest
from consensus.scripted import FixedRandomness
from consensus.simulated_log import Entry, SimulatedLog, encode_entries
from hypothesis import given, settings
from hypothesis import strategies as st
from support.default_settings import quorum_settings

from tidelog.consensus.effects import Effects, FetchedAppend, LeaderChangeAppend, Predecessor
from tidelog.consensus.messages import (
    Answer,
    Answered,
    AppendFailed,
    BeginEpoch,
    BeginEpochAnswer,
    EndEpoch,
    EndEpochAnswer,
    EpochEnd,
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
    SnapshotId,
    SnapshotInstalled,
    Tick,
    Vote,
    VoteAnswer,
)
from tidelog.consensus.quorum_state import QuorumState
from tidelog.consensus.replica import QuorumReplica
from tidelog.consensus.transitions import QuorumInvariantBroken, Role
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid


class Driven:
    """Replica 1 of voters 1, 2 and 3, with a log, and the driver's part done at once unless a test wants it done."""

    def __init__(
        self,
        *epochs: int,
        state: QuorumState | None = None,
        voters: tuple[int, ...] = (1, 2, 3),
        snapshot_at: int = 0,
    ) -> None:
        self.log = SimulatedLog()
        if epochs:
            self.log.append([Entry(epoch, offset) for offset, epoch in enumerate(epochs)])
            self.log.end_flush(self.log.begin_flush())
        if snapshot_at:
            self.log.take_snapshot(snapshot_at)
        self.now_ms = 0.0
        self.replica = QuorumReplica(
            settings=quorum_settings(node_id=1, voters=frozenset(voters)),
            log=self.log,
            randomness=FixedRandomness(0),
            quorum_state=state,
        )
        self.last = self.carry_out(self.replica.start(0.0))

    def role(self) -> Role:
        return self.replica.role

    def step(self, event: Event, after_ms: float = 0.0) -> Effects:
        self.now_ms += after_ms
        self.last = self.carry_out(self.replica.step(event, self.now_ms))
        return self.last

    def carry_out(self, effects: Effects) -> Effects:
        if effects.truncate_to is not None:
            self.log.truncate_to(effects.truncate_to)
        match effects.append:
            case LeaderChangeAppend(epoch=epoch):
                self.log.append([Entry(epoch, -1)])
            case FetchedAppend(records=records):
                self.log.append([Entry(1, -2)] * (len(records) // 12))
        return effects

    def flush(self) -> Effects:
        return self.step(Flushed(end_offset=self.log.end_offset))

    def ask(self, request: Request) -> Answer:
        """The answer to a request that is answered at once."""
        (reply,) = self.step(Requested(token=1, request=request)).replies
        return reply.answer

    def answer(self, answer: Answer, destination: int | None = None) -> Effects:
        """Answer the request of the last step, to this voter or to the only one."""
        (sent,) = [send for send in self.last.requests if destination in (None, send.destination)]
        return self.step(Answered(request_id=sent.request_id, answer=answer))


def leader(*epochs: int, voters: tuple[int, ...] = (1, 2, 3), snapshot_at: int = 0) -> Driven:
    """In the epoch after the last one."""
    driven = Driven(*epochs, voters=voters, snapshot_at=snapshot_at)
    if len(voters) > 1:
        epoch = max(epochs, default=0)
        driven.step(Tick(), after_ms=1_000)
        driven.answer(VoteAnswer(epoch=epoch, granted=True), 2)
        driven.answer(VoteAnswer(epoch=epoch + 1, granted=True), 2)
    driven.flush()
    assert driven.role() is Role.LEADER
    return driven


def follower(*epochs: int, epoch: int = 5) -> Driven:
    """Of node 2."""
    return Driven(*epochs, state=QuorumState(epoch=epoch, leader_id=2))


# --- Starting


@pytest.mark.parametrize(
    ("state", "epochs", "role", "epoch"),
    [
        (None, (), Role.UNATTACHED, 0),
        (QuorumState(epoch=3), (), Role.UNATTACHED, 3),
        (QuorumState(epoch=3, voted_id=2), (1,), Role.UNATTACHED, 3),
        (QuorumState(epoch=3, voted_id=1), (1,), Role.UNATTACHED, 3),
        (QuorumState(epoch=3, leader_id=2), (1,), Role.FOLLOWER, 3),
        (QuorumState(epoch=3, leader_id=1), (1,), Role.RESIGNED, 3),
        (QuorumState(epoch=3, leader_id=9), (1,), Role.UNATTACHED, 3),
        (QuorumState(epoch=3, leader_id=1), (1, 4), Role.UNATTACHED, 4),
    ],
)
def test_a_voter_starts_where_it_stood_but_never_leading(
    state: QuorumState | None, epochs: tuple[int, ...], role: Role, epoch: int
) -> None:
    driven = Driven(*epochs, state=state)
    assert driven.role() is role
    assert driven.replica.epoch == epoch
    assert driven.last.append is None


def test_a_quorum_of_one_leads_with_its_first_step_and_one_write_of_its_state() -> None:
    driven = Driven(1, 1, state=QuorumState(epoch=1, leader_id=1), voters=(1,))
    assert driven.role() is Role.LEADER
    assert driven.last.quorum_state == QuorumState(epoch=2, leader_id=1)
    assert isinstance(driven.last.append, LeaderChangeAppend)
    assert driven.last.requests == ()
    assert driven.last.deadline_ms == float("inf")
    assert driven.flush().high_watermark == 3


def test_an_observer_of_a_voter_never_votes_or_leads() -> None:
    driven = Driven(voters=(2, 3, 4))
    for _ in range(50):
        driven.step(Tick(), after_ms=3_000)
        assert driven.role() is Role.UNATTACHED
        assert [type(send.request) for send in driven.last.requests] == [Fetch]
    answer = driven.ask(Vote(candidate_id=2, epoch=5, last_epoch=0, end_offset=0))
    assert answer.error == ErrorCode.INCONSISTENT_VOTER_SET


# --- Votes


@pytest.mark.parametrize(
    ("state", "vote", "granted"),
    [
        (QuorumState(epoch=5), Vote(candidate_id=2, epoch=6, last_epoch=3, end_offset=3), True),
        (QuorumState(epoch=5), Vote(candidate_id=2, epoch=6, last_epoch=3, end_offset=2), False),
        (QuorumState(epoch=5), Vote(candidate_id=2, epoch=6, last_epoch=4, end_offset=1), True),
        (QuorumState(epoch=5), Vote(candidate_id=2, epoch=6, last_epoch=2, end_offset=9), False),
        (QuorumState(epoch=6), Vote(candidate_id=2, epoch=6, last_epoch=3, end_offset=3), True),
        (QuorumState(epoch=6, voted_id=2), Vote(candidate_id=2, epoch=6, last_epoch=3, end_offset=3), True),
        (QuorumState(epoch=6, voted_id=3), Vote(candidate_id=2, epoch=6, last_epoch=3, end_offset=9), False),
        (QuorumState(epoch=6, voted_id=1), Vote(candidate_id=2, epoch=6, last_epoch=3, end_offset=9), False),
        (QuorumState(epoch=6, leader_id=3), Vote(candidate_id=2, epoch=6, last_epoch=3, end_offset=9), False),
        (QuorumState(epoch=6, leader_id=1), Vote(candidate_id=2, epoch=6, last_epoch=3, end_offset=9), False),
        (QuorumState(epoch=6, leader_id=1), Vote(candidate_id=2, epoch=7, last_epoch=3, end_offset=9), True),
        (
            QuorumState(epoch=6, voted_id=2, voted_directory_id=Uuid(b"a" * 16)),
            Vote(candidate_id=2, epoch=6, last_epoch=3, end_offset=3, candidate_directory_id=Uuid(b"b" * 16)),
            False,
        ),
    ],
)
def test_one_vote_per_epoch_for_a_log_that_is_up_to_date(state: QuorumState, vote: Vote, granted: bool) -> None:
    driven = Driven(1, 3, 3, state=state)
    assert driven.ask(vote) == VoteAnswer(epoch=vote.epoch, leader_id=driven.replica.leader_id, granted=granted)
    if granted and (state.epoch, state.voted_id) != (vote.epoch, vote.candidate_id):
        assert driven.last.quorum_state == QuorumState(epoch=vote.epoch, voted_id=2)


@pytest.mark.parametrize("has_fetched", [False, True])
def test_a_follower_helps_to_replace_only_a_leader_that_it_has_not_heard_from(has_fetched: bool) -> None:
    driven = follower(1, 3, 3)
    if has_fetched:
        driven.answer(FetchAnswer(epoch=5, leader_id=2))
    pre_vote = Vote(candidate_id=3, epoch=5, last_epoch=3, end_offset=3, pre_vote=True)
    answer = driven.ask(pre_vote)
    assert answer == VoteAnswer(epoch=5, leader_id=2, granted=not has_fetched)
    assert driven.last.quorum_state is None, "a pre-vote binds nobody"
    assert driven.ask(replace(pre_vote, end_offset=2)) == VoteAnswer(epoch=5, leader_id=2, granted=False)


def test_a_leader_that_resigns_frees_its_followers_to_elect_another() -> None:
    driven = follower(1, 3, 3)
    driven.answer(FetchAnswer(epoch=5, leader_id=2))
    driven.step(Requested(token=1, request=EndEpoch(leader_id=2, epoch=5, successors=(3, 1))))
    assert driven.last.deadline_ms == 500, "the second of two waits half of the maximum"
    answer = driven.ask(Vote(candidate_id=3, epoch=5, last_epoch=3, end_offset=3, pre_vote=True))
    assert answer == VoteAnswer(epoch=5, leader_id=2, granted=True)


def test_a_leader_does_not_help_to_replace_itself() -> None:
    driven = leader(1)
    answer = driven.ask(Vote(candidate_id=2, epoch=2, last_epoch=2, end_offset=9, pre_vote=True))
    assert answer == VoteAnswer(epoch=2, leader_id=1, granted=False)


@pytest.mark.parametrize(
    ("vote", "error"),
    [
        (Vote(candidate_id=2, epoch=4, last_epoch=3, end_offset=3), ErrorCode.FENCED_LEADER_EPOCH),
        (Vote(candidate_id=9, epoch=6, last_epoch=3, end_offset=3), ErrorCode.INCONSISTENT_VOTER_SET),
        (Vote(candidate_id=1, epoch=6, last_epoch=3, end_offset=3), ErrorCode.INVALID_REQUEST),
        (Vote(candidate_id=2, epoch=6, last_epoch=6, end_offset=3), ErrorCode.INVALID_REQUEST),
        (Vote(candidate_id=2, epoch=6, last_epoch=7, end_offset=3, pre_vote=True), ErrorCode.INVALID_REQUEST),
        (Vote(candidate_id=2, epoch=6, last_epoch=-1, end_offset=3), ErrorCode.INVALID_REQUEST),
        (Vote(candidate_id=2, epoch=6, last_epoch=3, end_offset=-1), ErrorCode.INVALID_REQUEST),
    ],
)
def test_votes_that_make_no_sense_are_refused_and_change_nothing(vote: Vote, error: ErrorCode) -> None:
    driven = Driven(1, 3, 3, state=QuorumState(epoch=5))
    assert driven.ask(vote) == VoteAnswer(epoch=5, error=error)
    assert driven.last.quorum_state is None


def test_a_refused_candidate_pauses_and_asks_again_before_it_stands_again() -> None:
    driven = Driven()
    driven.step(Tick(), after_ms=1_000)
    driven.answer(VoteAnswer(epoch=0, granted=True), 2)
    assert driven.role() is Role.CANDIDATE
    votes = driven.last.requests
    driven.step(Answered(request_id=votes[0].request_id, answer=VoteAnswer(epoch=1)))
    effects = driven.step(Answered(request_id=votes[1].request_id, answer=VoteAnswer(epoch=1)))
    assert driven.now_ms < effects.deadline_ms <= driven.now_ms + 1_000
    driven.step(Tick(), after_ms=effects.deadline_ms - driven.now_ms)
    assert driven.role() is Role.PROSPECTIVE
    assert driven.replica.epoch == 1


# --- Leaders of others


@pytest.mark.parametrize(
    ("request_", "answer", "role"),
    [
        (BeginEpoch(leader_id=2, epoch=5), BeginEpochAnswer(epoch=5, leader_id=2), Role.FOLLOWER),
        (BeginEpoch(leader_id=2, epoch=7), BeginEpochAnswer(epoch=7, leader_id=2), Role.FOLLOWER),
        (
            BeginEpoch(leader_id=2, epoch=4),
            BeginEpochAnswer(epoch=5, error=ErrorCode.FENCED_LEADER_EPOCH),
            Role.UNATTACHED,
        ),
        (
            BeginEpoch(leader_id=9, epoch=6),
            BeginEpochAnswer(epoch=5, error=ErrorCode.INCONSISTENT_VOTER_SET),
            Role.UNATTACHED,
        ),
        (BeginEpoch(leader_id=1, epoch=6), BeginEpochAnswer(epoch=5, error=ErrorCode.INVALID_REQUEST), Role.UNATTACHED),
        (EndEpoch(leader_id=2, epoch=5), EndEpochAnswer(epoch=5, leader_id=2), Role.FOLLOWER),
        (
            EndEpoch(leader_id=2, epoch=4),
            EndEpochAnswer(epoch=5, error=ErrorCode.FENCED_LEADER_EPOCH),
            Role.UNATTACHED,
        ),
    ],
)
def test_leaders_are_believed_unless_their_epoch_is_over(request_: Request, answer: Answer, role: Role) -> None:
    driven = Driven(1, state=QuorumState(epoch=5))
    assert driven.ask(request_) == answer
    assert driven.role() is role


def test_a_second_leader_of_the_same_epoch_is_refused() -> None:
    driven = follower(1)
    answer = driven.ask(BeginEpoch(leader_id=3, epoch=5))
    assert answer == BeginEpochAnswer(epoch=5, leader_id=2, error=ErrorCode.INVALID_REQUEST)


def test_a_voter_that_names_another_leader_of_the_same_epoch_stops_the_replica() -> None:
    driven = follower(1)
    with pytest.raises(QuorumInvariantBroken, match="names 3 as the leader of epoch 5"):
        driven.answer(FetchAnswer(epoch=5, leader_id=3, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))


def test_a_replica_that_is_said_to_lead_an_epoch_it_forgot_does_not_vote_in_it() -> None:
    driven = follower(1)
    driven.answer(FetchAnswer(epoch=8, leader_id=1, error=ErrorCode.FENCED_LEADER_EPOCH))
    assert driven.role() is Role.UNATTACHED
    assert driven.last.quorum_state == QuorumState(epoch=8, voted_id=1)


def test_a_follower_that_hears_nothing_asks_before_it_stands_and_goes_back_when_refused() -> None:
    driven = follower(1)
    driven.step(Tick(), after_ms=2_000)
    assert driven.role() is Role.PROSPECTIVE
    assert driven.replica.leader_id == 2
    votes = driven.last.requests
    for send in votes:
        driven.step(Answered(request_id=send.request_id, answer=VoteAnswer(epoch=5, leader_id=2)))
    assert driven.role() is Role.FOLLOWER
    assert driven.replica.epoch == 5


def refuse(driven: Driven, times: int) -> None:
    """The leader's machine says that nobody listens there, as often as the follower asks."""
    for _ in range(times):
        (fetch,) = driven.last.requests
        driven.step(Failed(request_id=fetch.request_id, refused=True))
        driven.step(Tick(), after_ms=20)


def test_a_follower_whose_leader_is_gone_does_not_wait_for_the_fetch_timeout() -> None:
    driven = follower(1)
    driven.answer(FetchAnswer(epoch=5, leader_id=2))
    refuse(driven, 2)
    assert driven.role() is Role.FOLLOWER
    refuse(driven, 1)
    assert driven.role() is Role.PROSPECTIVE
    assert driven.now_ms < 100
    # It also helps others who have noticed.
    assert driven.ask(Vote(candidate_id=3, epoch=5, last_epoch=1, end_offset=1, pre_vote=True)) == VoteAnswer(
        epoch=5, leader_id=2, granted=True
    )


def test_a_connection_that_is_not_refused_is_no_reason_to_hurry() -> None:
    driven = follower(1)
    for _ in range(20):
        (fetch,) = driven.last.requests
        driven.step(Failed(request_id=fetch.request_id))
        driven.step(Tick(), after_ms=20)
    assert driven.role() is Role.FOLLOWER


def test_a_follower_that_hurried_in_vain_waits_for_the_fetch_timeout_until_it_has_fetched_again() -> None:
    driven = follower(1)
    refuse(driven, 2)
    (fetch,) = driven.last.requests
    votes = [*driven.step(Failed(request_id=fetch.request_id, refused=True)).requests]
    votes += driven.step(Tick(), after_ms=20).requests
    for send in votes:
        driven.step(Answered(request_id=send.request_id, answer=VoteAnswer(epoch=5, leader_id=2)))
    assert driven.role() is Role.FOLLOWER
    refuse(driven, 20)
    assert driven.role() is Role.FOLLOWER
    driven.answer(FetchAnswer(epoch=5, leader_id=2))
    refuse(driven, 3)
    assert driven.role() is Role.PROSPECTIVE


# --- Fetching


def test_a_follower_fetches_from_its_end_and_waits_for_its_disk() -> None:
    driven = follower(1, 1)
    (send,) = driven.last.requests
    assert send.destination == 2
    assert send.request == Fetch(
        replica_id=1, epoch=5, offset=2, last_epoch=1, high_watermark=0, max_wait_ms=500, max_bytes=1 << 20
    )
    effects = driven.answer(
        FetchAnswer(epoch=5, leader_id=2, high_watermark=9, records=encode_entries([Entry(1, 5), Entry(1, 6)]))
    )
    assert isinstance(effects.append, FetchedAppend)
    assert effects.append.base_offset == 2
    assert effects.requests == ()
    assert effects.high_watermark == 2, "what it had before matches the leader's log"
    effects = driven.flush()
    assert effects.high_watermark == 4, "never more than it has itself"
    assert [send.request.offset for send in effects.requests if isinstance(send.request, Fetch)] == [4]


def test_damaged_records_are_fetched_again_after_a_pause() -> None:
    driven = follower(1)
    driven.answer(FetchAnswer(epoch=5, leader_id=2, records=b"x"))
    effects = driven.step(AppendFailed())
    assert effects.requests == ()
    assert effects.deadline_ms == driven.now_ms + 20
    assert len(driven.step(Tick(), after_ms=20).requests) == 1


def test_an_answer_is_taken_once() -> None:
    driven = follower(1)
    (send,) = driven.last.requests
    answered = Answered(request_id=send.request_id, answer=FetchAnswer(epoch=5, leader_id=2, records=b"x" * 12))
    assert driven.step(answered).append is not None
    assert driven.step(answered).append is None


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_a_refused_fetch_is_repeated_after_a_pause_but_not_for_ever(error: ErrorCode) -> None:
    driven = follower(1)
    for _ in range(200):
        effects = driven.answer(FetchAnswer(epoch=4 if error == ErrorCode.UNKNOWN_LEADER_EPOCH else 5, error=error))
        assert effects.requests == ()
        driven.step(Tick(), after_ms=effects.deadline_ms - driven.now_ms)
        if driven.role() is not Role.FOLLOWER:
            break
    assert driven.role() is Role.PROSPECTIVE
    assert driven.now_ms == 2_000


def test_committed_records_are_never_cut_off() -> None:
    driven = follower(1, 1, 2)
    driven.answer(FetchAnswer(epoch=5, leader_id=2, high_watermark=3))
    with pytest.raises(QuorumInvariantBroken, match="committed"):
        driven.answer(FetchAnswer(epoch=5, leader_id=2, high_watermark=3, diverging=EpochEnd(1, 2)))


def test_a_snapshot_that_is_gone_is_asked_for_anew() -> None:
    driven = follower()
    driven.answer(FetchAnswer(epoch=5, leader_id=2, snapshot_id=SnapshotId(4, 3)))
    (send,) = driven.last.requests
    assert isinstance(send.request, FetchSnapshot)
    effects = driven.answer(FetchSnapshotAnswer(epoch=5, leader_id=2, error=ErrorCode.SNAPSHOT_NOT_FOUND))
    (send,) = driven.step(Tick(), after_ms=effects.deadline_ms).requests
    assert isinstance(send.request, Fetch)


def test_a_piece_that_does_not_fit_starts_the_download_again() -> None:
    driven = follower()
    driven.answer(FetchAnswer(epoch=5, leader_id=2, snapshot_id=SnapshotId(4, 3)))
    piece = FetchSnapshotAnswer(epoch=5, leader_id=2, snapshot_id=SnapshotId(4, 3), position=7, size=48, data=b"x" * 9)
    effects = driven.answer(piece)
    assert effects.snapshot_chunk is None
    (send,) = driven.step(Tick(), after_ms=20).requests
    assert isinstance(send.request, Fetch)


def test_an_installed_snapshot_is_committed_and_fetching_goes_on_behind_it() -> None:
    driven = follower()
    driven.answer(FetchAnswer(epoch=5, leader_id=2, snapshot_id=SnapshotId(2, 3)))
    content = encode_entries([Entry(1, 1), Entry(3, 2)])
    piece = FetchSnapshotAnswer(epoch=5, leader_id=2, snapshot_id=SnapshotId(2, 3), size=24, data=content)
    effects = driven.answer(piece)
    assert effects.snapshot_chunk is not None
    assert effects.snapshot_chunk.is_last
    assert effects.requests == ()
    driven.log.install_snapshot(SnapshotId(2, 3), [Entry(1, 1), Entry(3, 2)])
    effects = driven.step(SnapshotInstalled(snapshot_id=SnapshotId(2, 3)))
    assert effects.high_watermark == 2
    (send,) = effects.requests
    assert isinstance(send.request, Fetch)
    assert (send.request.offset, send.request.last_epoch) == (2, 3)


# --- Leading


@pytest.mark.parametrize(
    ("fetch", "error"),
    [
        (Fetch(replica_id=2, epoch=1, offset=0, last_epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
        (Fetch(replica_id=2, epoch=3, offset=0, last_epoch=0), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (Fetch(replica_id=2, epoch=2, offset=-1, last_epoch=0), ErrorCode.INVALID_REQUEST),
        (Fetch(replica_id=2, epoch=2, offset=0, last_epoch=3), ErrorCode.INVALID_REQUEST),
        (Fetch(replica_id=2, epoch=2, offset=0, last_epoch=-1), ErrorCode.INVALID_REQUEST),
        (Fetch(replica_id=2, epoch=2, offset=0, last_epoch=0, max_wait_ms=-1), ErrorCode.INVALID_REQUEST),
        (Fetch(replica_id=1, epoch=2, offset=0, last_epoch=0), ErrorCode.INVALID_REQUEST),
    ],
)
def test_fetches_of_other_epochs_are_refused(fetch: Fetch, error: ErrorCode) -> None:
    assert leader(1).ask(fetch) == FetchAnswer(epoch=2, leader_id=1, error=error)


def test_a_follower_does_not_serve_fetches_and_says_who_does() -> None:
    refusal = FetchAnswer(epoch=5, leader_id=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert follower(1).ask(Fetch(replica_id=3, epoch=5, offset=0, last_epoch=0)) == refusal
    snapshot = FetchSnapshot(replica_id=3, epoch=5, snapshot_id=SnapshotId(1, 1), position=0)
    assert follower(1).ask(snapshot).error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_finds_records_divergence_or_a_snapshot() -> None:
    driven = leader(1, 1, 3, snapshot_at=2)
    answer = driven.ask(Fetch(replica_id=2, epoch=4, offset=3, last_epoch=3, max_bytes=7))
    assert answer == FetchAnswer(epoch=4, leader_id=1, log_start_offset=2, read_from=3, max_bytes=7)
    answer = driven.ask(Fetch(replica_id=2, epoch=4, offset=5, last_epoch=3))
    assert answer == FetchAnswer(epoch=4, leader_id=1, log_start_offset=2, diverging=EpochEnd(3, 3))
    answer = driven.ask(Fetch(replica_id=2, epoch=4, offset=1, last_epoch=1))
    assert answer == FetchAnswer(epoch=4, leader_id=1, log_start_offset=2, snapshot_id=SnapshotId(2, 1))


def test_a_fetch_that_finds_nothing_waits_and_is_answered_in_time() -> None:
    driven = leader(1)
    effects = driven.step(
        Requested(token=5, request=Fetch(replica_id=2, epoch=2, offset=2, last_epoch=2, max_wait_ms=300)), after_ms=10
    )
    assert effects.replies == ()
    assert effects.deadline_ms <= driven.now_ms + 300
    while not driven.last.replies:
        driven.step(Tick(), after_ms=driven.last.deadline_ms - driven.now_ms)
    assert driven.now_ms == 1_310
    (reply,) = driven.last.replies
    assert reply.token == 5
    assert reply.answer == FetchAnswer(epoch=2, leader_id=1, high_watermark=2, log_start_offset=0, max_bytes=2**31 - 1)


def test_a_waiting_fetch_is_answered_by_the_next_record() -> None:
    driven = leader(1)
    driven.step(Requested(token=5, request=Fetch(replica_id=2, epoch=2, offset=2, last_epoch=2, max_wait_ms=300)))
    driven.log.append([Entry(2, 9)])
    (reply,) = driven.step(Tick()).replies
    assert isinstance(reply.answer, FetchAnswer)
    assert reply.answer.read_from == 2


def test_a_second_fetch_of_a_replica_releases_the_first() -> None:
    driven = leader(1)
    fetch = Fetch(replica_id=2, epoch=2, offset=2, last_epoch=2, max_wait_ms=300)
    driven.step(Requested(token=5, request=fetch))
    assert [reply.token for reply in driven.step(Requested(token=6, request=fetch)).replies] == [5]


def test_waiting_fetches_are_refused_when_leadership_ends() -> None:
    driven = leader(1)
    fetch = Fetch(replica_id=2, epoch=2, offset=2, last_epoch=2, max_wait_ms=300)
    driven.step(Requested(token=5, request=fetch))
    effects = driven.step(Requested(token=6, request=BeginEpoch(leader_id=3, epoch=7)))
    refusal = FetchAnswer(epoch=7, leader_id=3, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert (5, refusal) in [(reply.token, reply.answer) for reply in effects.replies]


def test_a_reader_that_is_no_replica_commits_nothing() -> None:
    driven = leader(1)
    driven.ask(Fetch(replica_id=-1, epoch=2, offset=2, last_epoch=2))
    assert driven.replica.high_watermark == 0
    description = driven.replica.describe(driven.now_ms, 0)
    assert description is not None
    assert not description.observers


def test_a_leader_commits_only_what_it_has_flushed_itself_or_a_majority_without_it() -> None:
    driven = leader(1)
    driven.log.append([Entry(2, 9)])
    driven.ask(Fetch(replica_id=2, epoch=2, offset=3, last_epoch=2))
    assert driven.replica.high_watermark == 2
    driven.ask(Fetch(replica_id=3, epoch=2, offset=3, last_epoch=2))
    assert driven.replica.high_watermark == 3


def test_a_resigned_leader_never_leads_the_same_epoch_again() -> None:
    driven = leader(1)
    driven.step(Resign(epoch=1))
    assert driven.role() is Role.LEADER, "that was another epoch"
    effects = driven.step(Resign(epoch=2))
    assert driven.role() is Role.RESIGNED
    assert effects.leadership is not None
    assert effects.leadership.leader_id is None
    assert [send.request for send in effects.requests] == [EndEpoch(leader_id=1, epoch=2, successors=(2, 3))] * 2
    driven.step(Tick(), after_ms=1_000)
    assert driven.role() is Role.PROSPECTIVE
    assert driven.last.quorum_state == QuorumState(epoch=2, voted_id=1)


def test_a_leader_that_shuts_down_stands_no_more_and_stops_when_it_has_a_successor() -> None:
    driven = leader(1)
    driven.step(ShutDown())
    for _ in range(20):
        driven.step(Tick(), after_ms=1_000)
        assert driven.role() is Role.RESIGNED
    assert not driven.replica.may_stop
    driven.step(Requested(token=1, request=BeginEpoch(leader_id=2, epoch=3)))
    assert driven.replica.may_stop


def test_a_leader_that_shuts_down_stops_when_all_who_are_there_know_it() -> None:
    driven = leader(1)
    driven.step(ShutDown())
    first, second = driven.last.requests
    driven.step(Answered(request_id=first.request_id, answer=EndEpochAnswer(epoch=2)))
    assert not driven.replica.may_stop
    driven.step(Failed(request_id=second.request_id, refused=True))
    assert driven.replica.may_stop


def test_a_quorum_of_one_may_stop_whenever_it_wants() -> None:
    driven = leader(1, voters=(1,))
    driven.step(ShutDown())
    assert driven.replica.may_stop
    assert driven.role() is Role.LEADER


def test_a_description_shows_voters_and_observers() -> None:
    driven = leader(1)
    driven.ask(Fetch(replica_id=2, epoch=2, offset=2, last_epoch=2))
    driven.ask(Fetch(replica_id=7, epoch=2, offset=1, last_epoch=1, directory_id=Uuid(b"d" * 16)))
    description = driven.replica.describe(driven.now_ms + 40, 1_000_000)
    assert description is not None
    assert (description.leader_id, description.leader_epoch, description.high_watermark) == (1, 2, 2)
    voters = description.current_voters
    assert [(voter.replica_id, voter.log_end_offset) for voter in voters] == [(1, 2), (2, 2), (3, -1)]
    assert [voter.last_fetch_timestamp for voter in voters] == [1_000_000, 999_960, -1]
    (observer,) = description.observers
    assert (observer.replica_id, observer.log_end_offset) == (7, 1)
    assert observer.replica_directory_id == b"d" * 16
    assert follower(1).replica.describe(0.0, 0) is None


# --- Anything at all

SMALL = st.integers(-1, 6)
MAYBE_VOTER = st.none() | st.integers(1, 4)
ERRORS = st.sampled_from(
    [ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH]
)
REQUESTS = st.one_of(
    st.builds(Vote, candidate_id=SMALL, epoch=SMALL, last_epoch=SMALL, end_offset=SMALL, pre_vote=st.booleans()),
    st.builds(BeginEpoch, leader_id=SMALL, epoch=SMALL),
    st.builds(EndEpoch, leader_id=SMALL, epoch=SMALL, successors=st.lists(SMALL, max_size=3).map(tuple)),
    st.builds(Fetch, replica_id=SMALL, epoch=SMALL, offset=SMALL, last_epoch=SMALL, max_wait_ms=SMALL),
    st.builds(
        FetchSnapshot,
        replica_id=SMALL,
        epoch=SMALL,
        snapshot_id=st.builds(SnapshotId, end_offset=SMALL, epoch=SMALL),
        position=SMALL,
    ),
)
ANSWERS = st.one_of(
    st.builds(VoteAnswer, epoch=SMALL, leader_id=MAYBE_VOTER, error=ERRORS, granted=st.booleans()),
    st.builds(BeginEpochAnswer, epoch=SMALL, leader_id=MAYBE_VOTER, error=ERRORS),
    st.builds(EndEpochAnswer, epoch=SMALL, leader_id=MAYBE_VOTER, error=ERRORS),
    st.builds(FetchAnswer, epoch=SMALL, leader_id=MAYBE_VOTER, error=ERRORS, high_watermark=st.none() | SMALL),
    st.builds(FetchSnapshotAnswer, epoch=SMALL, leader_id=MAYBE_VOTER, error=ERRORS, data=st.binary(max_size=3)),
)
EVENTS = st.one_of(
    st.builds(Requested, token=st.just(0), request=REQUESTS),
    st.builds(Answered, request_id=st.integers(1, 30), answer=ANSWERS),
    st.builds(Failed, request_id=st.integers(1, 30), refused=st.booleans()),
    st.builds(Tick),
    st.builds(Resign, epoch=SMALL),
)


@settings(max_examples=150)
@given(st.lists(st.tuples(EVENTS, st.sampled_from([0, 10, 600, 1_500])), max_size=25))
def test_no_message_from_outside_breaks_a_replica(events: list[tuple[Event, int]]) -> None:
    """Every request is answered once, epochs only grow, and the replica never asks to be woken at once."""
    driven = Driven(1, 1)
    open_tokens: set[int] = set()
    for token, (event, after_ms) in enumerate(events):
        if isinstance(event, Requested):
            event = replace(event, token=token)
            open_tokens.add(token)
        epoch = driven.replica.epoch
        try:
            effects = driven.step(event, after_ms)
        except QuorumInvariantBroken:
            assert isinstance(event, Answered), "only a voter that was asked can contradict what is known"
            return
        assert driven.replica.epoch >= epoch
        assert effects.deadline_ms > driven.now_ms
        for reply in effects.replies:
            open_tokens.remove(reply.token)
        if effects.append is not None:
            driven.flush()
            assert not driven.last.replies or all(reply.token in open_tokens for reply in driven.last.replies)
            open_tokens -= {reply.token for reply in driven.last.replies}
    if driven.role() is not Role.LEADER:
        assert not open_tokens


# --- What a new leader knows of the one before it


def elected_after(driven: Driven) -> Predecessor | None:
    """Time passes until replica 1 misses its leader and is elected by node 3."""
    driven.step(Tick(), after_ms=2_000)
    driven.answer(VoteAnswer(epoch=5, granted=True), 3)
    elected = driven.answer(VoteAnswer(epoch=6, granted=True), 3)
    assert driven.role() is Role.LEADER
    assert elected.leadership is not None
    return elected.leadership.predecessor


def test_a_new_leader_tells_when_the_leader_it_followed_was_last_heard() -> None:
    driven = follower(1)
    driven.now_ms = 700.0
    driven.answer(FetchAnswer(epoch=5, leader_id=2))
    assert elected_after(driven) == Predecessor(2, 700.0)


def test_a_lost_election_does_not_hide_how_long_the_leader_has_been_silent() -> None:
    driven = follower(1)
    driven.now_ms = 700.0
    driven.answer(FetchAnswer(epoch=5, leader_id=2))
    driven.step(Tick(), after_ms=2_000)
    driven.answer(VoteAnswer(epoch=5, granted=False), 3)
    # Node 3 still hears of the leader. Replica 1 goes back to it, in vain.
    driven.step(Tick(), after_ms=2_000)
    assert driven.role() is Role.FOLLOWER
    assert elected_after(driven) == Predecessor(2, 700.0)


def test_any_message_of_the_former_leader_is_a_sign_of_life() -> None:
    driven = follower(1)
    driven.step(Requested(token=9, request=EndEpoch(leader_id=2, epoch=5)), after_ms=1_500)
    assert elected_after(driven) == Predecessor(2, 1_500.0)


def test_a_leader_that_is_elected_again_without_having_followed_has_no_predecessor() -> None:
    driven = leader(1)
    driven.step(Resign(epoch=2))
    driven.step(Tick(), after_ms=1_000)
    driven.answer(VoteAnswer(epoch=2, granted=True), 2)
    elected = driven.answer(VoteAnswer(epoch=3, granted=True), 2)
    assert elected.leadership is not None
    assert elected.leadership.leading_from is not None
    assert elected.leadership.predecessor is None
