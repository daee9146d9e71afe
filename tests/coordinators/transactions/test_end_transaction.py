"""EndTxn in both protocol versions: what each state answers, retries, and delayed requests."""

from __future__ import annotations

import pytest
from support.transaction_driver import ADD_V2, END_V1, END_V2, ORDERS, REFUNDS, TRANSACTIONAL_ID, Coordinator

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.end_transaction import V1_OUTCOMES, V2_OUTCOMES, V2_RETRY_OUTCOMES
from tidelog.coordinators.transactions.states import COMPLETED, IDLE, TRANSACTION, TransactionState, TransactionStep
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.end_txn_response import EndTxnResponse

COMMIT = True
ABORT = False
IN_THE_LOG = set(TransactionState) - {TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE}


def following(response: EndTxnResponse) -> ProducerIdentity:
    return ProducerIdentity(response.producer_id, response.producer_epoch)


# The tables.


def test_tables_have_an_outcome_for_every_state_that_can_occur() -> None:
    assert set(V1_OUTCOMES) == {(state, commit) for state in IN_THE_LOG for commit in (COMMIT, ABORT)}
    open_states = IDLE | {TransactionState.ONGOING}
    assert set(V2_OUTCOMES) == {(state, commit) for state in open_states for commit in (COMMIT, ABORT)}
    assert set(V2_RETRY_OUTCOMES) == {(state, commit) for state in COMPLETED for commit in (COMMIT, ABORT)}


@pytest.mark.parametrize("table", [V1_OUTCOMES, V2_OUTCOMES])
def test_outcomes_that_are_steps_are_in_the_table_of_transitions(
    table: dict[tuple[TransactionState, bool], TransactionStep | ErrorCode],
) -> None:
    for (state, _), outcome in table.items():
        if isinstance(outcome, TransactionStep):
            assert TRANSACTION.allows(state, outcome)


# The first version.


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_first_version_keeps_the_epoch(commit: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, ORDERS, REFUNDS)

    assert coordinator.end(producer, commit=commit).error_code == ErrorCode.NONE
    (work,) = coordinator.write_markers()
    assert (work.commit, work.producer, work.partitions) == (commit, producer, frozenset({ORDERS, REFUNDS}))
    assert work.transaction_version == 0
    assert coordinator.transaction.producer == producer
    expected = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
    assert coordinator.transaction.state is expected


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_first_version_answers_a_retry(commit: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer)
    coordinator.end(producer, commit=commit)

    assert coordinator.end(producer, commit=commit).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert coordinator.end(producer, commit=not commit).error_code == ErrorCode.INVALID_TXN_STATE
    coordinator.write_markers()
    assert coordinator.end(producer, commit=commit).error_code == ErrorCode.NONE
    assert coordinator.end(producer, commit=not commit).error_code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_first_version_refuses_to_end_what_has_not_begun(commit: bool) -> None:
    coordinator = Coordinator()

    assert coordinator.end(coordinator.producer(), commit=commit).error_code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("version", [END_V1, END_V2])
def test_strangers_are_refused(version: int) -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer)
    stranger = ProducerIdentity(77, 0)

    assert coordinator.end(stranger, commit=True, version=version).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    newer = ProducerIdentity(producer.producer_id, producer.producer_epoch + 1)
    assert coordinator.end(newer, commit=True, version=version).error_code == ErrorCode.PRODUCER_FENCED
    missing = coordinator.end(producer, commit=True, version=version, transactional_id="other")
    assert missing.error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    unnamed = coordinator.end(producer, commit=True, version=version, transactional_id="")
    assert unnamed.error_code == ErrorCode.INVALID_REQUEST
    assert coordinator.transaction.state is TransactionState.ONGOING


# The second version.


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_second_version_raises_the_epoch_with_each_transaction(commit: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, version=ADD_V2)
    response = coordinator.end(producer, commit=commit, version=END_V2)

    assert following(response) == ProducerIdentity(1001, 1)
    (work,) = coordinator.write_markers()
    assert (work.commit, work.producer, work.transaction_version) == (commit, ProducerIdentity(1001, 1), 2)
    assert coordinator.transaction.producer == ProducerIdentity(1001, 1)


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
@pytest.mark.parametrize("fail_over", [False, True])
def test_second_version_answers_a_retry_with_the_same_epoch(commit: bool, fail_over: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, version=ADD_V2)
    first = coordinator.end(producer, commit=commit, version=END_V2)

    assert coordinator.end(producer, commit=commit, version=END_V2).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    coordinator.write_markers()
    if fail_over:
        coordinator.fail_over()
    assert coordinator.end(producer, commit=commit, version=END_V2) == first
    assert coordinator.end(producer, commit=not commit, version=END_V2).error_code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("commit", [COMMIT, ABORT])
def test_scenario_18_a_delayed_end_is_refused_in_the_next_transaction(commit: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, ORDERS, version=ADD_V2)
    response = coordinator.end(producer, commit=True, version=END_V2)
    coordinator.write_markers()
    coordinator.add(following(response), REFUNDS, version=ADD_V2)

    assert coordinator.end(producer, commit=commit, version=END_V2).error_code == ErrorCode.PRODUCER_FENCED
    assert coordinator.transaction.state is TransactionState.ONGOING
    assert coordinator.marker_work == []


def test_the_first_version_cannot_tell_a_delayed_end() -> None:
    """The hole that the second version closes; kept here so that nobody takes it for closed."""
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, ORDERS)
    coordinator.end(producer, commit=True)
    coordinator.write_markers()
    coordinator.add(producer, REFUNDS)

    assert coordinator.end(producer, commit=True).error_code == ErrorCode.NONE


def test_second_version_aborts_what_the_coordinator_has_not_heard_of() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    response = coordinator.end(producer, commit=ABORT, version=END_V2)

    assert following(response) == ProducerIdentity(1001, 1)
    (work,) = coordinator.marker_work
    assert work.partitions == frozenset()
    coordinator.write_markers()
    assert coordinator.transaction.state is TransactionState.COMPLETE_ABORT
    assert coordinator.transaction.start_ms == coordinator.now_ms
    again = coordinator.end(following(response), commit=ABORT, version=END_V2)
    assert following(again) == ProducerIdentity(1001, 2)


def test_second_version_refuses_to_commit_what_the_coordinator_has_not_heard_of() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()

    assert coordinator.end(producer, commit=COMMIT, version=END_V2).error_code == ErrorCode.INVALID_TXN_STATE
    aborted = following(coordinator.end(producer, commit=ABORT, version=END_V2))
    coordinator.write_markers()
    assert coordinator.end(aborted, commit=COMMIT, version=END_V2).error_code == ErrorCode.INVALID_TXN_STATE


def test_a_failed_append_changes_nothing() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, version=ADD_V2)
    coordinator.log_broken = True
    request = EndTxnRequest(transactional_id=TRANSACTIONAL_ID, producer_id=1001, producer_epoch=0, committed=True)
    assert coordinator.ask(request, END_V2) is None

    assert coordinator.transaction.state is TransactionState.ONGOING
    assert coordinator.transaction.producer == producer
    assert coordinator.marker_work == []
    coordinator.log_broken = False
    assert following(coordinator.end(producer, commit=True, version=END_V2)) == ProducerIdentity(1001, 1)
