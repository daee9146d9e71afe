"""ConsumerGroupDescribe: a group as tools show it. Version 1 tells the kind of each member."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import ConsumerMember
from tidelog.coordinators.consumer_groups.records import by_topic
from tidelog.coordinators.consumer_groups.state import ConsumerGroups
from tidelog.coordinators.consumer_groups.target import preferred_assignor
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition, Topics
from tidelog.protocol.messages.consumer_group_describe_response import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)

_MEMBER_OF_THE_CLASSIC_PROTOCOL = 0
_MEMBER_OF_THE_CONSUMER_PROTOCOL = 1


def describe(groups: ConsumerGroups, group: ConsumerGroup) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(group.members.values(), groups.settings),
        members=[_describe_member(group, member, groups.topics) for member in group.members.values()],
    )


def _describe_member(group: ConsumerGroup, member: ConsumerMember, topics: Topics) -> Member:
    profile = member.profile
    return Member(
        member_id=member.member_id,
        instance_id=profile.instance_id,
        rack_id=profile.rack_id,
        member_epoch=member.epoch,
        client_id=profile.client_id,
        client_host=profile.client_host,
        subscribed_topic_names=sorted(profile.topic_names),
        subscribed_topic_regex=profile.topic_regex or "",
        assignment=_describe_assignment(member.current.assigned, topics),
        target_assignment=_describe_assignment(group.target_of(member.member_id), topics),
        member_type=_MEMBER_OF_THE_CLASSIC_PROTOCOL if member.is_classic else _MEMBER_OF_THE_CONSUMER_PROTOCOL,
    )


def _describe_assignment(partitions: Iterable[TopicIdPartition], topics: Topics) -> Assignment:
    """Topics that have been deleted have no name any more, and are left out."""
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=numbers)
            for topic_id, numbers in by_topic(partitions).items()
            if (topic := topics.with_id(topic_id)) is not None
        ]
    )
