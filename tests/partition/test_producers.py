"""Producer states: duplicates, gaps, epochs, and what survives a restart."""

from __future__ import annotations

import pytest

from tidelog.model.errors import ErrorCode
from tidelog.partition.producer_entry import BatchMetadata, SnapshotEntry
from tidelog.partition.producers import (
    AppendOrigin,
    AppendRefusal,
    ProducerPlan,
    ProducerStates,
)
from tidelog.records.batch import BatchHeader, parse_header
from tidelog.records.record import encode_batch, encode_retained

PRODUCER = 4_000
LAST_SEQUENCE = 2**31 - 1


def batch_header(
    sequence: int,
    count: int = 1,
    *,
    producer_id: int = PRODUCER,
    epoch: int = 0,
    timestamp: int = 1_000,
    transactional: bool = False,
    offset: int = 0,
) -> BatchHeader:
    batch = encode_batch(
        [(timestamp, b"k", b"v", ())] * count,
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )
    return parse_header(batch)


class Partition:
    """A log that holds headers only, and the producer states that follow it."""

    def __init__(self, states: ProducerStates | None = None) -> None:
        self.states = states or ProducerStates()
        self.log: list[BatchHeader] = []

    def try_append(
        self, header: BatchHeader, origin: AppendOrigin = AppendOrigin.CLIENT
    ) -> ProducerPlan | BatchMetadata | AppendRefusal:
        plan = self.states.plan((header,), b"", self.states.end_offset, origin=origin)
        if isinstance(plan, ProducerPlan):
            self.log.append(header._replace(base_offset=self.states.end_offset))
            self.states.apply(plan)
        return plan

    def append(self, header: BatchHeader, origin: AppendOrigin = AppendOrigin.CLIENT) -> int:
        """The offset that the batch got."""
        offset = self.states.end_offset
        plan = self.try_append(header, origin)
        assert isinstance(plan, ProducerPlan), plan
        return offset

    def refuse(self, header: BatchHeader, origin: AppendOrigin = AppendOrigin.CLIENT) -> ErrorCode:
        before = (list(self.states), self.states.end_offset)
        plan = self.try_append(header, origin)
        assert isinstance(plan, AppendRefusal), plan
        assert plan.message
        assert (list(self.states), self.states.end_offset) == before
        return plan.code


def test_batches_without_producer_id_leave_no_state() -> None:
    partition = Partition()

    partition.append(parse_header(encode_batch([(0, b"k", b"v", ())] * 3)))

    assert list(partition.states) == []
    assert partition.states.end_offset == 3


def test_batches_in_sequence_are_accepted() -> None:
    partition = Partition()

    assert [partition.append(batch_header(sequence, 2)) for sequence in (0, 2, 4, 6)] == [0, 2, 4, 6]
    entry = partition.states.get(PRODUCER)
    assert entry is not None
    assert (entry.epoch, entry.last_sequence, entry.last_timestamp) == (0, 7, 1_000)


def test_scenario_9_five_requests_arriving_out_of_order_are_stored_once_and_in_order() -> None:
    """Scenario 9: 3, 5, 4 arrive in this order, and the client retries what was refused."""
    partition = Partition()
    for sequence in (0, 1):
        partition.append(batch_header(sequence))

    waiting = [2, 4, 3]
    attempts = 0
    while waiting:
        attempts += 1
        assert attempts < 10
        refused = []
        for sequence in waiting:
            result = partition.try_append(batch_header(sequence))
            if isinstance(result, AppendRefusal):
                assert result.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
                refused.append(sequence)
        waiting = refused

    assert [header.base_sequence for header in partition.log] == [0, 1, 2, 3, 4]


def test_response_lost_and_retried_at_a_new_leader_is_stored_once() -> None:
    """Scenario 10: the new leader knows the batch from replication."""
    old_leader = Partition()
    for sequence in range(3):
        old_leader.append(batch_header(sequence))
    new_leader = Partition()
    for header in old_leader.log:
        new_leader.states.replay(header)

    assert new_leader.try_append(batch_header(2)) == BatchMetadata(2, 2, 0, 1_000)
    assert new_leader.append(batch_header(3)) == 3


def test_scenario_11_the_duplicate_of_the_fifth_last_batch_is_acknowledged_of_the_sixth_last_not() -> None:
    """Scenario 11."""
    partition = Partition()
    for sequence in range(0, 20, 2):
        partition.append(batch_header(sequence, 2, timestamp=sequence))

    for sequence in (10, 12, 14, 16, 18):
        assert partition.try_append(batch_header(sequence, 2)) == BatchMetadata(
            last_sequence=sequence + 1, last_offset=sequence + 1, offset_delta=1, timestamp=sequence
        )
    assert partition.refuse(batch_header(8, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert len(partition.log) == 10


def test_only_the_exact_range_of_sequences_is_a_duplicate() -> None:
    partition = Partition()
    partition.append(batch_header(0, 4))
    partition.append(batch_header(4, 4))

    for sequence, count in ((0, 3), (0, 8), (1, 3), (4, 2), (6, 2), (3, 5)):
        assert partition.refuse(batch_header(sequence, count)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_scenario_12_producer_state_survives_a_restart_by_snapshot_and_replay() -> None:
    """Scenario 12."""
    partition = Partition()
    for sequence in range(10):
        partition.append(batch_header(sequence))
        partition.append(batch_header(sequence * 3, 3, producer_id=PRODUCER + 1))
    snapshot_after = 12
    before = Partition()
    for header in partition.log[:snapshot_after]:
        before.states.replay(header)

    restarted = ProducerStates()
    restarted.reload(before.states.snapshot(), before.states.end_offset, now_ms=2_000)
    for header in partition.log[snapshot_after:]:
        restarted.replay(header)

    assert restarted.end_offset == partition.states.end_offset
    after = Partition(restarted)
    for sequence in (5, 6, 7, 8, 9):
        header = batch_header(sequence)
        assert after.try_append(header) == partition.try_append(header)
    after.append(batch_header(10))
    after.append(batch_header(30, 3, producer_id=PRODUCER + 1))


def test_producer_state_survives_a_restart_without_any_snapshot() -> None:
    """Scenario 12."""
    partition = Partition()
    for sequence in range(8):
        partition.append(batch_header(sequence, epoch=sequence // 8))

    rebuilt = ProducerStates()
    rebuilt.reset(0)
    for header in partition.log:
        rebuilt.replay(header)

    assert list(rebuilt) == list(partition.states)
    assert rebuilt.end_offset == partition.states.end_offset


def test_scenario_13_sequence_number_wraps_at_two_to_the_31() -> None:
    """Scenario 13: within a batch, between batches, and for duplicates."""
    partition = Partition()
    partition.append(batch_header(LAST_SEQUENCE - 3, 2))
    offset = partition.append(batch_header(LAST_SEQUENCE - 1, 4))
    partition.append(batch_header(2, 1))

    assert partition.try_append(batch_header(LAST_SEQUENCE - 1, 4)) == BatchMetadata(
        last_sequence=1, last_offset=offset + 3, offset_delta=3, timestamp=1_000
    )
    assert partition.refuse(batch_header(2**31 - 2, 1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    at_the_edge = Partition()
    at_the_edge.append(batch_header(LAST_SEQUENCE, 1))
    assert at_the_edge.refuse(batch_header(1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    at_the_edge.append(batch_header(0))


def test_an_unknown_producer_may_begin_with_any_sequence() -> None:
    """Its earlier batches may have been deleted by retention (KIP-360)."""
    partition = Partition()

    partition.append(batch_header(500))
    partition.append(batch_header(501))


def test_a_new_epoch_must_begin_with_sequence_0() -> None:
    partition = Partition()
    partition.append(batch_header(0, epoch=1))

    assert partition.refuse(batch_header(1, epoch=2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    partition.append(batch_header(0, epoch=2))
    partition.append(batch_header(1, epoch=2))


def test_an_old_epoch_is_fenced() -> None:
    partition = Partition()
    partition.append(batch_header(0, epoch=1))
    partition.append(batch_header(0, epoch=2))

    assert partition.refuse(batch_header(1, epoch=1)) is ErrorCode.INVALID_PRODUCER_EPOCH
    # Not even a duplicate of the old epoch is acknowledged.
    assert partition.refuse(batch_header(0, epoch=1)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_coordinators_write_without_sequence_but_not_with_an_old_epoch() -> None:
    partition = Partition()
    for _ in range(3):
        partition.append(batch_header(-1, epoch=4), AppendOrigin.COORDINATOR)

    assert partition.refuse(batch_header(-1, epoch=3), AppendOrigin.COORDINATOR) is ErrorCode.INVALID_PRODUCER_EPOCH
    partition.append(batch_header(-1, epoch=5), AppendOrigin.COORDINATOR)


def test_replication_follows_whatever_the_leader_has_accepted() -> None:
    states = ProducerStates()
    for offset, (sequence, epoch) in enumerate([(7, 3), (3, 3), (0, 2), (9, 5)]):
        states.replay(batch_header(sequence, epoch=epoch, offset=offset))

    entry = states.get(PRODUCER)
    assert entry is not None
    assert (entry.epoch, entry.last_sequence) == (5, 9)


def test_replicated_batches_keep_their_gaps_and_their_emptied_ranges() -> None:
    """Compaction leaves holes between batches and empty batches behind."""
    states = ProducerStates()
    kept = batch_header(0, 4, offset=10)
    emptied = parse_header(encode_retained(batch_header(4, 6, offset=100), []))

    states.replay(kept)
    states.replay(emptied)

    entry = states.get(PRODUCER)
    assert entry is not None
    assert entry.batches == (BatchMetadata(3, 13, 3, 1_000), BatchMetadata(9, 105, 5, 1_000))
    assert states.end_offset == 106


def test_producers_do_not_disturb_each_other() -> None:
    partition = Partition()
    for sequence in range(6):
        for producer_id in (1, 2, 3):
            partition.append(batch_header(sequence, producer_id=producer_id))

    assert partition.refuse(batch_header(9, producer_id=2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    partition.append(batch_header(6, producer_id=1))


def test_several_batches_of_one_append_are_checked_one_after_the_other() -> None:
    states = ProducerStates()
    headers = [batch_header(-1, 2), batch_header(-1, 3), batch_header(-1, 1, producer_id=9)]

    plan = states.plan(headers, b"", 100, origin=AppendOrigin.COORDINATOR)
    assert isinstance(plan, ProducerPlan)
    assert plan.end_offset == 106
    states.apply(plan)

    entry = states.get(PRODUCER)
    assert entry is not None
    assert [batch.first_offset for batch in entry.batches] == [100, 102]
    assert states.end_offset == 106


def test_a_plan_that_is_dropped_changes_nothing() -> None:
    partition = Partition()
    partition.append(batch_header(0))
    before = (list(partition.states), partition.states.end_offset)

    plan = partition.states.plan((batch_header(1, transactional=True),), b"", 1, origin=AppendOrigin.CLIENT)

    assert isinstance(plan, ProducerPlan)
    assert (list(partition.states), partition.states.end_offset) == before
    assert partition.states.last_stable_offset(10) == 10


# Expiry


def test_idle_producers_are_forgotten_and_may_then_begin_anywhere() -> None:
    partition = Partition(ProducerStates(expiration_ms=1_000))
    partition.append(batch_header(0, timestamp=5_000))
    partition.append(batch_header(0, timestamp=5_500, producer_id=9))

    assert partition.states.expire(5_999) == 0
    assert partition.states.expire(6_000) == 1
    assert partition.states.get(PRODUCER) is None
    assert partition.states.get(9) is not None
    partition.append(batch_header(77, timestamp=6_000))


def test_an_open_transaction_keeps_its_producer() -> None:
    partition = Partition(ProducerStates(expiration_ms=1_000))
    partition.append(batch_header(0, timestamp=5_000, transactional=True))

    assert partition.states.expire(10**9) == 0


def test_expired_producers_are_not_loaded_from_a_snapshot() -> None:
    partition = Partition(ProducerStates(expiration_ms=1_000))
    partition.append(batch_header(0, timestamp=5_000))
    partition.append(batch_header(0, timestamp=5_500, producer_id=9))
    partition.append(batch_header(0, timestamp=1, producer_id=10, transactional=True))

    loaded = ProducerStates(expiration_ms=1_000)
    loaded.reload(partition.states.snapshot(), 3, now_ms=6_200)

    assert [entry.producer_id for entry in loaded] == [9, 10]


# Snapshots and truncation


def test_snapshots_hold_kafkas_fields() -> None:
    partition = Partition()
    partition.append(batch_header(0, 4, epoch=3, timestamp=8_000))
    partition.append(batch_header(0, 2, epoch=1, timestamp=9_000, producer_id=9, transactional=True))

    assert partition.states.snapshot() == [
        SnapshotEntry(
            producer_id=PRODUCER,
            epoch=3,
            last_sequence=3,
            last_offset=3,
            offset_delta=3,
            timestamp=8_000,
            coordinator_epoch=-1,
            current_transaction_first_offset=-1,
        ),
        SnapshotEntry(
            producer_id=9,
            epoch=1,
            last_sequence=1,
            last_offset=5,
            offset_delta=1,
            timestamp=9_000,
            coordinator_epoch=-1,
            current_transaction_first_offset=4,
        ),
    ]


def test_a_snapshot_entry_without_data_is_an_epoch_only() -> None:
    states = ProducerStates()
    entry = SnapshotEntry(PRODUCER, 7, -1, -1, 0, 1_000, 2, -1)
    states.reload([entry], 50, now_ms=1_500)

    assert states.snapshot() == [entry]
    partition = Partition(states)
    assert partition.refuse(batch_header(4, epoch=6)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert partition.refuse(batch_header(4, epoch=7)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.append(batch_header(0, epoch=7)) == 50


@pytest.mark.parametrize("cut", range(1, 9))
def test_truncated_batches_are_forgotten_and_may_be_sent_again(cut: int) -> None:
    partition = Partition()
    for sequence in range(9):
        partition.append(batch_header(sequence))

    partition.states.reset(0)
    for header in partition.log[:cut]:
        partition.states.replay(header)
    del partition.log[cut:]

    assert partition.states.end_offset == cut
    assert isinstance(partition.try_append(batch_header(cut - 1)), BatchMetadata)
    assert partition.append(batch_header(cut)) == cut


def test_a_reset_forgets_everything() -> None:
    partition = Partition()
    partition.append(batch_header(0, transactional=True))

    partition.states.reset(700)

    assert list(partition.states) == []
    assert partition.states.end_offset == 700
    assert partition.states.last_stable_offset(900) == 900
