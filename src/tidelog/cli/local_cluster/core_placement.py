"""Where the partitions of a running cluster are, and which brokers it knows."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidelog.client.admin import Admin, TopicDescription
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPartitions:
    """Where partitions have replicas, and which brokers are registered, running or not."""

    partitions: Mapping[int, Collection[TopicPartition]]
    registered: Collection[int]


async def current_placement(admin: Admin) -> PlacedPartitions:
    names = [topic.name for topic in await admin.list_topics()]
    described = await admin.describe_topics(names) if names else {}
    partitions: dict[int, list[TopicPartition]] = {}
    for name, topic in described.items():
        # A topic that was deleted in between has none.
        for one in topic.partitions if isinstance(topic, TopicDescription) else ():
            for replica in one.replicas:
                partitions.setdefault(replica, []).append(TopicPartition(name, one.partition))
    cluster = await admin.describe_cluster(include_fenced=True)
    return PlacedPartitions(partitions=partitions, registered=[node.node_id for node in cluster.nodes])
