"""What an outcome looks like in each reply.

PRODUCER_FENCED is younger than the transactional requests: versions that do not know it get INVALID_PRODUCER_EPOCH,
which meant the same before (KIP-588).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.transaction import NO_PRODUCER
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.end_txn_response import EndTxnResponse
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.protocol.schema import Message

_INIT_PRODUCER_ID_KNOWS_FENCING_FROM = 4
_ADD_PARTITIONS_KNOWS_FENCING_FROM = 2
_END_TXN_KNOWS_FENCING_FROM = 2


def initialised(
    producer: ProducerIdentity, code: ErrorCode, version: int, *, ongoing: ProducerIdentity = NO_PRODUCER
) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=understood(code, version, _INIT_PRODUCER_ID_KNOWS_FENCING_FROM),
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        ongoing_txn_producer_id=ongoing.producer_id,
        ongoing_txn_producer_epoch=ongoing.producer_epoch,
    )


def ended(producer: ProducerIdentity, code: ErrorCode, version: int) -> EndTxnResponse:
    return EndTxnResponse(
        error_code=understood(code, version, _END_TXN_KNOWS_FENCING_FROM),
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
    )


def partitions_of(transaction: AddPartitionsToTxnTransaction) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(topic.name, partition) for topic in transaction.topics for partition in topic.partitions
    )


def added(transactional_id: str, codes: Mapping[TopicPartition, ErrorCode], version: int) -> AddPartitionsToTxnResponse:
    """In the form of version 4, for one transaction."""
    topics = [
        AddPartitionsToTxnTopicResult(
            name=topic,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=each.partition,
                    partition_error_code=understood(codes[each], version, _ADD_PARTITIONS_KNOWS_FENCING_FROM),
                )
                for each in partitions
            ],
        )
        for topic, partitions in groupby(sorted(codes), key=lambda each: each.topic)
    ]
    result = AddPartitionsToTxnResult(transactional_id=transactional_id, topic_results=topics)
    return AddPartitionsToTxnResponse(results_by_transaction=[result])


def refused(message: Message, code: ErrorCode, version: int) -> Message:
    """The reply to a request that did not get as far as a decision."""
    match message:
        case InitProducerIdRequest():
            return initialised(NO_PRODUCER, code, version)
        case EndTxnRequest():
            return ended(NO_PRODUCER, code, version)
        case AddPartitionsToTxnRequest():
            (transaction,) = message.transactions
            codes = dict.fromkeys(partitions_of(transaction), code)
            return added(transaction.transactional_id, codes, version)
        case _:
            raise TypeError(f"{type(message).__name__} is not a request to the transaction coordinator")


def understood(code: ErrorCode, version: int, known_from: int) -> ErrorCode:
    if code is ErrorCode.PRODUCER_FENCED and version < known_from:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
