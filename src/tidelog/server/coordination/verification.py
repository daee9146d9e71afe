"""Asks the transaction coordinator before a transaction's first record is written to a partition (KIP-890).

Producers of the first protocol version have registered their partitions with the coordinator: it is asked to confirm
that, because a late record of a transaction that has ended would hold the partition's readers back for ever. For those
of the second version the write itself adds the partition. Once a transaction is open in a partition, nobody is asked
any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from typing import NamedTuple

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.network.later import Later
from tidelog.partition.producers import AppendRefusal
from tidelog.partition.verification import NO_GUARD, VerificationGuard
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tidelog.protocol.schema import Message
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.replicas.replica import Replica

# The versions of AddPartitionsToTxn in which brokers ask.
_VERIFY_VERSION = 4
_ADD_VERSION = 5

# The first wait before the coordinator is asked again, doubled up to the configured backoff: markers take a few round
# trips, hardly ever the whole backoff.
FIRST_RETRY_MS = 2


class ClientLevel(Enum):
    """What the version of a client's request says about it."""

    # Knows no error for a transaction that has to be aborted.
    V1 = "first version"
    # Knows TRANSACTION_ABORTABLE (KIP-890, part 1).
    V1_ABORTABLE = "first version, and TRANSACTION_ABORTABLE"
    # Its writes add partitions.
    V2 = "second version"


class Write(NamedTuple):
    """An upcoming transactional write."""

    replica: Replica
    base_sequence: int


@dataclass(slots=True)
class Admission:
    """Which partitions may be written to: the guard to present at the append, or why not."""

    guards: dict[TopicPartition, VerificationGuard | None] = field(default_factory=dict)
    refused: dict[TopicPartition, ErrorCode] = field(default_factory=dict)


# What a partition's leader cannot return to the producer as it is: it would not know that it may just retry.
_COORDINATOR_AWAY = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def is_coordinator_away(code: ErrorCode, level: ClientLevel) -> bool:
    """Whether retrying is all that can be done. The second version knows CONCURRENT_TRANSACTIONS as well."""
    return code in _COORDINATOR_AWAY or (code is ErrorCode.CONCURRENT_TRANSACTIONS and level is not ClientLevel.V2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Asks on behalf of the partitions that this broker leads."""

    live: LiveConfig
    clock: Clock
    transactions: TransactionCoordinator

    def admit(
        self, transactional_id: str, producer: ProducerIdentity, writes: Sequence[Write], level: ClientLevel
    ) -> Admission | Later[Admission]:
        """At once if the coordinator is here and has nothing to wait for: then no other write comes in between."""
        asking = _Asking(self, transactional_id, producer, writes, level)
        admission, to_ask = asking.begin()
        if not to_ask:
            return admission
        answer = asking.ask(to_ask)
        if not isinstance(answer, Message):
            return Later.run(asking.wait(admission, answer))
        if level is ClientLevel.V2 and ErrorCode.CONCURRENT_TRANSACTIONS in _codes(answer).values():
            return Later.run(asking.wait(admission, None))
        _note(admission, answer, level)
        return admission


@dataclass(frozen=True, slots=True)
class _Asking:
    """One request that wants to write, and what it has to ask for."""

    by: Verification
    transactional_id: str
    producer: ProducerIdentity
    writes: Sequence[Write]
    level: ClientLevel

    def begin(self) -> tuple[Admission, list[TopicPartition]]:
        """(what is clear without asking, the partitions to ask for)."""
        producer = self.producer
        admission = Admission()
        to_ask: list[TopicPartition] = []
        checks = self.by.live.config.transaction_partition_verification_enable or self.level is ClientLevel.V2
        for replica, base_sequence in self.writes:
            partition = replica.topic_partition
            if not checks:
                admission.guards[partition] = None
                continue
            guard = replica.log.producer_states.begin_verification(
                producer.producer_id,
                sequence=base_sequence,
                epoch=producer.producer_epoch,
                supports_epoch_bump=self.level is ClientLevel.V2,
                now_ms=self.by.clock.now_ms(),
            )
            if isinstance(guard, AppendRefusal):
                admission.refused[partition] = guard.code
            elif guard is None:
                admission.guards[partition] = NO_GUARD
            else:
                admission.guards[partition] = guard
                to_ask.append(partition)
        return admission, to_ask

    def ask(self, partitions: list[TopicPartition]) -> Message | Later[Message]:
        second = self.level is ClientLevel.V2
        question = _question(self.transactional_id, self.producer, partitions, verify_only=not second)
        version = _ADD_VERSION if second else _VERIFY_VERSION
        return self.by.transactions.ask_as_broker(self.transactional_id, question, version)

    async def wait(self, admission: Admission, first: Later[Message] | None) -> Admission:
        """The last transaction may still be ending: a short wait here saves the producer a longer one.

        Its marker may be written between the question and the answer. To the partition the answer then seems to concern
        a transaction that has ended. With the second version it cannot be, because each transaction has an epoch of its
        own, so the coordinator is asked once more.
        """
        config = self.by.live.config
        started_ms = self.by.clock.monotonic_ms()
        pause_ms = min(FIRST_RETRY_MS, config.add_partitions_to_txn_retry_backoff_ms)
        answer = None if first is None else await first
        while self.level is ClientLevel.V2 and (answer is None or self._too_early(admission, answer)):
            waited_ms = self.by.clock.monotonic_ms() - started_ms
            if waited_ms >= config.add_partitions_to_txn_retry_backoff_max_ms and answer is not None:
                break
            await asyncio.sleep(pause_ms / 1000)
            pause_ms = min(2 * pause_ms, config.add_partitions_to_txn_retry_backoff_ms)
            admission, to_ask = self.begin()
            if not to_ask:
                return admission
            again = self.ask(to_ask)
            answer = again if isinstance(again, Message) else await again
        assert answer is not None
        _note(admission, answer, self.level)
        return admission

    def _too_early(self, admission: Admission, answer: Message) -> bool:
        codes = _codes(answer)
        if ErrorCode.CONCURRENT_TRANSACTIONS in codes.values():
            return True
        producer_id, epoch = self.producer
        for replica, _ in self.writes:
            guard = admission.guards.get(replica.topic_partition)
            if codes.get(replica.topic_partition) is not ErrorCode.NONE or guard is None:
                continue
            states = replica.log.producer_states
            if not states.has_open_transaction(producer_id, epoch=epoch) and not states.verifications.accepts(
                producer_id, guard
            ):
                return True
        return False


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
