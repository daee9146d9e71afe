"""The records of `__transaction_state`: Kafka's schema, and the versions that Kafka 4.3 writes."""

from __future__ import annotations

from itertools import groupby

from tidelog.coordinators.decision import CoordinatorRecord, ProducerIdentity
from tidelog.coordinators.record_format import RecordFormat
from tidelog.coordinators.transactions.states import TransactionState
from tidelog.coordinators.transactions.transaction import NO_PRODUCER, Transaction
from tidelog.model.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition
from tidelog.model.topics import TRANSACTION_STATE_TOPIC
from tidelog.protocol.messages.transaction_log_key import TransactionLogKey
from tidelog.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue

# Version 0 has no room for what the second protocol version needs.
_VALUE_VERSION = 1


def transaction_record(transaction: Transaction) -> CoordinatorRecord:
    return CoordinatorRecord(TransactionLogKey(transactional_id=transaction.transactional_id), _value(transaction))


def transaction_tombstone(transactional_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), None)


def read_transaction(transactional_id: str, value: TransactionLogValue) -> Transaction:
    """The inverse of `transaction_record`."""
    partitions = frozenset(
        TopicPartition(topic.topic, partition)
        for topic in value.transaction_partitions or ()
        for partition in topic.partition_ids
    )
    return Transaction(
        transactional_id=transactional_id,
        producer=ProducerIdentity(value.producer_id, value.producer_epoch),
        next_producer=_next_producer(value),
        previous_producer_id=value.previous_producer_id,
        timeout_ms=value.transaction_timeout_ms,
        state=TransactionState(value.transaction_status),
        partitions=partitions,
        start_ms=value.transaction_start_timestamp_ms,
        last_update_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )


def _value(transaction: Transaction) -> TransactionLogValue:
    # Kafka writes no list at all where there cannot be a partition, and an empty one where there was one before.
    partitions = None
    if transaction.state is not TransactionState.EMPTY:
        partitions = [
            PartitionsSchema(topic=topic, partition_ids=[partition.partition for partition in members])
            for topic, members in groupby(sorted(transaction.partitions), key=lambda each: each.topic)
        ]
    return TransactionLogValue(
        producer_id=transaction.producer.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer.producer_id,
        producer_epoch=transaction.producer.producer_epoch,
        next_producer_epoch=_next_epoch(transaction),
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        client_transaction_version=transaction.client_version,
    )


def _next_epoch(transaction: Transaction) -> int:
    """Kafka 4.3 leaves it out where the next producer begins with epoch 0 of a new id."""
    epoch = transaction.next_producer.producer_epoch
    return epoch if epoch > 0 else NO_PRODUCER_EPOCH


def _next_producer(value: TransactionLogValue) -> ProducerIdentity:
    if value.next_producer_id == NO_PRODUCER_ID:
        return NO_PRODUCER
    return ProducerIdentity(value.next_producer_id, max(value.next_producer_epoch, 0))


FORMAT = RecordFormat(
    TRANSACTION_STATE_TOPIC,
    {TransactionLogKey.SCHEMA.api_key: (TransactionLogKey, TransactionLogValue)},
    lambda value: _VALUE_VERSION,
)
encode_record = FORMAT.encode
decode_record = FORMAT.decode
