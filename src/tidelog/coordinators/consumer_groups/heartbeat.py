"""ConsumerGroupHeartbeat of a member that joins, or that is there: the group follows it, and it follows the target.

1. What the member says about itself is noted.
2. If that, or a topic, changes what the group is subscribed to, the group's epoch grows.
3. If the group's epoch is ahead of the target assignment, another one is made.
4. The member takes one step towards the target.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tidelog.coordinators.consumer_groups import records
from tidelog.coordinators.consumer_groups.departure import leave, no_such_group
from tidelog.coordinators.consumer_groups.group import ConsumerGroup, ResolvedRegex, Target
from tidelog.coordinators.consumer_groups.member import (
    JOIN_EPOCH,
    LEAVE_STATIC_EPOCH,
    NO_TIMEOUT,
    ConsumerMember,
    CurrentAssignment,
    MemberState,
    Profile,
)
from tidelog.coordinators.consumer_groups.reconciliation import Goal, reconcile
from tidelog.coordinators.consumer_groups.requests import (
    Refusal,
    check_epoch,
    check_request,
    find_member,
    is_leaving,
    refused,
    reported_partitions,
)
from tidelog.coordinators.consumer_groups.state import ConsumerGroups
from tidelog.coordinators.consumer_groups.subscriptions import names_of, resolve_all, subscribed_names
from tidelog.coordinators.consumer_groups.target import compute_targets, may_assign, topic_ids
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition, metadata_hash
from tidelog.coordinators.decision import Draft, Moment, Request
from tidelog.coordinators.patterns import PatternProblem
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)


def heartbeat(
    groups: ConsumerGroups, request: Request, message: ConsumerGroupHeartbeatRequest, now: Moment, draft: Draft
) -> None:
    refusal = check_request(message, request.version, groups.settings)
    if refusal is not None:
        draft.answer(request.token, refused(refusal))
    elif is_leaving(message):
        leave(groups, request, message, draft)
    else:
        _hear_of(groups, request, message, now, draft)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrival:
    """Who is speaking: a member as it was, and the id of the static member whose place it takes."""

    member: ConsumerMember
    replaces: str | None = None
    is_new: bool = False

    @property
    def known_as(self) -> Collection[str]:
        return (self.member.member_id,) if self.replaces is None else (self.member.member_id, self.replaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What the group is subscribed to from now on, and in which epoch."""

    epoch: int
    members: Mapping[str, ConsumerMember]
    resolved: Mapping[str, ResolvedRegex]


def _hear_of(
    groups: ConsumerGroups, request: Request, message: ConsumerGroupHeartbeatRequest, now: Moment, draft: Draft
) -> None:
    group = groups.groups.get(message.group_id)
    if group is None:
        if message.member_epoch != JOIN_EPOCH:
            draft.answer(request.token, refused(no_such_group(message.group_id)))
            return
        # Known to the shard once its records are replayed.
        group = ConsumerGroup(message.group_id)
    reported = reported_partitions(message)
    arrival = _identify(groups, group, request, message, reported)
    if isinstance(arrival, Refusal):
        draft.answer(request.token, refused(arrival))
        return
    before = arrival.member
    profile = _told_by(message, request, before.profile)
    problem = _check_regex(groups, group, profile.topic_regex)
    if problem is not None:
        draft.answer(request.token, refused(problem))
        return
    if profile == before.profile and _is_settled(groups, group, arrival):
        groups.renew_session(group.group_id, before.member_id, now)
        draft.answer(request.token, _reply(groups, message, before.member_id, before.current, before.current))
        return
    member = before if profile == before.profile else replace(before, profile=profile)
    _write_member(group, arrival, member, draft)
    plan = _follow_subscriptions(groups, group, arrival, member, now, draft)
    goal = _follow_group(groups, group, arrival, member, plan, now, draft)
    current = reconcile(
        group,
        member.current,
        goal,
        known_as=arrival.known_as,
        reported=reported,
        subscription_changed=_subscription(profile) != _subscription(before.profile),
    )
    if current != before.current or arrival.is_new or arrival.replaces is not None:
        draft.append(records.current_record(group.group_id, member.member_id, current))
        if current.state is MemberState.UNREVOKED_PARTITIONS:
            groups.expect_revocation(group.group_id, member.member_id, profile.rebalance_timeout_ms, now)
    groups.renew_session(group.group_id, member.member_id, now)
    draft.answer(request.token, _reply(groups, message, member.member_id, before.current, current))


def _is_settled(groups: ConsumerGroups, group: ConsumerGroup, arrival: _Arrival) -> bool:
    """Whether there is nothing to do for the member or the group: nearly always, so this is worth knowing at once."""
    return (
        not arrival.is_new
        and arrival.replaces is None
        and group.checked_version == groups.topics.version
        and group.epoch == group.assignment_epoch
        and arrival.member.current.is_reconciled_to(group.assignment_epoch)
    )


# ----------------------------------------------------------------------------------------------------------------
# 1. The member.


def _identify(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    request: Request,
    message: ConsumerGroupHeartbeatRequest,
    reported: Collection[TopicIdPartition] | None,
) -> _Arrival | Refusal:
    if message.member_epoch != JOIN_EPOCH:
        member = find_member(group, message)
        if isinstance(member, Refusal):
            return member
        return check_epoch(member, message.member_epoch, reported) or _Arrival(member=member)
    member_id = message.member_id or request.fresh_id
    static = None if message.instance_id is None else group.static_member(message.instance_id)
    if static is not None and static.member_id != member_id:
        if static.epoch != LEAVE_STATIC_EPOCH:
            return Refusal(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"instance {message.instance_id} is in use by the member {static.member_id}",
            )
        # Begins anew with what its old self had.
        current = replace(static.current, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
        member = ConsumerMember(member_id=member_id, profile=static.profile, current=current)
        return _Arrival(member=member, replaces=static.member_id)
    known = group.members.get(member_id)
    if known is not None:
        return _Arrival(member=known)
    if len(group.members) >= groups.settings.group_consumer_max_size:
        limit = groups.settings.group_consumer_max_size
        return Refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, f"group {group.group_id} already has {limit} members")
    return _Arrival(member=ConsumerMember(member_id=member_id), is_new=True)


def _told_by(message: ConsumerGroupHeartbeatRequest, request: Request, before: Profile) -> Profile:
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


def _check_regex(groups: ConsumerGroups, group: ConsumerGroup, regex: str | None) -> Refusal | None:
    if regex is None or regex in group.resolved:
        return None
    try:
        groups.regexes.check(regex)
    except PatternProblem as problem:
        return Refusal(ErrorCode.INVALID_REGULAR_EXPRESSION, str(problem))
    return None


def _write_member(group: ConsumerGroup, arrival: _Arrival, member: ConsumerMember, draft: Draft) -> None:
    if arrival.replaces is not None:
        for record in records.member_tombstones(group.group_id, arrival.replaces):
            draft.append(record)
    if arrival.is_new or arrival.replaces is not None or member.profile != arrival.member.profile:
        draft.append(records.profile_record(group.group_id, member.member_id, member.profile))
    if arrival.replaces is not None:
        target = group.target_of(arrival.replaces)
        draft.append(records.target_record(group.group_id, member.member_id, target))


# ----------------------------------------------------------------------------------------------------------------
# 2. The group.


def _subscription(profile: Profile) -> tuple[frozenset[str], str | None]:
    return profile.topic_names, profile.topic_regex


def _follow_subscriptions(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    arrival: _Arrival,
    member: ConsumerMember,
    now: Moment,
    draft: Draft,
) -> _Plan:
    subscription_changed = _subscription(member.profile) != _subscription(arrival.member.profile)
    is_checked = group.checked_version == groups.topics.version
    members = group.members
    if member is not group.members.get(member.member_id):
        members = {key: each for key, each in members.items() if key != arrival.replaces}
        members[member.member_id] = member
    if is_checked and not subscription_changed:
        return _Plan(epoch=group.epoch, members=members, resolved=group.resolved)
    resolved = resolve_all(group, members.values(), groups.regexes, groups.topics, now.wall_ms)
    for regex in sorted(group.resolved.keys() - resolved.keys()):
        draft.append(records.regex_tombstone(group.group_id, regex))
    changed = {regex: found for regex, found in resolved.items() if found is not group.resolved.get(regex)}
    for regex, found in changed.items():
        draft.append(records.regex_record(group.group_id, regex, found))
    names = frozenset[str]().union(*subscribed_names(members, resolved).values())
    found_hash = metadata_hash(names, groups.topics)
    if not (subscription_changed or changed or found_hash != group.metadata_hash):
        group.checked_version = groups.topics.version
        return _Plan(epoch=group.epoch, members=members, resolved=resolved)
    # The version is not noted yet: should the log not take the records, the next heartbeat has to come here again.
    epoch = group.epoch + 1
    draft.append(records.group_record(group.group_id, epoch, found_hash))
    if group.has_partition_metadata_record:
        draft.append(records.partition_metadata_tombstone(group.group_id))
    return _Plan(epoch=epoch, members=members, resolved=resolved)


# ----------------------------------------------------------------------------------------------------------------
# 3. The target.


def _follow_group(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    arrival: _Arrival,
    member: ConsumerMember,
    plan: _Plan,
    now: Moment,
    draft: Draft,
) -> Goal:
    subscribed = topic_ids(names_of(member, plan.resolved), groups.topics)
    old = group.target_of(arrival.replaces or member.member_id)
    if plan.epoch <= group.assignment_epoch or not may_assign(group, groups.settings, now.wall_ms):
        return Goal(epoch=group.assignment_epoch, target=old, subscribed=subscribed)
    targets: dict[str, Target] = dict(group.targets)
    if arrival.replaces is not None:
        targets[member.member_id] = targets.pop(arrival.replaces, frozenset())
    found = compute_targets(
        plan.members,
        subscribed_names(plan.members, plan.resolved),
        targets,
        topics=groups.topics,
        settings=groups.settings,
    )
    for member_id, target in found.items():
        if target != targets.get(member_id):
            draft.append(records.target_record(group.group_id, member_id, target))
    draft.append(records.target_epoch_record(group.group_id, plan.epoch, now.wall_ms))
    return Goal(epoch=plan.epoch, target=found[member.member_id], subscribed=subscribed)


# ----------------------------------------------------------------------------------------------------------------
# The reply.


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
        heartbeat_interval_ms=groups.settings.group_consumer_heartbeat_interval_ms,
        assignment=assignment,
    )
