"""AlterReplicaLogDirs: move replicas of this broker to other log directories (KIP-113). See `replicas/moves.py`.

The directory of a replica that is not here yet is remembered: it is made there, as kafka-reassign-partitions expects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from tidelog.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: AlterReplicaLogDirsRequest, context: RequestContext) -> AlterReplicaLogDirsResponse:
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for wanted in request.dirs:
        for topic in wanted.topics:
            for number in topic.partitions:
                code = _move(node, TopicPartition(topic.name, number), wanted.path)
                result = AlterReplicaLogDirPartitionResult(partition_index=number, error_code=code)
                results.setdefault(topic.name, []).append(result)
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions)
            for name, partitions in results.items()
        ]
    )


def _move(node: Node, topic_partition: TopicPartition, path: str) -> ErrorCode:
    if topic_partition.topic == CLUSTER_METADATA_TOPIC:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    target = next((each for each in node.replicas.directories if each.path == path), None)
    if target is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if target.failure is not None:
        return ErrorCode.KAFKA_STORAGE_ERROR
    replica = node.replicas.get(*topic_partition)
    if replica is None:
        node.replicas.preferred_directories[topic_partition] = target
        known = node.image.partition(*topic_partition) is not None
        return ErrorCode.REPLICA_NOT_AVAILABLE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if replica.offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    node.moves.begin(replica, target)
    return ErrorCode.NONE
