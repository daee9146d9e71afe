"""InitProducerId: epochs, fencing, recovery after errors (KIP-360), and epochs that run out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.default_settings import transaction_settings
from support.transaction_driver import END_V2, INIT_V2, ORDERS, TRANSACTIONAL_ID, Coordinator

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.records import encode_record, transaction_record
from tidelog.coordinators.transactions.states import TransactionState
from tidelog.coordinators.transactions.transaction import LARGEST_EPOCH, LAST_EPOCH_OF_PRODUCER
from tidelog.model.errors import ErrorCode


def with_epoch(coordinator: Coordinator, epoch: int) -> ProducerIdentity:
    """The producer that holds the transactional id after so many initialisations, of which most are skipped here."""
    producer = coordinator.producer()
    nearly = replace(coordinator.transaction, producer=ProducerIdentity(producer.producer_id, epoch - 1))
    coordinator.log.append(encode_record(transaction_record(nearly)))
    coordinator.fail_over()
    return coordinator.producer()


def identity(response: object) -> ProducerIdentity:
    return ProducerIdentity(response.producer_id, response.producer_epoch)  # type: ignore[attr-defined]


def test_the_first_producer_gets_a_new_id_with_epoch_0() -> None:
    assert identity(Coordinator().init()) == ProducerIdentity(1001, 0)


def test_a_second_producer_gets_the_same_id_with_the_next_epoch() -> None:
    coordinator = Coordinator()

    assert coordinator.producer() == ProducerIdentity(1001, 0)
    assert coordinator.producer() == ProducerIdentity(1001, 1)


@pytest.mark.parametrize("version", [INIT_V2, 4])
def test_scenario_14_a_successor_fences_a_zombie(version: int) -> None:
    coordinator = Coordinator()
    zombie = coordinator.producer()
    successor = coordinator.producer()

    assert coordinator.add(zombie) is ErrorCode.PRODUCER_FENCED
    assert coordinator.end(zombie, commit=True).error_code == ErrorCode.PRODUCER_FENCED
    assert coordinator.end(zombie, commit=True, version=END_V2).error_code == ErrorCode.PRODUCER_FENCED
    assert coordinator.init(expected=zombie, version=version).error_code == ErrorCode.PRODUCER_FENCED
    assert coordinator.add(successor) is ErrorCode.NONE


def test_versions_without_producer_fenced_get_the_older_code() -> None:
    coordinator = Coordinator()
    zombie = coordinator.producer()
    coordinator.producer()

    assert coordinator.init(expected=zombie, version=3).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert coordinator.add(zombie, version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert coordinator.add(zombie, version=2) is ErrorCode.PRODUCER_FENCED
    assert coordinator.end(zombie, commit=True, version=1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert coordinator.end(zombie, commit=True, version=2).error_code == ErrorCode.PRODUCER_FENCED


def test_the_predecessors_open_transaction_is_aborted_before_the_successor_gets_its_epoch() -> None:
    coordinator = Coordinator()
    zombie = coordinator.producer()
    coordinator.add(zombie)

    assert coordinator.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert coordinator.transaction.state is TransactionState.PREPARE_ABORT
    assert coordinator.end(zombie, commit=True).error_code == ErrorCode.PRODUCER_FENCED
    assert coordinator.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    (work,) = coordinator.write_markers()
    assert (work.commit, work.producer, work.partitions) == (False, ProducerIdentity(1001, 1), frozenset({ORDERS}))
    assert identity(coordinator.init()) == ProducerIdentity(1001, 2)


def test_the_predecessors_decided_transaction_is_completed_as_decided() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer)
    coordinator.end(producer, commit=True)

    assert coordinator.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    (work,) = coordinator.write_markers()
    assert work.commit
    assert identity(coordinator.init()) == ProducerIdentity(1001, 1)


def test_a_producer_that_says_who_it_is_gets_a_new_epoch() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()

    assert identity(coordinator.init(expected=producer)) == ProducerIdentity(1001, 1)


def test_a_repeated_request_for_a_new_epoch_gets_the_same_one() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    first = coordinator.init(expected=producer)
    again = coordinator.init(expected=producer)

    assert again == first
    assert again.error_code == ErrorCode.NONE


def test_after_a_successor_came_a_repeated_request_is_fenced() -> None:
    coordinator = Coordinator()
    zombie = coordinator.producer()
    coordinator.init(expected=zombie)
    coordinator.producer()

    assert coordinator.init(expected=zombie).error_code == ErrorCode.PRODUCER_FENCED


def test_a_zombie_that_asks_for_a_new_epoch_leaves_the_open_transaction_alone() -> None:
    coordinator = Coordinator()
    zombie = coordinator.producer()
    successor = coordinator.producer()
    coordinator.add(successor)

    assert coordinator.init(expected=zombie).error_code == ErrorCode.PRODUCER_FENCED
    assert coordinator.end(successor, commit=True).error_code == ErrorCode.NONE


def test_a_producer_of_the_second_version_whose_end_reply_was_lost_is_given_its_epoch() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, version=5)
    coordinator.end(producer, commit=True, version=END_V2)
    coordinator.write_markers()
    coordinator.fail_over()

    assert identity(coordinator.init(expected=producer)) == ProducerIdentity(1001, 1)


def test_an_id_of_somebody_else_is_fenced() -> None:
    coordinator = Coordinator()
    coordinator.producer()

    assert coordinator.init(expected=ProducerIdentity(77, 0)).error_code == ErrorCode.PRODUCER_FENCED


def test_an_identity_that_the_coordinator_has_forgotten_gets_a_new_id() -> None:
    assert identity(Coordinator().init(expected=ProducerIdentity(77, 3))) == ProducerIdentity(1001, 0)


@pytest.mark.parametrize(
    ("producer", "transactional_id"),
    [(ProducerIdentity(5, -1), TRANSACTIONAL_ID), (ProducerIdentity(-1, 5), TRANSACTIONAL_ID), (None, "")],
)
def test_half_an_identity_or_an_empty_name_is_an_invalid_request(
    producer: ProducerIdentity | None, transactional_id: str
) -> None:
    response = Coordinator().init(expected=producer, transactional_id=transactional_id)

    assert response.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("timeout_ms", "code"),
    [
        (900_000, ErrorCode.NONE),
        (900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (1, ErrorCode.NONE),
        (0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (-1, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_scenario_15_a_timeout_above_the_maximum_is_refused(timeout_ms: int, code: ErrorCode) -> None:
    response = Coordinator().init(timeout_ms=timeout_ms)

    assert response.error_code == code
    assert (response.producer_id == -1) == (code is not ErrorCode.NONE)


# Epochs that run out.


def test_the_largest_epoch_is_never_given_to_a_producer() -> None:
    coordinator = Coordinator()
    last = with_epoch(coordinator, LAST_EPOCH_OF_PRODUCER)

    assert last == ProducerIdentity(1001, LARGEST_EPOCH - 1)
    assert coordinator.producer() == ProducerIdentity(1002, 0)
    assert coordinator.end(last, commit=True).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_fencing_with_the_largest_epoch_leads_to_a_new_id() -> None:
    coordinator = Coordinator()
    last = with_epoch(coordinator, LAST_EPOCH_OF_PRODUCER)
    coordinator.add(last)

    assert coordinator.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    (work,) = coordinator.write_markers()
    assert work.producer == ProducerIdentity(1001, LARGEST_EPOCH)
    assert identity(coordinator.init()) == ProducerIdentity(1002, 0)


def test_a_producer_that_asks_for_an_epoch_after_its_last_one_gets_a_new_id_also_when_it_repeats() -> None:
    coordinator = Coordinator()
    last = with_epoch(coordinator, LAST_EPOCH_OF_PRODUCER)

    assert identity(coordinator.init(expected=last)) == ProducerIdentity(1002, 0)
    assert identity(coordinator.init(expected=last)) == ProducerIdentity(1002, 0)


def test_ending_a_transaction_of_the_last_epoch_brings_a_new_id() -> None:
    coordinator = Coordinator()
    last = with_epoch(coordinator, LAST_EPOCH_OF_PRODUCER)
    coordinator.add(last, version=5)
    response = coordinator.end(last, commit=True, version=END_V2)
    following = ProducerIdentity(1002, 0)

    assert identity(response) == following
    assert coordinator.add(following, version=5) is ErrorCode.CONCURRENT_TRANSACTIONS
    (work,) = coordinator.write_markers()
    assert work.producer == ProducerIdentity(1001, LARGEST_EPOCH)
    assert identity(coordinator.end(last, commit=True, version=END_V2)) == following
    assert coordinator.add(following, version=5) is ErrorCode.NONE


# Two-phase commit (KIP-939).

TWO_PHASE = transaction_settings(transaction_two_phase_commit_enable=True)


def test_two_phase_commit_is_off_by_default() -> None:
    assert Coordinator().init(two_phase=True, version=6).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert Coordinator().init(keep=True, version=6).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_participant_of_a_two_phase_commit_has_no_timeout() -> None:
    coordinator = Coordinator(settings=TWO_PHASE)
    producer = coordinator.producer(two_phase=True, timeout_ms=0, version=6)
    coordinator.add(producer, version=5)
    coordinator.wait(10 * 86_400_000)

    assert coordinator.transaction.state is TransactionState.ONGOING
    assert coordinator.end(producer, commit=True, version=END_V2).error_code == ErrorCode.NONE


def test_a_successor_that_keeps_the_prepared_transaction_decides_it() -> None:
    coordinator = Coordinator(settings=TWO_PHASE)
    producer = coordinator.producer(two_phase=True, version=6)
    coordinator.add(producer, version=5)
    coordinator.fail_over()
    response = coordinator.init(two_phase=True, keep=True, version=6)
    successor = identity(response)

    assert (response.ongoing_txn_producer_id, response.ongoing_txn_producer_epoch) == producer
    assert successor == ProducerIdentity(1001, 1)
    assert coordinator.end(producer, commit=True, version=END_V2).error_code == ErrorCode.PRODUCER_FENCED
    assert coordinator.add(successor, version=5) is ErrorCode.INVALID_TXN_STATE
    ended = coordinator.end(successor, commit=True, version=END_V2)
    assert identity(ended) == ProducerIdentity(1001, 2)
    (work,) = coordinator.write_markers()
    assert work.commit
    assert work.producer == ProducerIdentity(1001, 1)
    assert coordinator.add(identity(ended), version=5) is ErrorCode.NONE
    assert coordinator.end(successor, commit=True, version=END_V2).error_code == ErrorCode.PRODUCER_FENCED


def test_a_successor_that_does_not_keep_the_prepared_transaction_aborts_it() -> None:
    coordinator = Coordinator(settings=TWO_PHASE)
    producer = coordinator.producer(two_phase=True, version=6)
    coordinator.add(producer, version=5)
    keeper = identity(coordinator.init(two_phase=True, keep=True, version=6))

    assert coordinator.init(two_phase=True, version=6).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    (work,) = coordinator.write_markers()
    assert not work.commit
    successor = coordinator.producer(two_phase=True, version=6)
    assert successor.producer_epoch > keeper.producer_epoch
    assert coordinator.end(keeper, commit=True, version=END_V2).error_code == ErrorCode.PRODUCER_FENCED


def test_keeping_without_an_open_transaction_is_an_ordinary_start() -> None:
    coordinator = Coordinator(settings=TWO_PHASE)
    response = coordinator.init(two_phase=True, keep=True, version=6)

    assert identity(response) == ProducerIdentity(1001, 0)
    assert response.ongoing_txn_producer_id == -1
