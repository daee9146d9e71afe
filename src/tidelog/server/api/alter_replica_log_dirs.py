"""AlterReplicaLogDirs: move replicas of this broker to other log directories (KIP-113). See `replicas/moves.py`.

The directory of a replica that is not here yet is remembered and used when it is created, as kafka-reassign-partitions
expects.
"""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from tidelog.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from tidelog.server.api.ports import Metadata
from tidelog.server.declaration import ALTER_CLUSTER, Api, RefusalShape
from tidelog.server.replicas.moves import ReplicaMoves
from tidelog.server.replicas.registry import Replicas
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.ALTER_REPLICA_LOG_DIRS,
    versions=(1, 2),
    permissions=(ALTER_CLUSTER,),
    refusal=RefusalShape(asked_as={"results": "dirs.topics", "topic_name": "name"}),
)


class AlterReplicaLogDirsHandler:
    def __init__(self, *, replicas: Replicas, metadata: Metadata, moves: ReplicaMoves) -> None:
        self._replicas = replicas
        self._metadata = metadata
        self._moves = moves

    def handle(self, request: AlterReplicaLogDirsRequest, context: RequestContext) -> AlterReplicaLogDirsResponse:
        results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
        for wanted in request.dirs:
            for topic in wanted.topics:
                for number in topic.partitions:
                    code = self._move(TopicPartition(topic.name, number), wanted.path)
                    result = AlterReplicaLogDirPartitionResult(partition_index=number, error_code=code)
                    results.setdefault(topic.name, []).append(result)
        return AlterReplicaLogDirsResponse(
            results=[
                AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions)
                for name, partitions in results.items()
            ]
        )

    def _move(self, topic_partition: TopicPartition, path: str) -> ErrorCode:
        if topic_partition.topic == CLUSTER_METADATA_TOPIC:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        target = next((each for each in self._replicas.directories if each.path == path), None)
        if target is None:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if target.failure is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        replica = self._replicas.get(*topic_partition)
        if replica is None:
            self._moves.prefer(topic_partition, target)
            known = self._metadata.image.partition(*topic_partition) is not None
            return ErrorCode.REPLICA_NOT_AVAILABLE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if replica.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        self._moves.begin(replica, target)
        return ErrorCode.NONE
