"""Partitions: their offsets, their producers, and deleting records from their beginning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.metadata import ClusterMetadata, known
from tidelog.client.cluster.routing import ask_leaders
from tidelog.client.errors import outcome
from tidelog.client.offsets.listing import OffsetAndTimestamp, list_offsets
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition, numbers_by_topic
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.delete_records_response import DeleteRecordsResponse
from tidelog.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from tidelog.protocol.messages.describe_producers_response import DescribeProducersResponse, RetainedBatch
from tidelog.protocol.messages.describe_producers_response import ProducerState as DescribedProducerState

# Stands for the high watermark: all that readers can see.
ALL_RECORDS = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerBatchDescription:
    """One batch of a producer, as a partition's leader remembers it. The sequences are None for what coordinators
    write, which has none; `base_sequence` is above `last_sequence` where they begin again at 0."""

    base_sequence: int | None
    last_sequence: int | None
    last_offset: int
    timestamp: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerState:
    """What a partition's leader remembers about one producer. `transaction_start` is None outside of transactions.

    `last_batches` are up to five, oldest first, by which the leader knows a duplicate. None if they were not asked for,
    or if the broker does not tell them, which only tidelog does. After a start of the broker there may be fewer.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None
    transaction_start: int | None
    last_batches: tuple[ProducerBatchDescription, ...] | None = None


class PartitionAdmin:
    _cluster: Cluster

    async def list_offsets(
        self,
        times: Mapping[TopicPartition, int],
        *,
        read_committed: bool = False,
        timeout_ms: float | None = None,
        metadata: ClusterMetadata | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp | ApiError]:
        """The offset at a time: a timestamp in ms, or EARLIEST, LATEST, ... from `tidelog.model.offset_times`.

        `metadata` of these topics, which the caller may have anyhow, says whom to ask first."""
        return await list_offsets(
            self._cluster, times, read_committed=read_committed, timeout_ms=timeout_ms, metadata=metadata
        )

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int | ApiError]:
        """Delete what lies before these offsets (ALL_RECORDS: everything); returns the new first offsets."""

        async def ask(node: int, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int | ApiError]:
            by_topic: dict[str, list[DeleteRecordsPartition]] = defaultdict(list)
            for partition in partitions:
                entry = DeleteRecordsPartition(partition_index=partition.partition, offset=before[partition])
                by_topic[partition.topic].append(entry)
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=name, partitions=entries) for name, entries in by_topic.items()],
                timeout_ms=self._cluster.config.request_timeout_ms,
            )
            reply = await self._cluster.ask_node(node, request, DeleteRecordsResponse)
            return {
                TopicPartition(topic.name, entry.partition_index): outcome(
                    entry.error_code, f"partition {topic.name}-{entry.partition_index}", entry.low_watermark
                )
                for topic in reply.topics
                for entry in topic.partitions
            }

        return await ask_leaders(self._cluster, "deleting records", before, ask, timeout_ms=timeout_ms)

    async def describe_producers(
        self,
        partitions: Collection[TopicPartition],
        *,
        include_batches: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, tuple[ProducerState, ...] | ApiError]:
        """The producers that the leaders of these partitions remember; with `include_batches` also their last batches,
        where the broker is tidelog."""

        async def ask(
            node: int, theirs: list[TopicPartition]
        ) -> Mapping[TopicPartition, tuple[ProducerState, ...] | ApiError]:
            topics = numbers_by_topic(theirs).items()
            request = DescribeProducersRequest(
                topics=[TopicRequest(name=name, partition_indexes=numbers) for name, numbers in topics],
                include_batches=include_batches,
            )
            reply = await self._cluster.ask_node(node, request, DescribeProducersResponse)
            return {
                TopicPartition(topic.name, entry.partition_index): outcome(
                    entry.error_code, entry.error_message, tuple(map(_producer, entry.active_producers))
                )
                for topic in reply.topics
                for entry in topic.partitions
            }

        return await ask_leaders(self._cluster, "describing producers", partitions, ask, timeout_ms=timeout_ms)


def _producer(state: DescribedProducerState) -> ProducerState:
    return ProducerState(
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        last_sequence=state.last_sequence,
        last_timestamp=state.last_timestamp,
        coordinator_epoch=known(state.coordinator_epoch),
        transaction_start=known(state.current_txn_start_offset),
        last_batches=None if state.last_batches is None else tuple(map(_batch, state.last_batches)),
    )


def _batch(batch: RetainedBatch) -> ProducerBatchDescription:
    return ProducerBatchDescription(
        base_sequence=known(batch.base_sequence),
        last_sequence=known(batch.last_sequence),
        last_offset=batch.last_offset,
        timestamp=known(batch.timestamp),
    )
