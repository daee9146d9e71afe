"""DescribeLogDirs: which partitions lie in which directory, and how large they and their disks are (KIP-827).

Who asks for it, in a tagged field that only tidelog knows, learns the segments of each replica too (decision 46).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
    LogSegment,
)
from tidelog.server.declaration import DESCRIBE_CLUSTER, Api, RefusalShape
from tidelog.server.replicas.moves import ReplicaMoves
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.routing.context import RequestContext
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.filesystem import FileSystem, StorageFailure
from tidelog.storage.log.describing import describe_segments
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
# Of one replica, the newest ones. The reply says how many more there are.
MOST_SEGMENTS = 1000


class DescribeLogDirsHandler:
    def __init__(self, *, replicas: Replicas, moves: ReplicaMoves, filesystem: FileSystem) -> None:
        self._replicas = replicas
        self._moves = moves
        self._filesystem = filesystem

    def handle(
        self, request: DescribeLogDirsRequest, context: RequestContext
    ) -> DescribeLogDirsResponse | Later[DescribeLogDirsResponse]:
        wanted: set[TopicPartition] | None = None
        if request.topics is not None:
            wanted = {
                TopicPartition(topic.topic, partition) for topic in request.topics for partition in topic.partitions
            }
        if request.include_segments:
            return Later.run(self._answer_with_segments(wanted))
        return self._answer(wanted, with_segments=False)

    async def _answer_with_segments(self, wanted: set[TopicPartition] | None) -> DescribeLogDirsResponse:
        """Segments that have not been used since the start read a timestamp from their index, in tens of microseconds.

        That is done first, one replica after the other, so that other requests have their turn. The answer then needs
        no files.
        """
        for directory in self._replicas.directories:
            for replica in self._replicas.in_directory(directory):
                if wanted is None or replica.topic_partition in wanted:
                    # The answer reports a failure.
                    with suppress(StorageFailure):
                        _segments(replica.log)
                    await asyncio.sleep(0)
        return self._answer(wanted, with_segments=True)

    def _answer(self, wanted: set[TopicPartition] | None, *, with_segments: bool) -> DescribeLogDirsResponse:
        described = []
        for directory in self._replicas.directories:
            try:
                described.append(self._describe(directory, wanted, with_segments=with_segments))
            except StorageFailure as failure:
                logger.warning("the segments in %s cannot be described: %s", directory.path, failure)
                described.append(
                    DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path)
                )
        return DescribeLogDirsResponse(results=described)

    def _describe(
        self, directory: LogDirectory, wanted: set[TopicPartition] | None, *, with_segments: bool
    ) -> DescribeLogDirsResult:
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
            if wanted is None or replica.topic_partition in wanted:
                # Not of a copy, which nobody reads before it has taken the replica's place.
                segments = _segments(log) if with_segments and not is_future else None
                described = DescribeLogDirsPartition(
                    partition_index=partition,
                    partition_size=log.size,
                    offset_lag=max(0, lag),
                    is_future_key=is_future,
                    segments=segments,
                    omitted_segments=0 if segments is None else len(log.segments) - len(segments),
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


def _segments(log: Log) -> list[LogSegment] | None:
    if log.closed:
        # Its files may be gone, because its topic was deleted meanwhile.
        return None
    return [
        LogSegment(
            base_offset=segment.base_offset,
            next_offset=segment.next_offset,
            size_in_bytes=segment.size,
            largest_timestamp=segment.largest_timestamp,
            state=segment.state,
        )
        for segment in describe_segments(log, most=MOST_SEGMENTS)
    ]
