"""What is written about consumer groups, and what is read back. Bytes are made of it in `coordinators.groups.records`.

Partitions are written in order, so that the same assignment is always the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.coordinators.consumer_groups.group import ConsumerGroup, ResolvedRegex, Target
from tidelog.coordinators.consumer_groups.member import ClassicMembership, ClassicProtocol, CurrentAssignment, Profile
from tidelog.coordinators.consumer_groups.states import MemberState
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.coordinators.decision import CoordinatorRecord
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from tidelog.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from tidelog.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from tidelog.protocol.messages.consumer_group_member_metadata_value import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from tidelog.protocol.messages.consumer_group_member_metadata_value import ClassicProtocol as SupportedProtocol
from tidelog.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from tidelog.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from tidelog.protocol.messages.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from tidelog.protocol.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from tidelog.protocol.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from tidelog.protocol.messages.consumer_group_target_assignment_member_key import ConsumerGroupTargetAssignmentMemberKey
from tidelog.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from tidelog.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from tidelog.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)


def group_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), value)


def profile_record(group_id: str, member_id: str, profile: Profile) -> CoordinatorRecord:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=profile.instance_id,
        rack_id=profile.rack_id,
        client_id=profile.client_id,
        client_host=profile.client_host,
        subscribed_topic_names=sorted(profile.topic_names),
        # Kafka writes an empty text here, and null nowhere.
        subscribed_topic_regex=profile.topic_regex or "",
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
        server_assignor=profile.server_assignor,
        # Kafka takes a record without this field for that of a classic member, so "none" has to be written.
        classic_member_metadata=_classic_metadata(profile.classic),
    )
    return CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), value)


def target_record(group_id: str, member_id: str, target: Target) -> CoordinatorRecord:
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TopicPartition(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in by_topic(target).items()
        ]
    )
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def current_record(group_id: str, member_id: str, current: CurrentAssignment) -> CoordinatorRecord:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=current.state,
        assigned_partitions=_with_epochs(current.assigned),
        partitions_pending_revocation=_with_epochs(current.pending_revocation),
    )
    return CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), value)


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> CoordinatorRecord:
    value = ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topic_names), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), value)


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), None)


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """In the order in which Kafka insists on reading them."""
    return [
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def group_tombstones(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """The whole group, with its members if it has any."""
    records = [each for member_id in group.members for each in member_tombstones(group.group_id, member_id)]
    records += [regex_tombstone(group.group_id, regex) for regex in group.resolved]
    records.append(CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group.group_id), None))
    if group.has_partition_metadata_record:
        records.append(partition_metadata_tombstone(group.group_id))
    records.append(CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group.group_id), None))
    return records


def by_topic(partitions: Iterable[TopicIdPartition]) -> dict[Uuid, list[int]]:
    found: dict[Uuid, list[int]] = {}
    for topic_id, number in sorted(partitions):
        found.setdefault(topic_id, []).append(number)
    return found


# ----------------------------------------------------------------------------------------------------------------
# Reading.


def read_profile(value: ConsumerGroupMemberMetadataValue) -> Profile:
    return Profile(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topic_names=frozenset(value.subscribed_topic_names),
        topic_regex=value.subscribed_topic_regex or None,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=_read_classic(value.classic_member_metadata),
    )


def read_target(value: ConsumerGroupTargetAssignmentMemberValue) -> Target:
    return frozenset(
        TopicIdPartition(Uuid(topic.topic_id), number)
        for topic in value.topic_partitions
        for number in topic.partitions
    )


def read_current(value: ConsumerGroupCurrentMemberAssignmentValue) -> CurrentAssignment:
    try:
        state = MemberState(value.state)
    except ValueError:
        state = MemberState.UNKNOWN
    return CurrentAssignment(
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=state,
        assigned=_read_epochs(value.assigned_partitions, value.member_epoch),
        pending_revocation=_read_epochs(value.partitions_pending_revocation, value.member_epoch),
    )


def read_regex(value: ConsumerGroupRegularExpressionValue) -> ResolvedRegex:
    return ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)


def _classic_metadata(classic: ClassicMembership | None) -> ClassicMemberMetadata | None:
    if classic is None:
        return None
    return ClassicMemberMetadata(
        session_timeout_ms=classic.session_timeout_ms,
        supported_protocols=[SupportedProtocol(name=name, metadata=metadata) for name, metadata in classic.protocols],
    )


def _read_classic(metadata: ClassicMemberMetadata | None) -> ClassicMembership | None:
    # tidelog 0.1 left the field out for members of the consumer protocol. No classic member is without a protocol.
    if metadata is None or not metadata.supported_protocols:
        return None
    return ClassicMembership(
        session_timeout_ms=metadata.session_timeout_ms,
        protocols=tuple(ClassicProtocol(each.name, each.metadata) for each in metadata.supported_protocols),
    )


def _with_epochs(partitions: Mapping[TopicIdPartition, int]) -> list[TopicPartitions]:
    return [
        TopicPartitions(
            topic_id=topic_id,
            partitions=numbers,
            assignment_epochs=[partitions[TopicIdPartition(topic_id, number)] for number in numbers],
        )
        for topic_id, numbers in by_topic(partitions).items()
    ]


def _read_epochs(topics: Iterable[TopicPartitions], member_epoch: int) -> dict[TopicIdPartition, int]:
    found: dict[TopicIdPartition, int] = {}
    for topic in topics:
        # Kafka before 4.3 wrote none; the present epoch is then the latest that can have been meant.
        epochs = topic.assignment_epochs or [member_epoch] * len(topic.partitions)
        for number, epoch in zip(topic.partitions, epochs, strict=True):
            found[TopicIdPartition(Uuid(topic.topic_id), number)] = epoch
    return found
