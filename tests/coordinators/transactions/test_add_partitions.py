"""AddPartitionsToTxn: who may add, who may verify, and what begins a transaction."""

from __future__ import annotations

import pytest
from support.transaction_driver import ADD_V2, ORDERS, REFUNDS, Coordinator

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.states import TransactionState
from tidelog.coordinators.transactions.transaction import TRANSACTIONS_V1, TRANSACTIONS_V2
from tidelog.model.errors import ErrorCode


def test_the_first_partition_begins_the_transaction() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.wait(50)

    assert coordinator.add(producer, ORDERS) is ErrorCode.NONE
    assert coordinator.transaction.state is TransactionState.ONGOING
    assert coordinator.transaction.start_ms == coordinator.now_ms


def test_further_partitions_join_without_restarting_the_clock() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, ORDERS)
    begun_ms = coordinator.now_ms
    coordinator.wait(50)
    coordinator.add(producer, REFUNDS)

    assert coordinator.transaction.partitions == {ORDERS, REFUNDS}
    assert coordinator.transaction.start_ms == begun_ms
    assert coordinator.transaction.last_update_ms == coordinator.now_ms


def test_what_is_added_already_writes_nothing() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, ORDERS, REFUNDS)
    length = len(coordinator.log)

    assert coordinator.add(producer, REFUNDS) is ErrorCode.NONE
    assert len(coordinator.log) == length


@pytest.mark.parametrize(("version", "recorded"), [(3, TRANSACTIONS_V1), (4, TRANSACTIONS_V1), (5, TRANSACTIONS_V2)])
def test_the_log_says_which_protocol_version_added(version: int, recorded: int) -> None:
    coordinator = Coordinator()
    coordinator.add(coordinator.producer(), version=version)

    assert coordinator.transaction.client_version == recorded


@pytest.mark.parametrize("verify_only", [False, True])
def test_strangers_are_refused(verify_only: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    stranger = ProducerIdentity(77, 0)
    late = ProducerIdentity(producer.producer_id, producer.producer_epoch + 1)

    assert coordinator.add(stranger, verify_only=verify_only) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert coordinator.add(late, verify_only=verify_only) is ErrorCode.PRODUCER_FENCED
    assert (
        coordinator.add(producer, verify_only=verify_only, transactional_id="other")
        is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    )
    assert coordinator.add(producer, verify_only=verify_only, transactional_id="") is ErrorCode.INVALID_REQUEST


def test_nothing_is_added_while_the_last_transaction_is_being_ended() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer)
    coordinator.end(producer, commit=True)

    assert coordinator.add(producer, REFUNDS) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert coordinator.add(producer, ORDERS, verify_only=True) is ErrorCode.CONCURRENT_TRANSACTIONS
    coordinator.write_markers()
    assert coordinator.add(producer, REFUNDS) is ErrorCode.NONE
    assert coordinator.transaction.partitions == {REFUNDS}


def test_verification_tells_added_partitions_from_others() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, ORDERS)
    length = len(coordinator.log)

    assert coordinator.add_each(producer, ORDERS, REFUNDS, version=4, verify_only=True) == {
        ORDERS: ErrorCode.NONE,
        REFUNDS: ErrorCode.TRANSACTION_ABORTABLE,
    }
    assert len(coordinator.log) == length


def test_verification_fails_once_the_transaction_is_over() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, ORDERS)
    coordinator.end(producer, commit=True)
    coordinator.write_markers()

    assert coordinator.add(producer, ORDERS, verify_only=True) is ErrorCode.TRANSACTION_ABORTABLE


def test_a_write_of_the_second_version_begins_the_next_transaction_with_the_next_epoch() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, version=ADD_V2)
    ended = coordinator.end(producer, commit=True, version=5)
    following = ProducerIdentity(ended.producer_id, ended.producer_epoch)
    coordinator.write_markers()

    assert coordinator.add(producer, version=ADD_V2) is ErrorCode.PRODUCER_FENCED
    assert coordinator.add(following, version=ADD_V2) is ErrorCode.NONE
