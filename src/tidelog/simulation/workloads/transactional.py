"""A producer with a transactional id that does one thing after the other, and speaks either protocol of transactions.

It is much simpler than the client's own: one request at a time, and whatever is not an answer that says "try again"
ends the session. The next one begins with InitProducerId, which fences this one. So what the history says of a
transaction is exactly what the brokers have said.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TypeVar

from tidelog.client.cluster.cluster import Cluster, CoordinatorKind
from tidelog.client.errors import ClientError, NoBrokerAvailable, known_code
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import ConnectionProblem
from tidelog.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from tidelog.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.end_txn_response import EndTxnResponse
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.produce_response import ProduceResponse
from tidelog.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from tidelog.protocol.schema import Message
from tidelog.records.record import encode_batch
from tidelog.simulation.checks.history import Outcome

R = TypeVar("R", bound=Message)

# The last versions in which clients of the first protocol speak, and the last Produce that names its topics.
_FIRST_PROTOCOL: dict[type[Message], int] = {
    AddPartitionsToTxnRequest: 3,
    EndTxnRequest: 4,
    TxnOffsetCommitRequest: 4,
    ProduceRequest: 11,
}
_SECOND_PROTOCOL: dict[type[Message], int] = {ProduceRequest: 12}

RETRY_SECONDS = 0.1
# How long one step is tried before the session is given up.
STEP_SECONDS = 20.0
_PURPOSE = "transactions"
_COORDINATOR_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


class SessionOver(ClientError):
    """Nothing more can be done with this producer id and epoch; `code` is None where nobody has answered."""

    def __init__(self, what: str, code: ErrorCode | None, *, unclear: bool) -> None:
        super().__init__(f"{what}: {'no answer' if code is None else code.name}")
        self.code = code
        # An earlier try, or this one, may have been carried out nevertheless.
        self.unclear = unclear


@dataclass(eq=False)
class TransactionSession:
    """From one InitProducerId to the next. One transaction at a time; it begins with the first record or offset."""

    cluster: Cluster
    transactional_id: str
    timeout_ms: int
    second_protocol: bool
    _producer_id: int = field(init=False, default=-1)
    _epoch: int = field(init=False, default=-1)
    _sequences: Counter[TopicPartition] = field(init=False, default_factory=Counter)
    _added: set[TopicPartition] = field(init=False, default_factory=set)

    async def initialize(self) -> None:
        """Whatever a predecessor has left open is over afterwards."""
        reply = await self._ask_coordinator(
            InitProducerIdRequest(
                transactional_id=self.transactional_id,
                transaction_timeout_ms=self.timeout_ms,
            ),
            InitProducerIdResponse,
            lambda reply: (reply.error_code,),
        )
        self._begin_epoch(reply.producer_id, reply.producer_epoch)

    async def produce(self, partition: TopicPartition, values: Sequence[bytes]) -> int:
        """The offset of the first of them, once all in-sync replicas have them."""
        await self._add(partition)
        count = self._sequences[partition]
        batch = encode_batch(
            [(self.cluster.clock.now_ms(), None, value, ()) for value in values],
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=count,
            transactional=True,
        )
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=self.cluster.config.request_timeout_ms,
            topic_data=[
                TopicProduceData(
                    name=partition.topic,
                    partition_data=[PartitionProduceData(index=partition.partition, records=batch)],
                )
            ],
        )
        reply = await self._ask(
            request,
            ProduceResponse,
            lambda reply: [each.error_code for topic in reply.responses for each in topic.partition_responses],
            lambda: self._leader(partition),
        )
        self._sequences[partition] = count + len(values)
        return reply.responses[0].partition_responses[0].base_offset

    async def send_offsets(self, group: ConsumerGroupMetadata, offsets: Mapping[TopicPartition, int]) -> None:
        if not self.second_protocol:
            await self._ask_coordinator(
                AddOffsetsToTxnRequest(
                    transactional_id=self.transactional_id,
                    producer_id=self._producer_id,
                    producer_epoch=self._epoch,
                    group_id=group.group_id,
                ),
                AddOffsetsToTxnResponse,
                lambda reply: (reply.error_code,),
            )
        by_topic: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for partition, offset in offsets.items():
            entry = TxnOffsetCommitRequestPartition(partition_index=partition.partition, committed_offset=offset)
            by_topic.setdefault(partition.topic, []).append(entry)
        await self._ask(
            TxnOffsetCommitRequest(
                transactional_id=self.transactional_id,
                group_id=group.group_id,
                producer_id=self._producer_id,
                producer_epoch=self._epoch,
                generation_id=group.generation_id,
                member_id=group.member_id,
                group_instance_id=group.instance_id,
                topics=[TxnOffsetCommitRequestTopic(name=name, partitions=each) for name, each in by_topic.items()],
            ),
            TxnOffsetCommitResponse,
            lambda reply: [each.error_code for topic in reply.topics for each in topic.partitions],
            lambda: self.cluster.coordinator(CoordinatorKind.GROUP, group.group_id),
            forget=lambda: self.cluster.forget_coordinator(CoordinatorKind.GROUP, group.group_id),
        )

    async def end(self, *, commit: bool) -> Outcome:
        """What is known of the transaction afterwards. Unless it is what was asked for, the session is over."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=commit,
        )
        try:
            reply = await self._ask_coordinator(request, EndTxnResponse, lambda reply: (reply.error_code,))
        except SessionOver as over:
            # Who asked to abort will never have it committed; a commit that was refused outright has not happened.
            return Outcome.UNKNOWN if commit and over.unclear else Outcome.ABORTED
        self._added.clear()
        if reply.producer_id >= 0:
            self._begin_epoch(reply.producer_id, reply.producer_epoch)
        return Outcome.COMMITTED if commit else Outcome.ABORTED

    # -- inside --------------------------------------------------------------------------------------------------

    def _begin_epoch(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self._producer_id, self._epoch):
            self._sequences.clear()
        self._producer_id, self._epoch = producer_id, epoch

    async def _add(self, partition: TopicPartition) -> None:
        """The second protocol leaves this to the partition's leader."""
        if self.second_protocol or partition in self._added:
            return
        await self._ask_coordinator(
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.transactional_id,
                v3_and_below_producer_id=self._producer_id,
                v3_and_below_producer_epoch=self._epoch,
                v3_and_below_topics=[AddPartitionsToTxnTopic(name=partition.topic, partitions=[partition.partition])],
            ),
            AddPartitionsToTxnResponse,
            lambda reply: [
                each.partition_error_code
                for topic in reply.results_by_topic_v3_and_below
                for each in topic.results_by_partition
            ],
        )
        self._added.add(partition)

    async def _leader(self, partition: TopicPartition) -> int:
        self.cluster.watch((partition.topic,))
        if self.cluster.metadata.leader_of(partition) is None:
            self.cluster.mark_stale()
        await self.cluster.refresh_if_stale()
        found = self.cluster.metadata.leader_of(partition)
        if found is None:
            raise NoBrokerAvailable(f"{partition} has no leader")
        return found.leader

    async def _ask_coordinator(self, request: Message, expected: type[R], codes_of: Callable[[R], Iterable[int]]) -> R:
        key = self.transactional_id
        return await self._ask(
            request,
            expected,
            codes_of,
            lambda: self.cluster.coordinator(CoordinatorKind.TRANSACTION, key),
            forget=lambda: self.cluster.forget_coordinator(CoordinatorKind.TRANSACTION, key),
        )

    async def _ask(
        self,
        request: Message,
        expected: type[R],
        codes_of: Callable[[R], Iterable[int]],
        find: Callable[[], Awaitable[int]],
        *,
        forget: Callable[[], None] | None = None,
    ) -> R:
        """The first answer without an error. Raises SessionOver."""
        what = type(request).__name__.removesuffix("Request")
        versions = _SECOND_PROTOCOL if self.second_protocol else _FIRST_PROTOCOL
        at_most = versions.get(type(request))
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STEP_SECONDS
        unclear = False
        while True:
            code: ErrorCode | None = None
            try:
                node = await find()
                asked_before, unclear = unclear, True
                reply = await self.cluster.ask_node(node, request, expected, purpose=_PURPOSE, at_most=at_most)
                code = next((known_code(each) for each in codes_of(reply) if each), ErrorCode.NONE)
                if code is ErrorCode.NONE:
                    return reply
                if not code.retriable and code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                    raise SessionOver(what, code, unclear=asked_before)
            except ApiError as error:
                # From the search for the coordinator, which may be on its way to another broker.
                code = error.code
            except (ConnectionProblem, NoBrokerAvailable):
                code = None
            self.cluster.mark_stale()
            if forget is not None and (code is None or code in _COORDINATOR_MOVED):
                forget()
            if loop.time() > deadline:
                raise SessionOver(what, code, unclear=unclear)
            await asyncio.sleep(RETRY_SECONDS)
