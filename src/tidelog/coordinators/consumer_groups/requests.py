"""Whether a heartbeat makes sense and whom it is from, and what the reply looks like.

ConsumerGroupHeartbeat: in version 0 the coordinator may make up the id of a new member; from version 1 members bring
their own (KIP-1082) and may subscribe by regular expression.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    NO_TIMEOUT,
    ConsumerMember,
)
from tidelog.coordinators.consumer_groups.settings import ConsumerGroupSettings
from tidelog.coordinators.consumer_groups.states import MemberState
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse

_MEMBER_ID_REQUIRED_FROM = 1


class GroupRefusal(NamedTuple):
    """Why a request cannot be granted, in words for whoever reads the client's log."""

    code: ErrorCode
    message: str


def refused(refusal: GroupRefusal) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=refusal.code, error_message=refusal.message)


def check_request(
    message: ConsumerGroupHeartbeatRequest, version: int, settings: ConsumerGroupSettings
) -> GroupRefusal | None:
    """What can be said without looking at the group."""
    problem = _problem(message, version)
    if problem is not None:
        return GroupRefusal(ErrorCode.INVALID_REQUEST, problem)
    assignor = message.server_assignor
    if assignor is not None and assignor not in settings.group_consumer_assignors:
        known = ", ".join(settings.group_consumer_assignors)
        return GroupRefusal(
            ErrorCode.UNSUPPORTED_ASSIGNOR, f"there is no assignor {assignor!r}; this broker has {known}"
        )
    return None


def _problem(message: ConsumerGroupHeartbeatRequest, version: int) -> str | None:
    epoch = message.member_epoch
    may_lack_member_id = version < _MEMBER_ID_REQUIRED_FROM and epoch == JOIN_EPOCH
    if not message.member_id and not may_lack_member_id:
        return "MemberId can't be empty."
    if not message.group_id:
        return "GroupId can't be empty."
    if message.instance_id == "":
        return "InstanceId can't be empty."
    if message.rack_id == "":
        return "RackId can't be empty."
    if epoch == JOIN_EPOCH:
        if message.rebalance_timeout_ms == NO_TIMEOUT:
            return "RebalanceTimeoutMs must be provided in first request."
        if message.topic_partitions is None or message.topic_partitions:
            return "TopicPartitions must be empty when (re-)joining."
        if message.subscribed_topic_names is None and message.subscribed_topic_regex is None:
            return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    elif epoch == LEAVE_STATIC_EPOCH:
        if message.instance_id is None:
            return "InstanceId can't be null."
    elif epoch < LEAVE_STATIC_EPOCH:
        return "MemberEpoch is invalid."
    return None


def is_leaving(message: ConsumerGroupHeartbeatRequest) -> bool:
    return message.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH)


def reported_partitions(message: ConsumerGroupHeartbeatRequest) -> Collection[TopicIdPartition] | None:
    """What the member says it owns; None if it has nothing new to say."""
    if message.topic_partitions is None:
        return None
    return {
        TopicIdPartition(Uuid(topic.topic_id), number)
        for topic in message.topic_partitions
        for number in topic.partitions
    }


def find_member(group: ConsumerGroup, message: ConsumerGroupHeartbeatRequest) -> ConsumerMember | GroupRefusal:
    """A member that says it is one already, or leaves."""
    if message.instance_id is None:
        return group.members.get(message.member_id) or unknown_member(message)
    member = group.static_member(message.instance_id)
    if member is None:
        return GroupRefusal(ErrorCode.UNKNOWN_MEMBER_ID, f"instance {message.instance_id} is not a member of the group")
    if member.member_id != message.member_id:
        return GroupRefusal(
            ErrorCode.FENCED_INSTANCE_ID,
            f"instance {message.instance_id} is the member {member.member_id} now, which replaced {message.member_id}",
        )
    return member


def unknown_member(message: ConsumerGroupHeartbeatRequest) -> GroupRefusal:
    text = f"{message.member_id} is not a member of group {message.group_id}"
    return GroupRefusal(ErrorCode.UNKNOWN_MEMBER_ID, text)


def check_epoch(
    member: ConsumerMember, epoch: int, reported: Collection[TopicIdPartition] | None
) -> GroupRefusal | None:
    """Whether a member that says it is in `epoch` has kept up with its replies."""
    current = member.current
    if current.state is MemberState.UNKNOWN and (reported is None or reported):
        return _fenced("is in a state that this version does not know")
    if epoch in (JOIN_EPOCH, current.epoch):
        return None
    if epoch > current.epoch:
        return _fenced(f"says it is in epoch {epoch}, but the last that it was given is {current.epoch}")
    # The reply with the present epoch may have got lost. Then the member owns nothing but what it still may own.
    is_one_behind = epoch == current.previous_epoch
    if is_one_behind and reported is not None and all(partition in current.assigned for partition in reported):
        return None
    return _fenced(f"says it is in epoch {epoch}, which is over; it should be in {current.epoch}")


def _fenced(why: str) -> GroupRefusal:
    return GroupRefusal(
        ErrorCode.FENCED_MEMBER_EPOCH, f"the member {why}; it must give up all partitions and join again"
    )
