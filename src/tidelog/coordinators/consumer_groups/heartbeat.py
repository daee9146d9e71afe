"""ConsumerGroupHeartbeat of a member that joins, or that is there. What follows from it is in `steps`."""

from __future__ import annotations

from collections.abc import Collection

from tidelog.coordinators.consumer_groups import records
from tidelog.coordinators.consumer_groups.departure import leave, no_such_group
from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import (
    JOIN_EPOCH,
    LEAVE_STATIC_EPOCH,
    NO_TIMEOUT,
    ConsumerMember,
    CurrentAssignment,
    Profile,
)
from tidelog.coordinators.consumer_groups.requests import (
    GroupRefusal,
    check_epoch,
    check_request,
    find_member,
    is_leaving,
    refused,
    reported_partitions,
)
from tidelog.coordinators.consumer_groups.state import ConsumerGroups
from tidelog.coordinators.consumer_groups.steps import Arrival, advance, follows_topics, taking_the_place_of
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.coordinators.decision import ShardDraft, ShardRequest
from tidelog.coordinators.patterns import PatternProblem
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)


def heartbeat(
    groups: ConsumerGroups,
    request: ShardRequest,
    message: ConsumerGroupHeartbeatRequest,
    draft: ShardDraft,
    converted: ConsumerGroup | None = None,
) -> None:
    """`converted` is what a classic group of this id becomes if the member is taken in."""
    refusal = check_request(message, request.version, groups.settings)
    if refusal is not None:
        draft.answer(request.token, refused(refusal))
    elif is_leaving(message):
        leave(groups, request, message, draft)
    else:
        group = groups.groups.get(message.group_id) if converted is None else converted
        _hear_of(groups, group, request, message, draft)


def _hear_of(
    groups: ConsumerGroups,
    group: ConsumerGroup | None,
    request: ShardRequest,
    message: ConsumerGroupHeartbeatRequest,
    draft: ShardDraft,
) -> None:
    if group is None:
        if message.member_epoch != JOIN_EPOCH:
            draft.answer(request.token, refused(no_such_group(message.group_id)))
            return
        # Known to the shard once its records are replayed.
        group = ConsumerGroup(message.group_id)
    reported = reported_partitions(message)
    arrival = _identify(groups, group, request, message, reported)
    if isinstance(arrival, GroupRefusal):
        draft.answer(request.token, refused(arrival))
        return
    before = arrival.member
    profile = _told_by(message, request, before.profile)
    problem = _check_regex(groups, group, profile.topic_regex)
    if problem is not None:
        draft.answer(request.token, refused(problem))
        return
    is_settled = follows_topics(groups, group, draft, request.sees) and _is_settled(group, arrival)
    if profile == before.profile and is_settled:
        groups.renew_session(group.group_id, before, draft.now)
        draft.answer(request.token, _reply(groups, message, before.member_id, before.current, before.current))
        return
    current = advance(groups, group, arrival, profile, reported, draft, sees=request.sees)
    draft.answer(request.token, _reply(groups, message, before.member_id, before.current, current))


def _is_settled(group: ConsumerGroup, arrival: Arrival) -> bool:
    """Whether there is nothing to do for the member or the group: nearly always, so this is worth knowing at once."""
    return (
        not arrival.is_new
        and arrival.replaces is None
        and group.epoch == group.assignment_epoch
        and arrival.member.current.is_reconciled_to(group.assignment_epoch)
    )


def _identify(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    request: ShardRequest,
    message: ConsumerGroupHeartbeatRequest,
    reported: Collection[TopicIdPartition] | None,
) -> Arrival | GroupRefusal:
    if message.member_epoch != JOIN_EPOCH:
        member = find_member(group, message)
        if isinstance(member, GroupRefusal):
            return member
        return check_epoch(member, message.member_epoch, reported) or Arrival(member=member)
    member_id = message.member_id or request.fresh_id
    static = None if message.instance_id is None else group.static_member(message.instance_id)
    if static is not None and static.member_id != member_id:
        # A classic member cannot say that it goes and means to come back.
        if static.epoch != LEAVE_STATIC_EPOCH and not static.is_classic:
            return GroupRefusal(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"instance {message.instance_id} is in use by the member {static.member_id}",
            )
        return taking_the_place_of(static, member_id)
    known = group.members.get(member_id)
    if known is not None:
        return Arrival(member=known)
    if len(group.members) >= groups.settings.group_consumer_max_size:
        limit = groups.settings.group_consumer_max_size
        return GroupRefusal(ErrorCode.GROUP_MAX_SIZE_REACHED, f"group {group.group_id} already has {limit} members")
    return Arrival(member=ConsumerMember(member_id=member_id), is_new=True)


def _told_by(message: ConsumerGroupHeartbeatRequest, request: ShardRequest, before: Profile) -> Profile:
    """What is not said stays as it was."""
    names, regex = message.subscribed_topic_names, message.subscribed_topic_regex
    timeout_ms = message.rebalance_timeout_ms
    return Profile(
        instance_id=before.instance_id if message.instance_id is None else message.instance_id,
        rack_id=before.rack_id if message.rack_id is None else message.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topic_names=before.topic_names if names is None else frozenset(names),
        topic_regex=before.topic_regex if regex is None else regex or None,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == NO_TIMEOUT else timeout_ms,
        server_assignor=before.server_assignor if message.server_assignor is None else message.server_assignor,
    )


def _check_regex(groups: ConsumerGroups, group: ConsumerGroup, regex: str | None) -> GroupRefusal | None:
    if regex is None or regex in group.resolved:
        return None
    try:
        groups.regexes.check(regex)
    except PatternProblem as problem:
        return GroupRefusal(ErrorCode.INVALID_REGULAR_EXPRESSION, str(problem))
    return None


def _reply(
    groups: ConsumerGroups,
    message: ConsumerGroupHeartbeatRequest,
    member_id: str,
    before: CurrentAssignment,
    after: CurrentAssignment,
) -> ConsumerGroupHeartbeatResponse:
    """The assignment is only in it if it is another one, or if the member seems not to know it."""
    says_everything = (
        message.rebalance_timeout_ms != NO_TIMEOUT
        and (message.subscribed_topic_names is not None or message.subscribed_topic_regex is not None)
        and message.topic_partitions is not None
    )
    assignment = None
    if message.member_epoch == JOIN_EPOCH or says_everything or before.assigned.keys() != after.assigned.keys():
        assignment = Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in records.by_topic(after.assigned).items()
            ]
        )
    return ConsumerGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=groups.settings.of(message.group_id).group_consumer_heartbeat_interval_ms,
        assignment=assignment,
    )
