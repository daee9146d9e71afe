"""Decides on AlterPartitionReassignments and ListPartitionReassignments: replicas move to other brokers (KIP-455).

A reassignment takes two steps. First the new replicas are added to the partition, which then has the old and the new
ones; they fetch until they are in sync. With the change of the in-sync set that brings the last of them in, the old
ones are taken away (`tidelog.controller.elections.plan_change`). Until then it can be cancelled or be replaced by
another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.controller.assignment import check_manual, default_directory
from tidelog.controller.decision import MAX_RECORDS_PER_REQUEST, Decision, Refusal, error_fields, too_many_records
from tidelog.controller.elections import Assignment, Election, UncleanAllowed, plan_change
from tidelog.metadata.image import ClusterImage, PartitionImage, TopicImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
)
from tidelog.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from tidelog.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tidelog.protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord


def alter_partition_reassignments(
    image: ClusterImage, request: AlterPartitionReassignmentsRequest, *, unclean: UncleanAllowed
) -> Decision[AlterPartitionReassignmentsResponse]:
    """Begin, replace or cancel (no replicas given) the reassignments of these partitions."""
    records: list[PartitionChangeRecord] = []
    seen: set[tuple[str, int]] = set()
    answers: list[ReassignableTopicResponse] = []
    for topic in request.topics:
        partitions = []
        for target in topic.partitions:
            key = (topic.name, target.partition_index)
            if key in seen:
                outcome: PartitionChangeRecord | Refusal | None = Refusal(
                    code=ErrorCode.INVALID_REQUEST, message="the partition is in the request more than once"
                )
            elif len(records) >= MAX_RECORDS_PER_REQUEST:
                outcome = too_many_records(MAX_RECORDS_PER_REQUEST + 1)
            else:
                outcome = _alter(
                    image,
                    topic.name,
                    target,
                    unclean,
                    factor_may_change=request.allow_replication_factor_change,
                )
            seen.add(key)
            if isinstance(outcome, PartitionChangeRecord):
                records.append(outcome)
            errors = error_fields(outcome if isinstance(outcome, Refusal) else None)
            partitions.append(ReassignablePartitionResponse(partition_index=target.partition_index, **errors))
        answers.append(ReassignableTopicResponse(name=topic.name, partitions=partitions))
    reply = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        # As Apache Kafka has it, where a request for nothing does not get as far as the null.
        error_message=None if request.topics else "",
        responses=answers,
    )
    return Decision(records=tuple(records), reply=reply)


def _alter(
    image: ClusterImage, name: str, target: ReassignablePartition, unclean: UncleanAllowed, *, factor_may_change: bool
) -> PartitionChangeRecord | Refusal | None:
    topic = image.topics.get(name)
    partition = None if topic is None else topic.partitions.get(target.partition_index)
    if topic is None or partition is None:
        return Refusal(
            code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            message=f"the partition {target.partition_index} of the topic {name!r} does not exist",
        )
    if target.replicas is None:
        return _cancel(image, topic, target.partition_index, partition, unclean)
    return _change(image, topic, target.partition_index, partition, tuple(target.replicas), factor_may_change)


def _change(
    image: ClusterImage,
    topic: TopicImage,
    number: int,
    partition: PartitionImage,
    target: tuple[int, ...],
    factor_may_change: bool,
) -> PartitionChangeRecord | Refusal | None:
    refusal = check_manual(image, target, None)
    if refusal is not None:
        return refusal
    factor = len(set(partition.replicas) - set(partition.removing_replicas))
    if not factor_may_change and len(target) != factor:
        return Refusal(
            code=ErrorCode.INVALID_REPLICATION_FACTOR,
            message=f"the replication factor would change from {factor} to {len(target)}, which the request forbids",
        )
    # Those of a reassignment that is being replaced may be both: not wanted any more, and not there originally.
    removing = tuple(broker for broker in partition.replicas if broker not in target)
    original = _original(partition)
    replicas = (*target, *removing)
    return plan_change(
        image,
        topic,
        number,
        election=Election.ONLINE,
        assignment=Assignment(
            replicas=replicas,
            adding=tuple(broker for broker in replicas if broker not in original),
            removing=removing,
        ),
        directory_of=lambda broker: _directory(image, partition, broker),
    )


def _cancel(
    image: ClusterImage, topic: TopicImage, number: int, partition: PartitionImage, unclean: UncleanAllowed
) -> PartitionChangeRecord | Refusal | None:
    if not partition.reassigning:
        return Refusal(
            code=ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, message=f"{topic.name}-{number} is not being reassigned"
        )
    replicas = _original(partition)
    isr = tuple(broker for broker in partition.isr if broker in replicas)
    if not isr:
        # Only replicas that came with the reassignment are in sync. Without them records are lost.
        if not unclean(topic.name) or not replicas:
            return Refusal(
                code=ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                message=f"none of the original replicas {list(replicas)} of {topic.name}-{number} is in sync; going "
                f"back to them would take an unclean election",
            )
        isr = replicas[:1]
    return plan_change(
        image,
        topic,
        number,
        isr=isr,
        election=Election.UNCLEAN if unclean(topic.name) else Election.ONLINE,
        assignment=Assignment(replicas=replicas),
    )


def _original(partition: PartitionImage) -> tuple[int, ...]:
    """The replicas before the reassignment."""
    return tuple(broker for broker in partition.replicas if broker not in partition.adding_replicas)


def _directory(image: ClusterImage, partition: PartitionImage, broker: int) -> Uuid:
    if broker in partition.replicas:
        return partition.directory_of(broker)
    return default_directory(image, broker)


def list_partition_reassignments(
    image: ClusterImage, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """The reassignments that are under way: of the given partitions, or all of them."""
    topics = []
    for name, numbers in _listed(image, request):
        topic = image.topics.get(name)
        if topic is None:
            continue
        ongoing = []
        for number in numbers:
            partition = topic.partitions.get(number)
            if partition is not None and partition.reassigning:
                ongoing.append(
                    OngoingPartitionReassignment(
                        partition_index=number,
                        replicas=partition.replicas,
                        adding_replicas=partition.adding_replicas,
                        removing_replicas=partition.removing_replicas,
                    )
                )
        if ongoing:
            topics.append(OngoingTopicReassignment(name=name, partitions=ongoing))
    return ListPartitionReassignmentsResponse(error_message=None, topics=topics)


def _listed(image: ClusterImage, request: ListPartitionReassignmentsRequest) -> Iterator[tuple[str, Sequence[int]]]:
    if request.topics is None:
        for topic in image.topics.values():
            yield topic.name, tuple(topic.partitions)
    else:
        for asked in request.topics:
            yield asked.name, asked.partition_indexes
