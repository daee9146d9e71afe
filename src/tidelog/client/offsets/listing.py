"""Offsets that partitions have by themselves: the first, the last, and the first one from a time on (ListOffsets).

Offsets that groups have committed live in `tidelog.client.offsets.committed`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.cluster.routing import ask_leaders
from tidelog.client.errors import outcome
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.protocol.messages.list_offsets_response import ListOffsetsResponse

_CONSUMER_REPLICA_ID = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetAndTimestamp:
    """`offset` is -1 where the partition has no record that was asked for."""

    offset: int
    timestamp: int
    leader_epoch: int


async def list_offsets(
    cluster: Cluster,
    times: Mapping[TopicPartition, int],
    *,
    read_committed: bool = False,
    timeout_ms: float | None = None,
    metadata: ClusterMetadata | None = None,
) -> dict[TopicPartition, OffsetAndTimestamp | ApiError]:
    """For each partition the offset at its time: a timestamp in ms, or one of `tidelog.model.offset_times`."""

    async def ask(
        node: int, partitions: list[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndTimestamp | ApiError]:
        by_topic: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for partition in partitions:
            entry = ListOffsetsPartition(partition_index=partition.partition, timestamp=times[partition])
            by_topic[partition.topic].append(entry)
        request = ListOffsetsRequest(
            replica_id=_CONSUMER_REPLICA_ID,
            isolation_level=int(read_committed),
            topics=[ListOffsetsTopic(name=name, partitions=entries) for name, entries in by_topic.items()],
            timeout_ms=cluster.config.request_timeout_ms,
        )
        reply = await cluster.ask_node(node, request, ListOffsetsResponse)
        return {
            TopicPartition(topic.name, entry.partition_index): outcome(
                entry.error_code,
                f"partition {topic.name}-{entry.partition_index}",
                OffsetAndTimestamp(offset=entry.offset, timestamp=entry.timestamp, leader_epoch=entry.leader_epoch),
            )
            for topic in reply.topics
            for entry in topic.partitions
        }

    return await ask_leaders(cluster, "listing offsets", times, ask, timeout_ms=timeout_ms, metadata=metadata)
