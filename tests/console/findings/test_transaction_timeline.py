"""The timeline of a transactional id, from records as the coordinator writes them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.console.findings.transaction_timeline import (
    COMPACTED,
    FENCED,
    TIMED_OUT,
    TimelineEntry,
    TransactionRecord,
    last_partitions,
    read_record,
    record_key,
    timeline,
)
from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.records import encode_record, transaction_record, transaction_tombstone
from tidelog.coordinators.transactions.states import TRANSACTION, TransactionState, TransactionStep
from tidelog.coordinators.transactions.transaction import (
    TRANSACTIONS_V1,
    TRANSACTIONS_V2,
    Transaction,
    new_transactional_id,
)
from tidelog.model.ids import TopicPartition

ORDERS = frozenset({TopicPartition("orders", 0)})
BOTH = ORDERS | {TopicPartition("orders", 1)}
NEVER_IN_THE_LOG = (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)


def records(*transactions: Transaction | None, first: int = 0) -> list[TransactionRecord]:
    """One for each, a deletion for None; written 5 ms after the step."""
    return [
        TransactionRecord(
            offset=first + index,
            timestamp_ms=90_000 if each is None else each.last_update_ms + 5,
            transaction=each,
        )
        for index, each in enumerate(transactions)
    ]


def begun(timeout_ms: int = 60_000) -> Transaction:
    return new_transactional_id("id", 7, timeout_ms=timeout_ms, now_ms=1_000)


def steps(entries: list[TimelineEntry]) -> list[TransactionStep | None]:
    return [entry.step for entry in entries]


def test_a_transaction_from_beginning_to_end() -> None:
    empty = begun()
    one = empty.with_partitions(ORDERS, version=TRANSACTIONS_V2, now_ms=2_000)
    both = one.with_partitions(BOTH, version=TRANSACTIONS_V2, now_ms=2_400)
    prepared = both.prepared(TransactionStep.COMMIT, version=TRANSACTIONS_V2, now_ms=5_000, fresh_producer_id=-1)
    done = prepared.completed(now_ms=5_020)
    again = done.with_partitions(ORDERS, version=TRANSACTIONS_V2, now_ms=9_000)
    entries = timeline(records(empty, one, both, prepared, done, again))
    assert steps(entries) == [
        None,
        TransactionStep.ADD,
        TransactionStep.ADD,
        TransactionStep.COMMIT,
        TransactionStep.COMPLETE,
        TransactionStep.ADD,
    ]
    assert [entry.since_previous_ms for entry in entries] == [None, 1_000, 400, 2_600, 20, 3_980]
    added = [{str(partition) for partition in entry.added} for entry in entries]
    assert added == [set(), {"orders-0"}, {"orders-1"}, set(), set(), {"orders-0"}]
    assert {entry.note for entry in entries} == {None}
    assert [entry.before for entry in entries][:2] == [None, TransactionState.EMPTY]


def test_a_timeout_is_seen_in_the_times() -> None:
    opened = begun(timeout_ms=3_000).with_partitions(ORDERS, version=TRANSACTIONS_V2, now_ms=2_000)
    early = opened.fenced(version=TRANSACTIONS_V2, now_ms=4_999)
    late = opened.fenced(version=TRANSACTIONS_V2, now_ms=5_000)
    assert [timeline(records(opened, each))[1].note for each in (early, late)] == [None, TIMED_OUT]
    assert steps(timeline(records(opened, late)))[1] is TransactionStep.ABORT


def test_a_fence_of_the_first_version_is_seen_in_the_epoch() -> None:
    """With the second version each end raises the epoch."""
    opened = begun().with_partitions(ORDERS, version=TRANSACTIONS_V1, now_ms=2_000)
    fenced = opened.fenced(version=TRANSACTIONS_V1, now_ms=2_500)
    by_itself = opened.prepared(TransactionStep.ABORT, version=TRANSACTIONS_V1, now_ms=2_500, fresh_producer_id=-1)
    assert [timeline(records(opened, each))[1].note for each in (fenced, by_itself)] == [FENCED, None]


def test_a_successor_that_keeps_the_transaction_is_told_from_one_that_adds_partitions() -> None:
    opened = begun().with_partitions(ORDERS, version=TRANSACTIONS_V2, now_ms=2_000)
    kept = opened.kept(ProducerIdentity(7, 1), timeout_ms=60_000, now_ms=3_000)
    more = kept.with_partitions(BOTH, version=TRANSACTIONS_V2, now_ms=4_000)
    assert steps(timeline(records(opened, kept, more))) == [None, TransactionStep.KEEP, TransactionStep.ADD]


def test_missing_steps_are_told() -> None:
    opened = begun().with_partitions(ORDERS, version=TRANSACTIONS_V2, now_ms=2_000)
    prepared = opened.prepared(TransactionStep.COMMIT, version=TRANSACTIONS_V2, now_ms=3_000, fresh_producer_id=-1)
    first, second = timeline(records(opened, prepared.completed(now_ms=3_100)))
    assert first.note is None
    assert (second.step, second.note, second.before) == (None, COMPACTED, TransactionState.ONGOING)


def test_an_id_that_has_expired_may_begin_again() -> None:
    empty = begun()
    entries = timeline(records(empty, None, begun()))
    assert steps(entries) == [None, TransactionStep.EXPIRE, TransactionStep.INITIALISE]
    assert entries[1].record.state is TransactionState.DEAD
    assert entries[1].record.at_ms == 90_000, "a deletion has only the time of its record"


def test_the_record_in_front_of_a_page_is_what_its_first_one_is_compared_with() -> None:
    empty = begun()
    opened = empty.with_partitions(ORDERS, version=TRANSACTIONS_V2, now_ms=2_000)
    before, record = records(empty, opened)
    (entry,) = timeline([record], before)
    assert (entry.step, entry.since_previous_ms) == (TransactionStep.ADD, 1_000)


def test_the_last_partitions_are_those_of_the_newest_transaction_with_some() -> None:
    opened = begun().with_partitions(BOTH, version=TRANSACTIONS_V2, now_ms=2_000)
    done = opened.prepared(
        TransactionStep.COMMIT, version=TRANSACTIONS_V2, now_ms=3_000, fresh_producer_id=-1
    ).completed(now_ms=3_000)
    assert last_partitions(records(opened, done)) == BOTH
    assert last_partitions(records(begun(), None)) == frozenset()


def test_records_are_read_as_they_are_in_the_log() -> None:
    opened = begun().with_partitions(BOTH, version=TRANSACTIONS_V2, now_ms=2_000)
    key, value = encode_record(transaction_record(opened))
    assert key == record_key("id")
    assert read_record(4, 2_005, key, value) == TransactionRecord(offset=4, timestamp_ms=2_005, transaction=opened)
    key, value = encode_record(transaction_tombstone("id"))
    assert read_record(5, 9, key, value) == TransactionRecord(offset=5, timestamp_ms=9, transaction=None)


@pytest.mark.parametrize("damage", [lambda value: value[:-3], lambda value: b"\x00\x63" + value[2:], lambda value: b""])
def test_what_cannot_be_read_is_left_out(damage: object) -> None:
    key, value = encode_record(transaction_record(begun()))
    assert callable(damage)
    assert read_record(0, 0, key, damage(value)) is None


def test_a_state_that_is_newer_than_the_console_is_left_out() -> None:
    key, value = encode_record(transaction_record(begun()))
    assert value is not None
    position = value.index(TransactionState.EMPTY.to_bytes(1, "big"), 2 + 8 + 2 + 4)
    assert read_record(0, 0, key, value[:position] + b"\x63" + value[position + 1 :]) is None


@given(st.data())
def test_any_walk_through_the_state_machine_is_told_step_by_step(data: st.DataObject) -> None:
    """What is told leads from one record to the next in the coordinator's own table, or it is told that it does not."""
    now = begun()
    walked: list[Transaction] = [now]
    for number in range(data.draw(st.integers(0, 12))):
        following = sorted(
            {
                after
                for (before, _), after in TRANSACTION.steps.items()
                if before is now.state and after not in NEVER_IN_THE_LOG
            }
        )
        now = replace(now, state=data.draw(st.sampled_from(following)), last_update_ms=1_000 + number)
        walked.append(now)
    whole = timeline(records(*walked))
    for before, entry in zip(walked, whole[1:], strict=False):
        assert entry.step is not None
        assert entry.note != COMPACTED
        assert TRANSACTION.after(before.state, entry.step) is entry.record.state

    kept = [record for record in records(*walked) if data.draw(st.booleans())]
    for previous, entry in zip(kept, timeline(kept)[1:], strict=False):
        if entry.step is None:
            assert entry.note == COMPACTED
            assert not any(
                before is previous.state and after is entry.record.state
                for (before, _), after in TRANSACTION.steps.items()
            )
        else:
            assert TRANSACTION.after(previous.state, entry.step) is entry.record.state
