"""The segments of each replica's log, of brokers that tell: tidelog does, Apache Kafka does not.

They come with DescribeLogDirs, in a tagged field that other brokers ignore and do not send (decision 46). Needs
Describe on the cluster and on the topics.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tidelog.client.admin.each_replica import PATIENCE_MS, ask_each_replica, problem_of
from tidelog.client.admin.topics import TopicAdmin
from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.metadata import known
from tidelog.client.errors import api_error
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition, numbers_by_topic
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.segment_states import SegmentState
from tidelog.network.client_connection import UnsupportedByBroker
from tidelog.protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from tidelog.protocol.messages.describe_log_dirs_response import DescribeLogDirsPartition, DescribeLogDirsResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSegmentDescription:
    """One segment. `next_offset` is where the following segment begins, or the log end. Compaction may have removed
    the records before it. `largest_timestamp` is None if no record has a timestamp."""

    base_offset: int
    next_offset: int
    size_in_bytes: int
    largest_timestamp: int | None
    state: SegmentState


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSegments:
    """The segments of one replica, oldest first, the active one last. A broker tells the newest 1000; there are
    `omitted_count` older ones."""

    segments: tuple[LogSegmentDescription, ...]
    omitted_count: int = 0


# None: the broker does not tell.
_Answer = ReplicaSegments | ApiError | None


class LogSegmentsAdmin(TopicAdmin):
    _cluster: Cluster

    async def describe_log_segments(
        self, partitions: Collection[TopicPartition], *, timeout_ms: float = PATIENCE_MS
    ) -> dict[TopicPartition, dict[int, ReplicaSegments | ApiError | None] | ApiError]:
        """By partition and broker; None if the broker does not tell, which only tidelog does. A replica whose broker
        does not answer has an error, and the others have their segments."""

        async def ask(node: int, theirs: Sequence[TopicPartition]) -> Mapping[TopicPartition, _Answer]:
            answers: dict[TopicPartition, _Answer] = {}

            async def asking() -> None:
                answers.update(await self._segments_on(node, theirs, timeout_ms))

            problem = await problem_of(node, asking, timeout_ms)
            return answers if problem is None else dict.fromkeys(theirs, problem)

        described = await self.describe_topics(sorted({partition.topic for partition in partitions}))
        return await ask_each_replica(partitions, described, ask)

    async def _segments_on(
        self, node: int, partitions: Sequence[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, _Answer]:
        topics = numbers_by_topic(partitions).items()
        request = DescribeLogDirsRequest(
            topics=[DescribableLogDirTopic(topic=name, partitions=numbers) for name, numbers in topics],
            include_segments=True,
        )
        try:
            reply = await self._cluster.ask_node(node, request, DescribeLogDirsResponse, timeout_ms=timeout_ms)
        except UnsupportedByBroker:
            return dict.fromkeys(partitions)
        if reply.error_code:
            return dict.fromkeys(partitions, api_error(reply.error_code, f"broker {node}"))
        found: dict[TopicPartition, _Answer] = {
            TopicPartition(topic.name, entry.partition_index): _replica_segments(entry)
            for result in reply.results
            for topic in result.topics
            for entry in topic.partitions
            if not entry.is_future_key
        }
        return {each: found[each] if each in found else _not_there(reply, each, node) for each in partitions}


def _replica_segments(entry: DescribeLogDirsPartition) -> ReplicaSegments | None:
    if entry.segments is None:
        return None
    return ReplicaSegments(
        segments=tuple(
            LogSegmentDescription(
                base_offset=segment.base_offset,
                next_offset=segment.next_offset,
                size_in_bytes=segment.size_in_bytes,
                largest_timestamp=known(segment.largest_timestamp),
                state=SegmentState(segment.state),
            )
            for segment in entry.segments
        ),
        omitted_count=entry.omitted_segments,
    )


def _not_there(reply: DescribeLogDirsResponse, partition: TopicPartition, node: int) -> ApiError:
    """A directory that has failed does not tell what lies in it."""
    for result in reply.results:
        if result.error_code:
            return api_error(result.error_code, f"directory {result.log_dir} of broker {node}")
    return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"broker {node} has no replica of {partition} yet")
