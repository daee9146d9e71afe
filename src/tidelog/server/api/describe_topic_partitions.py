"""DescribeTopicPartitions: topics in pages, with the eligible leaders of each partition (KIP-966).

No topics means all. Topics come in the order of their names, and a cursor says where the next page begins.
"""

from __future__ import annotations

from tidelog.metadata.image import ClusterImage, PartitionImage
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.topics import INTERNAL_TOPICS, topic_name_problem
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from tidelog.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import NOT_ASKED, Access
from tidelog.server.api.ports import Configuration, Metadata
from tidelog.server.declaration import DESCRIBE_TOPIC, Api
from tidelog.server.replies.error_replies import refused
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), permissions=(DESCRIBE_TOPIC,))


def handle(
    access: Access,
    metadata: Metadata,
    configuration: Configuration,
    request: DescribeTopicPartitionsRequest,
    context: RequestContext,
) -> Message:
    image = metadata.image
    topics = image.topics
    asked = sorted({topic.name for topic in request.topics}) if request.topics else sorted(topics)
    first_name, first_partition = "", 0
    if request.cursor is not None:
        first_name, first_partition = request.cursor.topic_name, request.cursor.partition_index
        if first_partition < 0 or (request.topics and first_name not in asked):
            # No page of these topics can have ended with such a cursor.
            return refused(API, request, context.version, ApiError(ErrorCode.INVALID_REQUEST))
    asked = [name for name in asked if name >= first_name]
    forbidden = access.forbidden(context, Operation.DESCRIBE, AclResourceType.TOPIC, asked)
    # Behind all others, and not counted. Of all topics they are left out.
    refusals = [_refused(name) for name in asked if name in forbidden] if request.topics else []

    def operations(name: str) -> int:
        return access.operations(context, AclResourceType.TOPIC, name)

    left = max(1, min(request.response_partition_limit, configuration.config.max_request_partition_size_limit))
    page: list[DescribeTopicPartitionsResponseTopic] = []
    for name in asked:
        if name in forbidden:
            continue
        start = first_partition if name == first_name else 0
        if left == 0:
            return _respond([*page, *refusals], Cursor(topic_name=name, partition_index=start))
        if name not in topics:
            if request.topics:
                page.append(_unknown(name, operations(name)))
            continue
        numbers = [number for number in sorted(topics[name].partitions) if number >= start]
        page.append(_describe(image, name, numbers[:left], operations(name)))
        if len(numbers) > left:
            return _respond([*page, *refusals], Cursor(topic_name=name, partition_index=numbers[left]))
        left -= len(numbers)
    return _respond([*page, *refusals], None)


def _describe(
    image: ClusterImage, name: str, numbers: list[int], operations: int
) -> DescribeTopicPartitionsResponseTopic:
    topic = image.topics[name]
    return DescribeTopicPartitionsResponseTopic(
        name=name,
        topic_id=topic.id,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[_describe_partition(image, number, topic.partitions[number]) for number in numbers],
        topic_authorized_operations=operations,
    )


def _describe_partition(
    image: ClusterImage, number: int, partition: PartitionImage
) -> DescribeTopicPartitionsResponsePartition:
    led = partition.leader >= 0 and image.is_active(partition.leader)
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE if led else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=number,
        leader_id=partition.leader if led else -1,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=partition.eligible_leaders,
        last_known_elr=partition.last_known_eligible_leaders,
        offline_replicas=[replica for replica in partition.replicas if not image.is_active(replica)],
    )


def _respond(
    page: list[DescribeTopicPartitionsResponseTopic], next_cursor: Cursor | None
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=page, next_cursor=next_cursor)


def _refused(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name, topic_authorized_operations=NOT_ASKED
    )


def _unknown(name: str, operations: int) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic_name_problem(name) is not None:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(error_code=code, name=name, topic_authorized_operations=operations)
