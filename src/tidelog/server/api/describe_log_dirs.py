"""DescribeLogDirs: which partitions lie in which directory, and how large they and their disks are (KIP-827)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tidelog.server.replicas.replica import Replica
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node
    from tidelog.storage.directories.log_directory import LogDirectory
    from tidelog.storage.log.log import Log

_UNKNOWN = -1


def handle(node: Node, request: DescribeLogDirsRequest, context: RequestContext) -> DescribeLogDirsResponse:
    wanted: set[tuple[str, int]] | None = None
    if request.topics is not None:
        wanted = {(topic.topic, partition) for topic in request.topics for partition in topic.partitions}
    return DescribeLogDirsResponse(
        results=[_describe(node, directory, wanted) for directory in node.replicas.directories]
    )


def _describe(node: Node, directory: LogDirectory, wanted: set[tuple[str, int]] | None) -> DescribeLogDirsResult:
    if directory.failure is not None:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path)
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for replica in node.replicas.in_directory(directory):
        topic, partition = replica.topic_partition
        if wanted is None or (topic, partition) in wanted:
            topics.setdefault(topic, []).append(_describe_partition(partition, replica))
    for move in node.moves.under_way():
        topic, partition = move.replica.topic_partition
        if move.target is directory and move.future is not None and (wanted is None or (topic, partition) in wanted):
            topics.setdefault(topic, []).append(_describe_future(partition, move.replica, move.future))
    total_bytes, usable_bytes = node.ports.filesystem.capacity(directory.path) or (_UNKNOWN, _UNKNOWN)
    return DescribeLogDirsResult(
        log_dir=directory.path,
        topics=[DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
    )


def _describe_partition(partition: int, replica: Replica) -> DescribeLogDirsPartition:
    log = replica.log
    return DescribeLogDirsPartition(
        partition_index=partition,
        partition_size=log.size,
        offset_lag=max(0, log.high_watermark - log.log_end_offset),
    )


def _describe_future(partition: int, replica: Replica, future: Log) -> DescribeLogDirsPartition:
    """A copy that is being made, and how far it is behind the replica."""
    return DescribeLogDirsPartition(
        partition_index=partition,
        partition_size=future.size,
        offset_lag=max(0, replica.log.log_end_offset - future.log_end_offset),
        is_future_key=True,
    )
