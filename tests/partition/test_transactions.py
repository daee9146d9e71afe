"""Transactions in one partition: markers, the last stable offset, the transaction index, verification."""

from __future__ import annotations

import pytest

from tidelog.model.errors import ErrorCode
from tidelog.partition.producer_entry import ProducerEntry
from tidelog.partition.producers import AppendOrigin, AppendRefusal, ProducerPlan, ProducerStates
from tidelog.partition.transactions import AbortedTransaction, CompletedTransaction
from tidelog.partition.verification import NO_GUARD, VerificationGuard
from tidelog.records.batch import CorruptBatch, parse_header
from tidelog.records.control import (
    ControlType,
    EndTransactionMarker,
    encode_control_key,
    encode_end_transaction_marker,
)
from tidelog.records.record import encode_batch, encode_retained

A, B, C = 1, 2, 3


class Log:
    """Appends for several producers, keeping the bytes so that they can be replayed."""

    def __init__(self) -> None:
        self.states = ProducerStates()
        self.batches: list[bytes] = []
        self.sequences: dict[tuple[int, int], int] = {}

    @property
    def end(self) -> int:
        return self.states.end_offset

    def data(self, producer_id: int, count: int = 1, *, epoch: int = 0, transactional: bool = True) -> bytes:
        return encode_batch(
            [(1_000, b"k", b"v", ())] * count,
            base_offset=self.end,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=self.sequences.get((producer_id, epoch), 0),
            transactional=transactional,
        )

    def marker(self, producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0) -> bytes:
        return encode_end_transaction_marker(
            EndTransactionMarker(commit=commit, coordinator_epoch=coordinator_epoch),
            producer_id=producer_id,
            producer_epoch=epoch,
            timestamp=2_000,
            base_offset=self.end,
        )

    def try_append(
        self,
        *batches: bytes,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> ProducerPlan | AppendRefusal:
        headers = [parse_header(batch) for batch in batches]
        plan = self.states.plan(
            headers,
            b"".join(batches),
            self.end,
            origin=origin,
            guard=guard,
            transaction_version=transaction_version,
        )
        assert isinstance(plan, ProducerPlan | AppendRefusal)
        if isinstance(plan, ProducerPlan):
            self.states.apply(plan)
            for header, batch in zip(headers, batches, strict=True):
                self.batches.append(batch)
                if not header.is_control:
                    self.sequences[header.producer_id, header.producer_epoch] = header.last_sequence + 1
        return plan

    def write(self, producer_id: int, count: int = 1, *, epoch: int = 0) -> None:
        plan = self.try_append(self.data(producer_id, count, epoch=epoch))
        assert isinstance(plan, ProducerPlan), plan

    def finish(self, producer_id: int, *, commit: bool, epoch: int = 0) -> ProducerPlan:
        plan = self.try_append(self.marker(producer_id, commit=commit, epoch=epoch), origin=AppendOrigin.COORDINATOR)
        assert isinstance(plan, ProducerPlan), plan
        return plan


def test_the_last_stable_offset_holds_readers_back_and_releases_in_order() -> None:
    """Scenario 16."""
    log = Log()
    log.write(A, 2)
    log.write(B, 3)
    log.write(C, 1)
    assert log.states.last_stable_offset(log.end) == 0

    log.finish(B, commit=True)
    assert log.states.last_stable_offset(log.end) == 0
    log.finish(A, commit=False)
    assert log.states.last_stable_offset(log.end) == 5
    log.finish(C, commit=True)
    assert log.states.last_stable_offset(log.end) == log.end == 9


def test_a_marker_releases_readers_only_when_it_is_replicated() -> None:
    """Scenario 16: until then an election could take the marker away again."""
    log = Log()
    log.write(A, 4)
    log.finish(A, commit=True)

    assert log.states.last_stable_offset(high_watermark=3) == 0
    assert log.states.last_stable_offset(high_watermark=4) == 0
    assert log.states.last_stable_offset(high_watermark=5) == 5


def test_the_oldest_of_open_and_unreplicated_transactions_counts() -> None:
    log = Log()
    log.write(A, 1)
    log.write(B, 1)
    log.finish(A, commit=True)
    log.write(A, 1)

    assert log.states.transactions.first_unstable_offset(high_watermark=2) == 0
    assert log.states.transactions.first_unstable_offset(high_watermark=3) == 1
    log.finish(B, commit=True)
    assert log.states.transactions.first_unstable_offset(high_watermark=4) == 1
    assert log.states.transactions.first_unstable_offset(high_watermark=5) == 3
    assert log.states.last_stable_offset(high_watermark=2) == 2


def test_records_outside_of_transactions_are_stable_at_once() -> None:
    log = Log()
    plan = log.try_append(log.data(A, 5, transactional=False))

    assert isinstance(plan, ProducerPlan)
    assert log.states.last_stable_offset(log.end) == 5


def test_the_last_stable_offset_is_not_before_the_logs_start() -> None:
    log = Log()
    log.write(A, 10)

    assert log.states.last_stable_offset(high_watermark=10, log_start_offset=6) == 6
    assert log.states.last_stable_offset(high_watermark=5, log_start_offset=5) == 5


def test_an_aborted_transaction_is_told_for_the_index_with_its_range() -> None:
    log = Log()
    log.write(B, 2)
    log.write(A, 3)
    log.write(A, 1)

    plan = log.finish(A, commit=False)
    assert plan.completed == [CompletedTransaction(first_offset=2, last_offset=6)]
    assert plan.aborted == [AbortedTransaction(producer_id=A, first_offset=2, last_offset=6, last_stable_offset=0)]
    plan = log.finish(B, commit=True)
    assert plan.completed == [CompletedTransaction(first_offset=0, last_offset=7)]
    assert not plan.aborted


def test_a_marker_without_records_completes_nothing() -> None:
    log = Log()

    assert not log.finish(A, commit=True).completed
    assert log.end == 1
    assert log.states.last_stable_offset(1) == 1


def test_markers_of_several_producers_in_one_append_are_applied_in_order() -> None:
    log = Log()
    log.write(A)
    log.write(B)
    log.write(C)

    plan = log.try_append(log.marker(A, commit=True), log.marker(B, commit=False), origin=AppendOrigin.COORDINATOR)

    assert isinstance(plan, ProducerPlan)
    assert [tuple(completed) for completed in plan.completed] == [(0, 3), (1, 4)]
    assert [tuple(aborted) for aborted in plan.aborted] == [(B, 1, 4, 2)]
    assert log.states.last_stable_offset(log.end) == 2


def test_the_next_transaction_of_a_producer_goes_on_with_its_sequence() -> None:
    log = Log()
    for _ in range(3):
        log.write(A, 2)
        log.finish(A, commit=True)

    entry = log.states.get(A)
    assert entry is not None
    assert entry.last_sequence == 5
    assert not entry.has_open_transaction


def test_a_plain_batch_inside_of_a_transaction_is_refused() -> None:
    log = Log()
    log.write(A)

    refusal = log.try_append(log.data(A, transactional=False))

    assert isinstance(refusal, AppendRefusal)
    assert refusal.code is ErrorCode.INVALID_TXN_STATE


def test_a_marker_of_an_old_epoch_is_refused() -> None:
    log = Log()
    log.write(A, epoch=3)

    refusal = log.try_append(log.marker(A, commit=True, epoch=2), origin=AppendOrigin.COORDINATOR)

    assert isinstance(refusal, AppendRefusal)
    assert refusal.code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_marker_of_a_replaced_coordinator_is_refused() -> None:
    log = Log()
    log.write(A)
    assert isinstance(
        log.try_append(log.marker(A, commit=True, coordinator_epoch=5), origin=AppendOrigin.COORDINATOR), ProducerPlan
    )
    log.write(A)

    refusal = log.try_append(log.marker(A, commit=False, coordinator_epoch=4), origin=AppendOrigin.COORDINATOR)
    assert isinstance(refusal, AppendRefusal)
    assert refusal.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert isinstance(
        log.try_append(log.marker(A, commit=False, coordinator_epoch=5), origin=AppendOrigin.COORDINATOR), ProducerPlan
    )


def test_a_fencing_marker_raises_the_epoch_and_shuts_the_zombie_out() -> None:
    """Scenario 14 and 15, in one partition: the coordinator aborts with the next epoch."""
    log = Log()
    log.write(A, 3, epoch=0)
    log.finish(A, commit=False, epoch=1)

    zombie = log.try_append(log.data(A, epoch=0))
    assert isinstance(zombie, AppendRefusal)
    assert zombie.code is ErrorCode.INVALID_PRODUCER_EPOCH
    log.write(A, epoch=1)


@pytest.mark.parametrize(
    ("marker_epoch", "is_open", "code"),
    [
        (6, True, None),
        (6, False, None),
        # The transaction of the current epoch is not the one that this marker is about.
        (5, True, ErrorCode.INVALID_PRODUCER_EPOCH),
        # The retry of a marker that was written.
        (5, False, None),
        (4, False, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_under_transactions_v2_a_marker_must_raise_the_epoch(
    marker_epoch: int, is_open: bool, code: ErrorCode | None
) -> None:
    """Scenario 18 in one partition (KIP-890)."""
    log = Log()
    log.write(A, epoch=4)
    log.finish(A, commit=True, epoch=5)
    if is_open:
        log.write(A, epoch=5)

    result = log.try_append(
        log.marker(A, commit=True, epoch=marker_epoch), origin=AppendOrigin.COORDINATOR, transaction_version=2
    )

    assert (result.code if isinstance(result, AppendRefusal) else None) is code


def test_under_transactions_v2_the_largest_epoch_can_still_be_ended() -> None:
    log = Log()
    log.write(A, epoch=32_767)

    marker = log.marker(A, commit=False, epoch=32_767)

    assert isinstance(log.try_append(marker, origin=AppendOrigin.COORDINATOR, transaction_version=2), ProducerPlan)


# Following and restarting


def scripted_log() -> Log:
    log = Log()
    log.write(A, 2)
    log.write(B, 1)
    log.finish(A, commit=False)
    log.write(C, 4)
    log.finish(B, commit=True)
    log.write(A, 1)
    log.finish(C, commit=False)
    return log


def test_a_follower_reaches_the_leaders_state_by_replay() -> None:
    leader = scripted_log()
    follower = ProducerStates()
    aborted = [follower.replay(parse_header(batch), batch) for batch in leader.batches]

    assert list(follower) == list(leader.states)
    assert follower.last_stable_offset(leader.end) == leader.states.last_stable_offset(leader.end)
    assert [tuple(transaction) for transaction in aborted if transaction] == [(A, 0, 3, 2), (C, 4, 10, 9)]


@pytest.mark.parametrize("cut", range(8))
def test_open_transactions_survive_a_snapshot_at_any_point(cut: int) -> None:
    leader = scripted_log()
    before = ProducerStates()
    for batch in leader.batches[:cut]:
        before.replay(parse_header(batch), batch)
    restarted = ProducerStates()
    # The order of entries in a file is not the order of their transactions.
    restarted.reload(reversed(before.snapshot()), before.end_offset, now_ms=1_000)
    for batch in leader.batches[cut:]:
        restarted.replay(parse_header(batch), batch)

    assert restarted.end_offset == leader.end
    assert restarted.last_stable_offset(leader.end) == leader.states.last_stable_offset(leader.end) == 9
    assert {entry.producer_id: entry.transaction_first_offset for entry in restarted} == {A: 9, B: -1, C: -1}


def test_markers_that_compaction_has_emptied_change_nothing() -> None:
    states = ProducerStates()
    log = Log()
    marker = log.marker(A, commit=True)
    emptied = encode_retained(parse_header(marker), [])

    assert states.replay(parse_header(emptied), emptied) is None
    assert states.get(A) is None
    assert states.end_offset == 1


def test_control_batches_of_the_quorum_are_none_of_a_producers_business() -> None:
    states = ProducerStates()
    batch = encode_batch([(0, encode_control_key(ControlType.LEADER_CHANGE), b"", ())], control=True)

    assert states.replay(parse_header(batch), batch) is None
    assert states.end_offset == 1


def test_a_producers_control_batch_that_is_no_marker_is_corrupt() -> None:
    states = ProducerStates()
    batch = encode_batch(
        [(0, encode_control_key(ControlType.LEADER_CHANGE), b"", ())], control=True, producer_id=A, producer_epoch=0
    )

    with pytest.raises(CorruptBatch):
        states.replay(parse_header(batch), batch)


# Verification


def begin(log: Log, sequence: int = 0, epoch: int = 0, *, bumps: bool = False) -> VerificationGuard:
    guard = log.states.begin_verification(A, sequence=sequence, epoch=epoch, supports_epoch_bump=bumps, now_ms=1_000)
    assert isinstance(guard, int)
    return VerificationGuard(guard)


def code_of(result: ProducerPlan | AppendRefusal) -> ErrorCode | None:
    return result.code if isinstance(result, AppendRefusal) else None


def test_the_first_record_of_a_transaction_needs_a_guard_where_transactions_are_verified() -> None:
    log = Log()

    assert code_of(log.try_append(log.data(A), guard=NO_GUARD)) is ErrorCode.INVALID_TXN_STATE
    guard = begin(log)
    assert code_of(log.try_append(log.data(A), guard=guard)) is None
    # From now on the transaction is known to be open.
    assert log.states.begin_verification(A, sequence=1, epoch=0, supports_epoch_bump=False, now_ms=1_000) is None
    assert code_of(log.try_append(log.data(A), guard=NO_GUARD)) is None


def test_a_guard_is_void_once_the_transaction_it_was_about_has_ended() -> None:
    """The coordinator's answer comes after the abort: it must not open the next transaction (KIP-890)."""
    log = Log()
    stale = begin(log)
    log.finish(A, commit=False)

    assert code_of(log.try_append(log.data(A), guard=stale)) is ErrorCode.INVALID_TXN_STATE
    fresh = begin(log)
    assert fresh != stale
    assert code_of(log.try_append(log.data(A), guard=stale)) is ErrorCode.INVALID_TXN_STATE
    assert code_of(log.try_append(log.data(A), guard=fresh)) is None


def test_coordinators_need_a_guard_for_transactional_records_but_not_for_markers() -> None:
    log = Log()

    refused = log.try_append(log.data(A), origin=AppendOrigin.COORDINATOR, guard=NO_GUARD)
    assert code_of(refused) is ErrorCode.INVALID_TXN_STATE
    marker = log.marker(A, commit=True)
    assert code_of(log.try_append(marker, origin=AppendOrigin.COORDINATOR, guard=NO_GUARD)) is None


def test_verification_of_an_old_epoch_is_refused() -> None:
    log = Log()
    log.write(A, epoch=3)

    refusal = log.states.begin_verification(A, sequence=0, epoch=2, supports_epoch_bump=True, now_ms=1_000)

    assert isinstance(refusal, AppendRefusal)
    assert refusal.code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_later_batch_does_not_overtake_an_earlier_one_that_is_being_verified() -> None:
    log = Log()
    guard = begin(log, sequence=7)
    assert begin(log, sequence=0) == guard
    assert begin(log, sequence=9) == guard
    log.sequences[A, 0] = 7

    overtaking = log.try_append(log.data(A), guard=guard)
    assert code_of(overtaking) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.sequences[A, 0] = 0
    assert code_of(log.try_append(log.data(A), guard=guard)) is None


def test_under_transactions_v2_an_unknown_producer_must_begin_with_sequence_0() -> None:
    log = Log()
    guard = begin(log, sequence=4, bumps=True)
    log.sequences[A, 0] = 4

    assert code_of(log.try_append(log.data(A), guard=guard)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.sequences[A, 0] = 0
    assert code_of(log.try_append(log.data(A), guard=guard)) is None


def test_a_newer_epoch_takes_the_verification_over() -> None:
    log = Log()
    begin(log, sequence=5, epoch=1)
    begin(log, sequence=8, epoch=2)
    begin(log, sequence=1, epoch=1)

    pending = log.states.verifications.get(A)
    assert pending is not None
    assert (pending.epoch, pending.lowest_sequence) == (2, 8)


def test_forgotten_verifications_expire() -> None:
    log = Log()
    guard = begin(log)
    log.states.expire(1_000 + log.states.expiration_ms - 1)
    assert log.states.verifications.accepts(A, guard)

    log.states.expire(1_000 + log.states.expiration_ms)

    assert not log.states.verifications.accepts(A, guard)


def test_an_entry_is_a_value() -> None:
    assert ProducerEntry(A) == ProducerEntry(A)
    assert not ProducerEntry(A).has_open_transaction
