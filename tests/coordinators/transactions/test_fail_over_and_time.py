"""Markers, fail-over, timeouts, expiry, and what administrators see."""

from __future__ import annotations

import pytest
from support.default_settings import transaction_settings
from support.transaction_driver import ADD_V2, END_V2, ORDERS, REFUNDS, TRANSACTIONAL_ID, Coordinator

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.listing import ListFilter
from tidelog.coordinators.transactions.markers import MarkerOutcome, marker_outcome
from tidelog.coordinators.transactions.states import TransactionState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_transactions_response import TopicData

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def decided(*, commit: bool = True) -> Coordinator:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, ORDERS, REFUNDS)
    coordinator.end(producer, commit=commit)
    return coordinator


# Scenario 17.


@pytest.mark.parametrize("commit", [True, False])
def test_scenario_17_a_coordinator_that_dies_after_the_decision_is_replaced_by_one_that_carries_it_out(
    commit: bool,
) -> None:
    coordinator = decided(commit=commit)
    coordinator.fail_over()

    (work,) = coordinator.write_markers()
    assert (work.commit, work.partitions, work.coordinator_epoch) == (commit, frozenset({ORDERS, REFUNDS}), 1)
    assert coordinator.transaction.state.label == ("CompleteCommit" if commit else "CompleteAbort")


def test_scenario_17_a_coordinator_that_dies_between_two_markers_is_replaced_by_one_that_writes_both() -> None:
    coordinator = decided()
    (work,) = coordinator.marker_work
    coordinator.write_marker(work, ORDERS)

    assert coordinator.transaction.state is TransactionState.PREPARE_COMMIT
    coordinator.fail_over()
    (again,) = coordinator.write_markers()
    assert again.partitions == {ORDERS, REFUNDS}
    assert coordinator.transaction.state is TransactionState.COMPLETE_COMMIT


def test_scenario_17_a_coordinator_that_dies_after_the_last_marker_leaves_nothing_to_do_twice() -> None:
    coordinator = decided()
    coordinator.write_markers()
    length = len(coordinator.log)
    coordinator.fail_over()

    assert coordinator.marker_work == []
    assert coordinator.transaction.state is TransactionState.COMPLETE_COMMIT
    assert len(coordinator.log) == length


def test_the_transaction_is_complete_only_when_every_partition_has_its_marker() -> None:
    coordinator = decided()
    (work,) = coordinator.marker_work
    coordinator.write_marker(work, REFUNDS)
    coordinator.write_marker(work, REFUNDS)

    assert coordinator.transaction.state is TransactionState.PREPARE_COMMIT
    coordinator.write_marker(work, ORDERS)
    assert coordinator.transaction.state is TransactionState.COMPLETE_COMMIT


def test_a_late_report_about_an_earlier_transaction_completes_nothing() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, ORDERS, version=ADD_V2)
    response = coordinator.end(producer, commit=True, version=END_V2)
    (first,) = coordinator.write_markers()
    following = ProducerIdentity(response.producer_id, response.producer_epoch)
    coordinator.add(following, ORDERS, version=ADD_V2)
    coordinator.end(following, commit=False, version=END_V2)
    coordinator.write_marker(first, ORDERS)

    assert coordinator.transaction.state is TransactionState.PREPARE_ABORT


def test_completion_is_tried_again_after_a_failed_append() -> None:
    coordinator = decided()
    (work,) = coordinator.marker_work
    coordinator.log_broken = True
    coordinator.write_marker(work, ORDERS)
    coordinator.write_marker(work, REFUNDS)
    coordinator.log_broken = False

    assert coordinator.transaction.state is TransactionState.PREPARE_COMMIT
    coordinator.write_marker(work, REFUNDS)
    assert coordinator.transaction.state is TransactionState.COMPLETE_COMMIT


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (ErrorCode.NONE, MarkerOutcome.WRITTEN),
        (ErrorCode.INVALID_PRODUCER_EPOCH, MarkerOutcome.WRITTEN),
        (ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, MarkerOutcome.WRITTEN),
        (ErrorCode.TRANSACTION_COORDINATOR_FENCED, MarkerOutcome.DEPOSED),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, MarkerOutcome.RETRY),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, MarkerOutcome.RETRY),
        (ErrorCode.NOT_ENOUGH_REPLICAS, MarkerOutcome.RETRY),
        (ErrorCode.REQUEST_TIMED_OUT, MarkerOutcome.RETRY),
        (ErrorCode.KAFKA_STORAGE_ERROR, MarkerOutcome.RETRY),
        (ErrorCode.UNKNOWN_SERVER_ERROR, MarkerOutcome.RETRY),
    ],
)
def test_what_a_leaders_answer_means(code: ErrorCode, outcome: MarkerOutcome) -> None:
    assert marker_outcome(code) is outcome


# Timeouts.


@pytest.mark.parametrize("fail_over", [False, True])
def test_scenario_15_a_hung_transaction_is_aborted_after_its_timeout(fail_over: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.producer(timeout_ms=5000)
    coordinator.add(producer)
    coordinator.wait(2000)
    if fail_over:
        coordinator.fail_over()
    coordinator.wait(2999)
    assert coordinator.transaction.state is TransactionState.ONGOING
    coordinator.wait(1)

    assert coordinator.transaction.state is TransactionState.PREPARE_ABORT
    (work,) = coordinator.write_markers()
    assert (work.commit, work.producer) == (False, ProducerIdentity(1001, 1))
    assert coordinator.end(producer, commit=True).error_code == ErrorCode.PRODUCER_FENCED
    assert coordinator.add(producer) is ErrorCode.PRODUCER_FENCED


def test_the_clock_of_a_transaction_starts_with_its_first_partition() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer(timeout_ms=5000)
    coordinator.wait(60_000)
    coordinator.add(producer)
    coordinator.wait(4999)
    coordinator.add(producer, REFUNDS)

    assert coordinator.transaction.state is TransactionState.ONGOING
    coordinator.wait(1)
    assert coordinator.transaction.state is TransactionState.PREPARE_ABORT


def test_the_clock_of_one_transaction_does_not_end_the_next() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer(timeout_ms=5000)
    coordinator.add(producer)
    coordinator.wait(4000)
    coordinator.end(producer, commit=True)
    coordinator.write_markers()
    coordinator.add(producer)
    coordinator.wait(4000)

    assert coordinator.transaction.state is TransactionState.ONGOING


def test_a_decided_transaction_does_not_time_out() -> None:
    coordinator = decided()
    coordinator.wait(DAY_MS)

    assert coordinator.transaction.state is TransactionState.PREPARE_COMMIT


def test_an_abort_that_could_not_be_written_is_tried_again() -> None:
    coordinator = Coordinator()
    coordinator.add(coordinator.producer(timeout_ms=5000))
    coordinator.log_broken = True
    coordinator.wait(5000)
    coordinator.log_broken = False
    assert coordinator.transaction.state is TransactionState.ONGOING
    coordinator.wait(10_000)

    assert coordinator.transaction.state is TransactionState.PREPARE_ABORT


def test_a_producer_of_the_second_version_whose_transaction_timed_out_may_go_on_after_an_abort() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer(timeout_ms=5000)
    coordinator.add(producer, version=ADD_V2)
    coordinator.wait(5000)
    coordinator.write_markers()

    assert coordinator.end(producer, commit=True, version=END_V2).error_code == ErrorCode.INVALID_TXN_STATE
    response = coordinator.end(producer, commit=False, version=END_V2)
    assert (response.error_code, response.producer_epoch) == (ErrorCode.NONE, 1)


def test_under_the_first_version_of_the_feature_fencing_is_as_it_was() -> None:
    coordinator = Coordinator(settings=transaction_settings(transaction_version=1))
    producer = coordinator.producer(timeout_ms=5000)
    coordinator.add(producer)
    coordinator.wait(5000)
    (work,) = coordinator.write_markers()

    assert (work.producer, work.transaction_version) == (ProducerIdentity(1001, 1), 0)
    assert coordinator.init(expected=producer).error_code == ErrorCode.PRODUCER_FENCED


# Expiry.


def test_an_unused_transactional_id_is_forgotten_after_its_expiration() -> None:
    coordinator = Coordinator()
    coordinator.producer()
    coordinator.wait(7 * DAY_MS - HOUR_MS)
    assert len(coordinator.shard.transactions) == 1
    coordinator.wait(HOUR_MS)

    assert len(coordinator.shard.transactions) == 0
    assert coordinator.records()[-1].value is None
    coordinator.fail_over()
    assert len(coordinator.shard.transactions) == 0
    assert coordinator.producer() == ProducerIdentity(1002, 0)


def test_an_open_or_undelivered_transaction_keeps_its_id() -> None:
    coordinator = decided()
    coordinator.wait(30 * DAY_MS)

    assert coordinator.transaction.state is TransactionState.PREPARE_COMMIT


# Questions.


def test_transactions_are_listed_by_state_producer_duration_and_name() -> None:
    coordinator = Coordinator()
    coordinator.producer(transactional_id="idle")
    producer = coordinator.producer(transactional_id="busy")
    coordinator.add(producer, ORDERS, transactional_id="busy")
    coordinator.wait(1000)

    def names(wanted: ListFilter) -> list[str]:
        return [each.transactional_id for each in coordinator.shard.list_transactions(wanted, coordinator.now_ms)]

    assert names(ListFilter()) == ["idle", "busy"]
    assert names(ListFilter(state_names=["Ongoing"])) == ["busy"]
    assert names(ListFilter(state_names=["Ongoing", "Nonsense"])) == ["busy"]
    assert names(ListFilter(state_names=["Nonsense"])) == []
    assert ListFilter(state_names=["Ongoing", "Nonsense"]).unknown_states == ["Nonsense"]
    assert names(ListFilter(producer_ids=[producer.producer_id])) == ["busy"]
    assert names(ListFilter(longer_than_ms=999, state_names=["Ongoing"])) == ["busy"]
    assert names(ListFilter(longer_than_ms=1000, state_names=["Ongoing"])) == []
    assert names(ListFilter(matches=lambda name: name.startswith("i"))) == ["idle"]


def test_a_transaction_is_described() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer(timeout_ms=5000)
    coordinator.add(producer, ORDERS, REFUNDS)
    described = coordinator.shard.describe_transaction(TRANSACTIONAL_ID)

    assert (described.error_code, described.transaction_state, described.transaction_timeout_ms) == (0, "Ongoing", 5000)
    assert (described.producer_id, described.producer_epoch) == producer
    assert described.transaction_start_time_ms == coordinator.now_ms
    assert described.topics == [TopicData(topic="orders", partitions=[0]), TopicData(topic="refunds", partitions=[3])]
    missing = coordinator.shard.describe_transaction("other")
    assert missing.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
