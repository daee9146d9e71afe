"""A transactional producer made of single requests, in the protocol version that a test wants."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from support.raw_client import RawClient

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.fetch_response import PartitionData
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.records.batch import iterate_headers
from tidelog.records.control import EndTransactionMarker, decode_control_record
from tidelog.records.record import decode_batch, encode_batch

READ_UNCOMMITTED = 0
READ_COMMITTED = 1
_LATEST = -1


def now_ms() -> int:
    """Markers carry the time of their writing: older records would lie in a segment of their own."""
    return int(time.time() * 1000)


@dataclass(slots=True)
class RawProducer:
    """`protocol` is 1 or 2 (KIP-890). Every method returns the error code of what it asked for."""

    client: RawClient
    transactional_id: str
    protocol: int = 1
    producer_id: int = -1
    producer_epoch: int = -1
    _sequence: int = 0

    async def init(self, *, timeout_ms: int = 60_000, **options: Any) -> ErrorCode:
        await self.client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[self.transactional_id]), 4)
        while True:
            response = await self.client.ask(
                InitProducerIdRequest(
                    transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms, **options
                ),
                6 if options else 5,
            )
            code = ErrorCode(response.error_code)
            if code not in (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
                break
        if code is ErrorCode.NONE:
            self._become(response.producer_id, response.producer_epoch)
        return code

    def copy(self) -> RawProducer:
        """The same producer a moment ago: what it would still send if its packets were delayed."""
        return RawProducer(
            self.client, self.transactional_id, self.protocol, self.producer_id, self.producer_epoch, self._sequence
        )

    async def add(self, topic: str, partition: int = 0) -> ErrorCode:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[partition])],
        )
        response = await self.client.ask(request, 3)
        return ErrorCode(response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    async def produce(
        self, topic: str, *values: str, partition: int = 0, version: int | None = None, sequence: int | None = None
    ) -> ErrorCode:
        request = self.produce_request(topic, *values, partition=partition, sequence=sequence)
        response = await self.client.ask(request, version or (12 if self.protocol == 2 else 10))
        code = ErrorCode(response.responses[0].partition_responses[0].error_code)
        if code is ErrorCode.NONE and sequence is None:
            self._sequence += len(values)
        return code

    def produce_request(
        self, topic: str, *values: str, partition: int = 0, sequence: int | None = None
    ) -> ProduceRequest:
        records = encode_batch(
            [(now_ms(), None, value.encode(), ()) for value in values],
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self._sequence if sequence is None else sequence,
            transactional=True,
        )
        data = PartitionProduceData(index=partition, records=records)
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=topic, partition_data=[data])],
        )

    async def send(self, topic: str, *values: str, partition: int = 0) -> ErrorCode:
        """As a client does it: the first version adds the partition first."""
        if self.protocol == 1:
            code = await self.add(topic, partition)
            if code is not ErrorCode.NONE:
                return code
        return await self.produce(topic, *values, partition=partition)

    async def end(self, *, commit: bool) -> ErrorCode:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            committed=commit,
        )
        response = await self.client.ask(request, 5 if self.protocol == 2 else 4)
        if response.error_code == 0 and self.protocol == 2:
            self._become(response.producer_id, response.producer_epoch)
        return ErrorCode(response.error_code)

    async def add_offsets(self, group: str) -> ErrorCode:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            group_id=group,
        )
        return ErrorCode((await self.client.ask(request, 3)).error_code)

    async def commit_offset(
        self, group: str, topic: str, offset: int, *, partition: int = 0, version: int | None = None, **member: Any
    ) -> ErrorCode:
        part = TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[part])],
            **member,
        )
        response = await self.client.ask(request, version or (5 if self.protocol == 2 else 3))
        return ErrorCode(response.topics[0].partitions[0].error_code)

    def _become(self, producer_id: int, producer_epoch: int) -> None:
        if (producer_id, producer_epoch) != (self.producer_id, self.producer_epoch):
            self._sequence = 0
        self.producer_id, self.producer_epoch = producer_id, producer_epoch


async def fetch(client: RawClient, topic: str, *, isolation: int, partition: int = 0) -> PartitionData:
    wanted = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=10 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        isolation_level=isolation,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )
    found: PartitionData = (await client.ask(request, 12)).responses[0].partitions[0]
    return found


async def read(client: RawClient, topic: str, *, isolation: int = READ_COMMITTED, partition: int = 0) -> list[str]:
    """The values that a consumer would see; with read_committed it drops those of aborted transactions itself."""
    data = await fetch(client, topic, isolation=isolation, partition=partition)
    return visible(data, drop_aborted=isolation == READ_COMMITTED)


def visible(data: PartitionData, *, drop_aborted: bool) -> list[str]:
    records = bytes(data.records or b"")
    pending = sorted(data.aborted_transactions or (), key=lambda each: each.first_offset)
    aborted: set[int] = set()
    values: list[str] = []
    for position, header in iterate_headers(records):
        batch = decode_batch(records[position : position + header.size])
        while pending and pending[0].first_offset <= header.last_offset:
            aborted.add(pending.pop(0).producer_id)
        if header.is_control:
            marker = decode_control_record(batch[0].key, batch[0].value)
            if isinstance(marker, EndTransactionMarker) and not marker.commit:
                aborted.discard(header.producer_id)
        elif not (drop_aborted and header.is_transactional and header.producer_id in aborted):
            values += [(record.value or b"").decode() for record in batch]
    return values


async def end_offset(client: RawClient, topic: str, *, isolation: int, partition: int = 0) -> int:
    """With read_committed that is the last stable offset."""
    part = ListOffsetsPartition(partition_index=partition, timestamp=_LATEST)
    request = ListOffsetsRequest(
        replica_id=-1, isolation_level=isolation, topics=[ListOffsetsTopic(name=topic, partitions=[part])]
    )
    found: int = (await client.ask(request, 7)).topics[0].partitions[0].offset
    return found
