"""Puts the coordinators of a node together: their logs, their settings, and their share in leadership."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.config.broker import BrokerConfig
from tidelog.coordinators.groups.settings import GroupSettings
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC
from tidelog.records.compression import Compression
from tidelog.server.coordinators.group_shard import ShardLimits
from tidelog.server.coordinators.groups import GroupCoordinator
from tidelog.server.coordinators.replica_log import ReplicaLog
from tidelog.server.replicas.registry import LeadershipListener
from tidelog.server.replicas.replica import Replica

if TYPE_CHECKING:
    from tidelog.server.node import Node


def group_coordinator(node: Node) -> GroupCoordinator:
    """Coordinates the groups of all partitions of `__consumer_offsets` that this broker leads, from now on."""
    config = node.config

    def partition_count() -> int:
        topic = node.image.topics.get(CONSUMER_OFFSETS_TOPIC)
        return node.config.offsets_topic_num_partitions if topic is None else len(topic.partitions)

    groups = GroupCoordinator(
        ReplicaLog(
            CONSUMER_OFFSETS_TOPIC,
            replicas=node.replicas,
            flusher=node.flusher,
            clock=node.clock,
            compression=Compression(config.offsets_topic_compression_codec),
        ),
        settings=lambda: group_settings(node.config),
        limits=ShardLimits(
            commit_timeout_ms=config.offsets_commit_timeout_ms, load_buffer_bytes=config.offsets_load_buffer_size
        ),
        partition_count=partition_count,
        clock=node.clock,
        randomness=node.randomness,
    )
    node.replicas.became_leader.append(_of_topic(CONSUMER_OFFSETS_TOPIC, groups.lead))
    node.replicas.stopped_leading.append(_of_topic(CONSUMER_OFFSETS_TOPIC, groups.stop_leading))
    return groups


def group_settings(config: BrokerConfig) -> GroupSettings:
    return GroupSettings(
        group_initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        group_min_session_timeout_ms=config.group_min_session_timeout_ms,
        group_max_session_timeout_ms=config.group_max_session_timeout_ms,
        group_max_size=config.group_max_size,
        offset_metadata_max_bytes=config.offset_metadata_max_bytes,
        offsets_retention_minutes=config.offsets_retention_minutes,
        offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
    )


def _of_topic(topic: str, tell: Callable[[int], None]) -> LeadershipListener:
    def listener(replica: Replica) -> None:
        if replica.topic_partition.topic == topic:
            tell(replica.topic_partition.partition)

    return listener
