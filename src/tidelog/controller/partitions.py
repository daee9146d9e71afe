"""Decides on CreatePartitions: more partitions for a topic that exists."""

from __future__ import annotations

from collections import Counter

from tidelog.controller.assignment import check_manual, new_partition_records
from tidelog.controller.decision import (
    MAX_RECORDS_PER_REQUEST,
    QUOTA_EXCEEDED,
    Decision,
    MayChange,
    Refusal,
    any_number,
    repeated_topic,
    too_many_records,
)
from tidelog.controller.placement import candidates, place
from tidelog.metadata.image import ClusterImage, TopicImage
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.schema import Message


def create_partitions(
    image: ClusterImage,
    request: CreatePartitionsRequest,
    *,
    placement_start: int,
    may_change: MayChange = any_number,
) -> Decision[CreatePartitionsResponse]:
    """Grow the topics that can grow. `placement_start` is a random number that is not negative."""
    names = Counter(topic.name for topic in request.topics)
    records: list[Message] = []
    results: list[CreatePartitionsTopicResult] = []
    repeated: set[str] = set()
    for topic in request.topics:
        if topic.name in repeated:
            continue
        if names[topic.name] > 1:
            repeated.add(topic.name)
            planned: list[PartitionRecord] | Refusal = repeated_topic(topic.name)
        else:
            planned = _grow(image, topic, placement_start, may_change, room=MAX_RECORDS_PER_REQUEST - len(records))
        if isinstance(planned, Refusal):
            results.append(
                CreatePartitionsTopicResult(name=topic.name, error_code=planned.code, error_message=planned.message)
            )
        else:
            records.extend(planned)
            results.append(CreatePartitionsTopicResult(name=topic.name))
    kept = () if request.validate_only else tuple(records)
    return Decision(records=kept, reply=CreatePartitionsResponse(results=tuple(results)))


def _grow(
    image: ClusterImage, request: CreatePartitionsTopic, placement_start: int, may_change: MayChange, *, room: int
) -> list[PartitionRecord] | Refusal:
    topic = image.topics.get(request.name)
    if topic is None:
        return Refusal(code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message=f"the topic {request.name!r} does not exist")
    current = len(topic.partitions)
    if request.count <= current:
        return Refusal(
            code=ErrorCode.INVALID_PARTITIONS,
            message=f"the topic {request.name!r} has {current} partitions; {request.count} is not more, and "
            f"partitions cannot be removed",
        )
    additional = request.count - current
    if additional > room:
        return too_many_records(MAX_RECORDS_PER_REQUEST - room + additional)
    replicas = _replicas(image, topic, request, additional, placement_start=placement_start)
    if isinstance(replicas, Refusal):
        return replicas
    if not may_change(additional):
        return QUOTA_EXCEEDED
    return new_partition_records(image, topic, replicas, first=current)


def _replicas(
    image: ClusterImage, topic: TopicImage, request: CreatePartitionsTopic, additional: int, *, placement_start: int
) -> list[tuple[int, ...]] | Refusal:
    replication_factor = len(topic.partitions[0].replicas)
    if request.assignments is None:
        return place(
            candidates(image),
            partitions=additional,
            replication_factor=replication_factor,
            start=placement_start,
            first_partition=len(topic.partitions),
        )
    if len(request.assignments) != additional:
        return Refusal(
            code=ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            message=f"{additional} partitions would be added, but {len(request.assignments)} are assigned",
        )
    for assignment in request.assignments:
        refusal = check_manual(image, assignment.broker_ids, replication_factor)
        if refusal is not None:
            return refusal
    return [tuple(assignment.broker_ids) for assignment in request.assignments]
