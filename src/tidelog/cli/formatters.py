"""How `tidelog consume --formatter` prints the records of coordinators. No I/O.

Text is what Kafka's tools printed up to 3.9, which people know from books and blogs; JSON is what they print since.
Both are here for `__transaction_state` and for committed offsets; for all else in `__consumer_offsets` there is JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from tidelog.cli.dump_log.json_form import message_to_json, render
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.coordinators.decision import CoordinatorRecord
from tidelog.coordinators.groups import records as group_records
from tidelog.coordinators.record_format import UnknownRecordType
from tidelog.coordinators.transactions import records as transaction_records
from tidelog.coordinators.transactions.transaction import Transaction
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.messages.offset_commit_key import OffsetCommitKey
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue
from tidelog.protocol.messages.transaction_log_key import TransactionLogKey
from tidelog.protocol.messages.transaction_log_value import TransactionLogValue

_PREFIX = Struct(">h")
_KEY_VERSION = 0
_NOTHING = b""
# What was deleted, in the text of Kafka's tools.
_DELETED = "NULL"


def transaction_log_text(record: ConsumerRecord) -> bytes:
    """`id::TransactionMetadata(transactionalId=id, ...)`"""
    decoded = _decoded(record, TRANSACTION_STATE_TOPIC)
    if decoded is None:
        return _NOTHING
    assert isinstance(decoded.key, TransactionLogKey)
    transactional_id = decoded.key.transactional_id
    if decoded.value is None:
        return f"{transactional_id}::{_DELETED}\n".encode()
    assert isinstance(decoded.value, TransactionLogValue)
    transaction = transaction_records.read_transaction(transactional_id, decoded.value)
    return f"{transactional_id}::{_transaction_text(transaction)}\n".encode()


def transaction_log_json(record: ConsumerRecord) -> bytes:
    return _json_line(record, TRANSACTION_STATE_TOPIC, lambda decoded: True)


def offsets_text(record: ConsumerRecord) -> bytes:
    """`[group,topic,partition]::OffsetAndMetadata(offset=...)`"""
    decoded = _decoded(record, CONSUMER_OFFSETS_TOPIC)
    if decoded is None or not isinstance(decoded.key, OffsetCommitKey):
        return _NOTHING
    key = f"[{decoded.key.group},{decoded.key.topic},{decoded.key.partition}]"
    if decoded.value is None:
        return f"{key}::{_DELETED}\n".encode()
    assert isinstance(decoded.value, OffsetCommitValue)
    return f"{key}::{_offset_text(decoded.value)}\n".encode()


def offsets_json(record: ConsumerRecord) -> bytes:
    return _json_line(record, CONSUMER_OFFSETS_TOPIC, lambda decoded: isinstance(decoded.key, OffsetCommitKey))


def group_metadata_json(record: ConsumerRecord) -> bytes:
    """Everything about groups but their offsets, those of the consumer protocol (KIP-848) included."""
    return _json_line(record, CONSUMER_OFFSETS_TOPIC, lambda decoded: not isinstance(decoded.key, OffsetCommitKey))


def _transaction_text(transaction: Transaction) -> str:
    """The partitions are in order, which those of Kafka's hash set are not."""
    partitions = ", ".join(str(partition) for partition in sorted(transaction.partitions))
    return (
        f"TransactionMetadata(transactionalId={transaction.transactional_id}, "
        f"producerId={transaction.producer.producer_id}, producerEpoch={transaction.producer.producer_epoch}, "
        f"txnTimeoutMs={transaction.timeout_ms}, state={transaction.state.label}, pendingState=None, "
        f"topicPartitions=HashSet({partitions}), txnStartTimestamp={transaction.start_ms}, "
        f"txnLastUpdateTimestamp={transaction.last_update_ms})"
    )


def _offset_text(value: OffsetCommitValue) -> str:
    leader_epoch = "Optional.empty" if value.leader_epoch < 0 else f"Optional[{value.leader_epoch}]"
    expires = "None" if value.expire_timestamp < 0 else f"Some({value.expire_timestamp})"
    return (
        f"OffsetAndMetadata(offset={value.offset}, leaderEpoch={leader_epoch}, metadata={value.metadata}, "
        f"commitTimestamp={value.commit_timestamp}, expireTimestamp={expires})"
    )


def _json_line(record: ConsumerRecord, topic: str, wanted: Callable[[CoordinatorRecord], bool]) -> bytes:
    decoded = _decoded(record, topic)
    if decoded is None or not wanted(decoded):
        return _NOTHING
    assert record.key is not None
    value = None
    if decoded.value is not None and record.value is not None:
        version = _PREFIX.unpack_from(record.value)[0]
        value = {"version": version, "data": message_to_json(decoded.value, version)}
    key = {"type": _PREFIX.unpack_from(record.key)[0], "data": message_to_json(decoded.key, _KEY_VERSION)}
    return render({"key": key, "value": value}).encode() + b"\n"


def _decoded(record: ConsumerRecord, topic: str) -> CoordinatorRecord | None:
    """None for what a newer version has written."""
    if record.key is None:
        raise _not_of(record, topic, "it has no key")
    decode = transaction_records.decode_record if topic == TRANSACTION_STATE_TOPIC else group_records.decode_record
    try:
        return decode(record.key, record.value)
    except UnknownRecordType:
        if record.topic != topic:
            raise _not_of(record, topic, "its type is unknown") from None
        return None
    except ProtocolError as error:
        raise _not_of(record, topic, str(error)) from error


def _not_of(record: ConsumerRecord, topic: str, why: str) -> ProtocolError:
    return ProtocolError(
        f"the record at offset {record.offset} of {record.topic}-{record.partition} is none of {topic}: {why}"
    )
