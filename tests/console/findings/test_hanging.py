"""Which open transactions may hang, and why nobody ends them."""

from __future__ import annotations

from tidelog.client.admin import HangingTransaction, ProducerState, TransactionListing
from tidelog.console.findings.hanging import matching, orphans, silent_transactions
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition

ORDERS = TopicPartition("orders", 0)


def producer(producer_id: int, *, start: int | None = 5, last_ms: int = 1_000) -> ProducerState:
    return ProducerState(
        producer_id=producer_id,
        producer_epoch=3,
        last_sequence=0,
        last_timestamp=last_ms,
        coordinator_epoch=None,
        transaction_start=start,
    )


def test_only_open_transactions_that_are_silent_for_long_may_hang() -> None:
    silent = producer(1)
    answers: dict[TopicPartition, tuple[ProducerState, ...] | ApiError] = {
        ORDERS: (silent, producer(2, start=None), producer(3, last_ms=2_000)),
        TopicPartition("orders", 1): ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "no leader"),
    }
    assert silent_transactions(answers, 2_000) == [HangingTransaction(partition=ORDERS, producer=silent)]


def test_it_is_told_whether_a_coordinator_knows_the_producer() -> None:
    hanging = [HangingTransaction(partition=ORDERS, producer=producer(number)) for number in (1, 2)]
    listed = [TransactionListing(transactional_id="till", coordinator=1, producer_id=2, state="CompleteCommit")]
    unknown, known = orphans(hanging, listed, ids_may_be_hidden=False)
    assert (unknown.transactional_id, unknown.may_go_on, known.may_go_on) == (None, False, False)
    assert "No coordinator knows producer id 1" in unknown.why
    assert known.transactional_id == "till"
    assert known.why == (
        "till is CompleteCommit at its coordinator, and orders-0 is not among the partitions of its transaction."
    )


def test_what_belongs_to_a_hidden_id_may_go_on() -> None:
    hanging = [HangingTransaction(partition=ORDERS, producer=producer(number)) for number in (1, 2)]
    listed = [TransactionListing(transactional_id="till", coordinator=1, producer_id=2, state="CompleteCommit")]
    unknown, known = orphans(hanging, listed, ids_may_be_hidden=True)
    assert (unknown.may_go_on, known.may_go_on) == (True, False)
    assert unknown.why.startswith(
        "Perhaps it does not hang: no transactional id that this client sees has producer id 1."
    )


def test_the_transaction_that_is_meant_is_found_by_all_that_was_shown() -> None:
    producers = (producer(1), producer(2, start=None))
    assert matching(producers, 1, 3, 5) is producers[0]
    assert matching(producers, 1, 4, 5) is None
    assert matching(producers, 1, 3, 6) is None
    assert matching(producers, 2, 3, 5) is None
    assert matching(producers, 9, 3, 5) is None
