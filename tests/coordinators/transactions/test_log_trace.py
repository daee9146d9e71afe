"""What is in `__transaction_state` after the steps of the study notes: commit, abort, several transactions."""

from __future__ import annotations

from support.transaction_driver import TRANSACTIONAL_ID, Coordinator

from tidelog.coordinators.decision import CoordinatorRecord
from tidelog.coordinators.transactions.records import encode_record, read_transaction
from tidelog.coordinators.transactions.transaction import Transaction
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.transaction_log_key import TransactionLogKey
from tidelog.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue

TOPIC = TopicPartition("transaction-topic", 0)


def line(record: CoordinatorRecord, *, since: int) -> str:
    """As the formatter of the console consumer prints it, with times counted from the start."""
    key, value = record
    assert isinstance(key, TransactionLogKey)
    if value is None:
        return f"{key.transactional_id}::null"
    assert isinstance(value, TransactionLogValue)
    found: Transaction = read_transaction(key.transactional_id, value)
    partitions = ", ".join(map(str, sorted(found.partitions)))
    start = found.start_ms if found.start_ms < 0 else found.start_ms - since
    return (
        f"{key.transactional_id}::TransactionMetadata(transactionalId={found.transactional_id}, "
        f"producerId={found.producer.producer_id}, producerEpoch={found.producer.producer_epoch}, "
        f"txnTimeoutMs={found.timeout_ms}, state={found.state.label}, pendingState=None, "
        f"topicPartitions=HashSet({partitions}), txnStartTimestamp={start}, "
        f"txnLastUpdateTimestamp={found.last_update_ms - since})"
    )


def trace(coordinator: Coordinator, *, since: int) -> list[str]:
    return [line(record, since=since) for record in coordinator.records()]


def expected(epoch: int, state: str, partitions: str, start: int, update: int) -> str:
    return (
        f"payments::TransactionMetadata(transactionalId=payments, producerId=1001, producerEpoch={epoch}, "
        f"txnTimeoutMs=60000, state={state}, pendingState=None, topicPartitions=HashSet({partitions}), "
        f"txnStartTimestamp={start}, txnLastUpdateTimestamp={update})"
    )


def run_transaction(coordinator: Coordinator, *, commit: bool, again: bool = False) -> None:
    producer = coordinator.transaction.producer if again else coordinator.producer()
    coordinator.wait(10)
    coordinator.add(producer, TOPIC)
    coordinator.wait(10)
    coordinator.end(producer, commit=commit)
    coordinator.wait(3)
    coordinator.write_markers()
    coordinator.wait(7)


def test_trace_of_commits() -> None:
    coordinator = Coordinator()
    since = coordinator.now_ms

    run_transaction(coordinator, commit=True)
    run_transaction(coordinator, commit=True)

    assert trace(coordinator, since=since) == [
        expected(0, "Empty", "", -1, 0),
        expected(0, "Ongoing", "transaction-topic-0", 10, 10),
        expected(0, "PrepareCommit", "transaction-topic-0", 10, 20),
        expected(0, "CompleteCommit", "", 10, 23),
        expected(1, "Empty", "", -1, 30),
        expected(1, "Ongoing", "transaction-topic-0", 40, 40),
        expected(1, "PrepareCommit", "transaction-topic-0", 40, 50),
        expected(1, "CompleteCommit", "", 40, 53),
    ]


def test_trace_of_an_abort() -> None:
    coordinator = Coordinator()
    since = coordinator.now_ms

    run_transaction(coordinator, commit=False)

    assert trace(coordinator, since=since) == [
        expected(0, "Empty", "", -1, 0),
        expected(0, "Ongoing", "transaction-topic-0", 10, 10),
        expected(0, "PrepareAbort", "transaction-topic-0", 10, 20),
        expected(0, "CompleteAbort", "", 10, 23),
    ]


def test_trace_of_several_transactions_after_one_init() -> None:
    coordinator = Coordinator()
    since = coordinator.now_ms

    run_transaction(coordinator, commit=True)
    run_transaction(coordinator, commit=True, again=True)

    assert trace(coordinator, since=since) == [
        expected(0, "Empty", "", -1, 0),
        expected(0, "Ongoing", "transaction-topic-0", 10, 10),
        expected(0, "PrepareCommit", "transaction-topic-0", 10, 20),
        expected(0, "CompleteCommit", "", 10, 23),
        expected(0, "Ongoing", "transaction-topic-0", 40, 40),
        expected(0, "PrepareCommit", "transaction-topic-0", 40, 50),
        expected(0, "CompleteCommit", "", 40, 53),
    ]


def test_values_are_written_as_kafka_4_3_writes_them() -> None:
    coordinator = Coordinator()
    producer = coordinator.producer()
    coordinator.add(producer, TOPIC, version=5)
    empty, ongoing = (record.value for record in coordinator.records())

    assert empty == TransactionLogValue(
        producer_id=1001,
        previous_producer_id=1001,
        producer_epoch=0,
        transaction_timeout_ms=60_000,
        transaction_status=0,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=coordinator.now_ms,
        transaction_start_timestamp_ms=-1,
    )
    assert ongoing == TransactionLogValue(
        producer_id=1001,
        previous_producer_id=1001,
        producer_epoch=0,
        transaction_timeout_ms=60_000,
        transaction_status=1,
        transaction_partitions=[PartitionsSchema(topic="transaction-topic", partition_ids=[0])],
        transaction_last_update_timestamp_ms=coordinator.now_ms,
        transaction_start_timestamp_ms=coordinator.now_ms,
        client_transaction_version=2,
    )


def test_keys_and_values_begin_with_type_and_version() -> None:
    coordinator = Coordinator()
    coordinator.producer()
    key, value = encode_record(coordinator.records()[0])

    assert key == b"\x00\x00" + len(TRANSACTIONAL_ID).to_bytes(2, "big") + TRANSACTIONAL_ID.encode()
    assert value is not None
    assert value[:2] == b"\x00\x01"
