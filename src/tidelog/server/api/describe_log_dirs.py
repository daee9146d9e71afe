"""DescribeLogDirs: which partitions lie in which directory, and how large they and their disks are (KIP-827)."""

from __future__ import annotations

import logging

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tidelog.server.declaration import DESCRIBE_CLUSTER, Api, RefusalShape
from tidelog.server.replicas.moves import ReplicaMoves
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.routing.context import RequestContext
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.log.log import Log

API = Api(
    key=ApiKey.DESCRIBE_LOG_DIRS,
    versions=(1, 5),
    permissions=(DESCRIBE_CLUSTER,),
    refusal=RefusalShape(hides_what_is_forbidden=True),
    differences=("The topics of the coordinators have other sizes, since their records differ.",),
)

logger = logging.getLogger(__name__)

_UNKNOWN = -1


class DescribeLogDirsHandler:
    def __init__(self, *, replicas: Replicas, moves: ReplicaMoves, filesystem: FileSystem) -> None:
        self._replicas = replicas
        self._moves = moves
        self._filesystem = filesystem

    def handle(self, request: DescribeLogDirsRequest, context: RequestContext) -> DescribeLogDirsResponse:
        wanted: set[tuple[str, int]] | None = None
        if request.topics is not None:
            wanted = {(topic.topic, partition) for topic in request.topics for partition in topic.partitions}
        return DescribeLogDirsResponse(
            results=[self._describe(directory, wanted) for directory in self._replicas.directories]
        )

    def _describe(self, directory: LogDirectory, wanted: set[tuple[str, int]] | None) -> DescribeLogDirsResult:
        try:
            capacity = self._filesystem.capacity(directory.path) if directory.failure is None else None
        except OSError as error:
            # As with Apache Kafka it costs the answer for this directory. It is not taken offline for that: there are
            # file systems that hold files well and do not tell how large they are.
            logger.warning("the size of the disk under %s cannot be read: %s", directory.path, error)
            return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path)
        if directory.failure is not None:
            return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path)
        topics: dict[str, list[DescribeLogDirsPartition]] = {}

        def describe(replica: Replica, log: Log, lag: int, *, is_future: bool) -> None:
            topic, partition = replica.topic_partition
            if wanted is None or (topic, partition) in wanted:
                described = DescribeLogDirsPartition(
                    partition_index=partition,
                    partition_size=log.size,
                    offset_lag=max(0, lag),
                    is_future_key=is_future,
                )
                topics.setdefault(topic, []).append(described)

        for replica in self._replicas.in_directory(directory):
            log = replica.log
            describe(replica, log, log.high_watermark - log.log_end_offset, is_future=False)
        for move in self._moves.under_way():
            # A copy that is being written, and how far it is behind the replica.
            if move.target is directory and (copy := move.future) is not None:
                behind = move.replica.log.log_end_offset - copy.log_end_offset
                describe(move.replica, copy, behind, is_future=True)
        total_bytes, usable_bytes = capacity or (_UNKNOWN, _UNKNOWN)
        return DescribeLogDirsResult(
            log_dir=directory.path,
            topics=[DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
            total_bytes=total_bytes,
            usable_bytes=usable_bytes,
        )
