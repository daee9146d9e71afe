"""Asks the transaction coordinator before a transaction's first record is written to a partition (KIP-890).

Producers of the first protocol version have told the coordinator which partitions they write to: it is asked whether
that is true, because a late record of a transaction that is over would hold the partition's readers back for ever. For
those of the second version the write itself adds the partition. Once a transaction is open in a partition, nobody is
asked any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.partition.producers import ProducerRefusal
from tidelog.partition.verification import NO_GUARD, VerificationGuard
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tidelog.protocol.schema import Message
from tidelog.server.replicas.replica import Replica

if TYPE_CHECKING:
    from tidelog.server.node import Node

# The versions of AddPartitionsToTxn in which brokers ask.
_VERIFY_VERSION = 4
_ADD_VERSION = 5


class ClientLevel(Enum):
    """What the version of a client's request says about it."""

    # Knows no error for a transaction that has to be aborted.
    V1 = "first version"
    # Knows TRANSACTION_ABORTABLE (KIP-890, part 1).
    V1_ABORTABLE = "first version, and TRANSACTION_ABORTABLE"
    # Leaves it to its writes to add partitions.
    V2 = "second version"


class Write(NamedTuple):
    """A transactional write to come."""

    replica: Replica
    base_sequence: int


@dataclass(slots=True)
class Admission:
    """Which partitions may be written to: what to show at the append, or why not."""

    guards: dict[TopicPartition, VerificationGuard | None] = field(default_factory=dict)
    refused: dict[TopicPartition, ErrorCode] = field(default_factory=dict)


# What a partition's leader cannot tell the producer as it is: it would not know that it may just try again.
_COORDINATOR_AWAY = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def is_coordinator_away(code: ErrorCode, level: ClientLevel) -> bool:
    """Whether trying again is all that can be done. The second version knows CONCURRENT_TRANSACTIONS as well."""
    return code in _COORDINATOR_AWAY or (code is ErrorCode.CONCURRENT_TRANSACTIONS and level is not ClientLevel.V2)


def admit(
    node: Node, transactional_id: str, producer: ProducerIdentity, writes: Sequence[Write], level: ClientLevel
) -> Admission | Awaitable[Admission]:
    """At once if the coordinator is here and need not wait for anybody: then no other write can come in between."""
    admission = Admission()
    to_ask: list[TopicPartition] = []
    checks = node.config.transaction_partition_verification_enable or level is ClientLevel.V2
    for replica, base_sequence in writes:
        partition = replica.topic_partition
        if not checks:
            admission.guards[partition] = None
            continue
        guard = replica.log.producer_states.begin_verification(
            producer.producer_id,
            base_sequence,
            producer.producer_epoch,
            supports_epoch_bump=level is ClientLevel.V2,
            now_ms=node.clock.now_ms(),
        )
        if isinstance(guard, ProducerRefusal):
            admission.refused[partition] = guard.code
        elif guard is None:
            admission.guards[partition] = NO_GUARD
        else:
            admission.guards[partition] = guard
            to_ask.append(partition)
    if not to_ask:
        return admission
    question = _question(transactional_id, producer, to_ask, verify_only=level is not ClientLevel.V2)
    version = _ADD_VERSION if level is ClientLevel.V2 else _VERIFY_VERSION
    answer = node.transactions.ask_as_broker(transactional_id, question, version)
    if not isinstance(answer, Message):
        return _admit_later(node, transactional_id, question, version, answer, admission, level)
    if level is ClientLevel.V2 and ErrorCode.CONCURRENT_TRANSACTIONS in _codes(answer).values():
        return _admit_later(node, transactional_id, question, version, None, admission, level)
    _note(admission, answer, level)
    return admission


async def _admit_later(
    node: Node,
    transactional_id: str,
    question: AddPartitionsToTxnRequest,
    version: int,
    first: Awaitable[Message] | None,
    admission: Admission,
    level: ClientLevel,
) -> Admission:
    """The end of the last transaction may be under way still: a short wait here saves the producer a longer one."""
    answer = None if first is None else await first
    waited_ms = 0
    while level is ClientLevel.V2 and (answer is None or ErrorCode.CONCURRENT_TRANSACTIONS in _codes(answer).values()):
        if waited_ms >= node.config.add_partitions_to_txn_retry_backoff_max_ms and answer is not None:
            break
        await asyncio.sleep(node.config.add_partitions_to_txn_retry_backoff_ms / 1000)
        waited_ms += node.config.add_partitions_to_txn_retry_backoff_ms
        again = node.transactions.ask_as_broker(transactional_id, question, version)
        answer = again if isinstance(again, Message) else await again
    assert answer is not None
    _note(admission, answer, level)
    return admission


def _question(
    transactional_id: str, producer: ProducerIdentity, partitions: list[TopicPartition], *, verify_only: bool
) -> AddPartitionsToTxnRequest:
    by_topic: dict[str, list[int]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        verify_only=verify_only,
        topics=[AddPartitionsToTxnTopic(name=topic, partitions=numbers) for topic, numbers in by_topic.items()],
    )
    return AddPartitionsToTxnRequest(transactions=[transaction])


def _codes(answer: Message) -> dict[TopicPartition, ErrorCode]:
    assert isinstance(answer, AddPartitionsToTxnResponse)
    (result,) = answer.results_by_transaction
    return {
        TopicPartition(topic.name, partition.partition_index): ErrorCode(partition.partition_error_code)
        for topic in result.topic_results
        for partition in topic.results_by_partition
    }


def _note(admission: Admission, answer: Message, level: ClientLevel) -> None:
    for partition, code in _codes(answer).items():
        if code is ErrorCode.NONE:
            continue
        if code is ErrorCode.PRODUCER_FENCED:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        elif code is ErrorCode.TRANSACTION_ABORTABLE and level is ClientLevel.V1:
            code = ErrorCode.INVALID_TXN_STATE
        admission.refused[partition] = code
