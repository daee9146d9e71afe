"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup of classic members in a group of the consumer protocol (KIP-848).

While a group changes its protocol, members of both protocols are in it. The coordinator assigns partitions to all of
them. A classic member sees a group without a leader: it joins, takes what SyncGroup gives it, and is asked to rejoin
whenever there is a step for it to take. Its generation is its member epoch.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.coordinators.consumer_groups.departure import remove_members
from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import ClassicMembership, ClassicProtocol, ConsumerMember, Profile
from tidelog.coordinators.consumer_groups.settings import MigrationPolicy
from tidelog.coordinators.consumer_groups.state import Awaited, ConsumerGroups, MemberTimer
from tidelog.coordinators.consumer_groups.states import MemberState
from tidelog.coordinators.consumer_groups.steps import Arrival, advance, taking_the_place_of
from tidelog.coordinators.consumer_groups.target import may_assign
from tidelog.coordinators.decision import Moment, ShardDraft, ShardRequest
from tidelog.coordinators.groups.embedded_protocol import (
    MalformedProtocol,
    partition_ids,
    read_subscription,
    write_assignment,
)
from tidelog.coordinators.groups.group import CONSUMER_PROTOCOL_TYPE
from tidelog.coordinators.groups.members import protocols_of
from tidelog.coordinators.groups.replies import refused_join
from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.join_group_request import JoinGroupRequest
from tidelog.protocol.messages.join_group_response import JoinGroupResponse
from tidelog.protocol.messages.leave_group_request import MemberIdentity
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse

_MEMBER_ID_REQUIRED_FROM = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joiner:
    """Who joins, and what it says."""

    arrival: Arrival
    classic: ClassicMembership
    subscription: ConsumerProtocolSubscription


# ----------------------------------------------------------------------------------------------------------------
# JoinGroup.


def join(
    groups: ConsumerGroups, group: ConsumerGroup, request: ShardRequest, message: JoinGroupRequest, draft: ShardDraft
) -> None:
    joiner = _identify(groups, group, request, message)
    if isinstance(joiner, JoinGroupResponse):
        draft.answer(request.token, joiner)
        return
    profile = _profile(request, message, joiner)
    owned = partition_ids(
        ((topic.topic, topic.partitions) for topic in joiner.subscription.owned_partitions), groups.topics
    )
    current = advance(groups, group, joiner.arrival, profile, owned, draft, sees=request.sees)
    member_id = joiner.arrival.member.member_id
    groups.timers.cancel(MemberTimer(group.group_id, member_id, Awaited.JOIN))
    groups.expect(Awaited.SYNC, group.group_id, member_id, profile.rebalance_timeout_ms, draft.now)
    draft.answer(
        request.token,
        JoinGroupResponse(
            generation_id=current.epoch,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=joiner.classic.protocols[0].name,
            member_id=member_id,
        ),
    )


def _identify(
    groups: ConsumerGroups, group: ConsumerGroup, request: ShardRequest, message: JoinGroupRequest
) -> _Joiner | JoinGroupResponse:
    protocols = protocols_of(message.protocols)
    if groups.settings.group_consumer_migration_policy is MigrationPolicy.DISABLED or not _supports(
        group, message.protocol_type, protocols
    ):
        return refused_join(message.member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    instance_id = message.group_instance_id
    member_id = message.member_id or f"{request.client_id if instance_id is None else instance_id}-{request.fresh_id}"
    is_full = len(group.members) >= groups.settings.group_consumer_max_size
    static = None if instance_id is None else group.static_member(instance_id)
    if is_full and member_id not in group.members and static is None:
        return refused_join("", ErrorCode.GROUP_MAX_SIZE_REACHED)
    if not message.member_id and instance_id is None and request.version >= _MEMBER_ID_REQUIRED_FROM:
        return refused_join(member_id, ErrorCode.MEMBER_ID_REQUIRED)
    try:
        # All protocols of a consumer carry the same subscription.
        subscription = read_subscription(protocols[0].metadata)
    except MalformedProtocol:
        return refused_join(message.member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    arrival = _arrival(group, message, member_id, static)
    if isinstance(arrival, ErrorCode):
        return refused_join(message.member_id, arrival)
    classic = ClassicMembership(session_timeout_ms=message.session_timeout_ms, protocols=protocols)
    return _Joiner(arrival=arrival, classic=classic, subscription=subscription)


def _arrival(
    group: ConsumerGroup, message: JoinGroupRequest, member_id: str, static: ConsumerMember | None
) -> Arrival | ErrorCode:
    if message.group_instance_id is None:
        known = group.members.get(member_id)
        return (
            Arrival(member=ConsumerMember(member_id=member_id), is_new=True) if known is None else Arrival(member=known)
        )
    if message.member_id:
        if static is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return Arrival(member=static) if static.member_id == member_id else ErrorCode.FENCED_INSTANCE_ID
    if static is None:
        return Arrival(member=ConsumerMember(member_id=member_id), is_new=True)
    return taking_the_place_of(static, member_id)


def _supports(group: ConsumerGroup, protocol_type: str, protocols: tuple[ClassicProtocol, ...]) -> bool:
    """Should the group become a classic one again, its members need a protocol that all of them know."""
    if protocol_type != CONSUMER_PROTOCOL_TYPE or not protocols:
        return False
    common = {protocol.name for protocol in protocols}
    for member in group.members.values():
        if member.profile.classic is not None:
            common &= {protocol.name for protocol in member.profile.classic.protocols}
    return bool(common)


def _profile(request: ShardRequest, message: JoinGroupRequest, joiner: _Joiner) -> Profile:
    before = joiner.arrival.member.profile
    timeout_ms = message.rebalance_timeout_ms
    return Profile(
        instance_id=message.group_instance_id,
        rack_id=joiner.subscription.rack_id or before.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topic_names=frozenset(joiner.subscription.topics),
        rebalance_timeout_ms=timeout_ms if timeout_ms >= 0 else message.session_timeout_ms,
        server_assignor=before.server_assignor,
        classic=joiner.classic,
    )


# ----------------------------------------------------------------------------------------------------------------
# SyncGroup and Heartbeat.


def sync(
    groups: ConsumerGroups, group: ConsumerGroup, request: ShardRequest, message: SyncGroupRequest, draft: ShardDraft
) -> None:
    found = _find(group, message.member_id, message.group_instance_id, message.generation_id)
    if isinstance(found, ErrorCode):
        draft.answer(request.token, SyncGroupResponse(error_code=found))
        return
    member, classic = found
    name, metadata = classic.protocols[0]
    if message.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE) or message.protocol_name not in (None, name):
        draft.answer(request.token, SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        return
    # A member that has partitions to give up must first learn which ones it keeps.
    if group.assignment_epoch > member.epoch and member.current.state is not MemberState.UNREVOKED_PARTITIONS:
        _expect_join(groups, group, member, draft.now)
        draft.answer(request.token, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        return
    groups.timers.cancel(MemberTimer(group.group_id, member.member_id, Awaited.SYNC))
    groups.renew_session(group.group_id, member, draft.now)
    draft.answer(
        request.token,
        SyncGroupResponse(
            protocol_type=message.protocol_type,
            protocol_name=message.protocol_name,
            assignment=write_assignment(member.current.assigned, groups.topics, metadata),
        ),
    )


def heartbeat(groups: ConsumerGroups, group: ConsumerGroup, message: HeartbeatRequest, now: Moment) -> ErrorCode:
    found = _find(group, message.member_id, message.group_instance_id, message.generation_id)
    if isinstance(found, ErrorCode):
        return found
    member, _ = found
    groups.renew_session(group.group_id, member, now)
    if not _has_to_rejoin(groups, group, member, now):
        return ErrorCode.NONE
    _expect_join(groups, group, member, now)
    return ErrorCode.REBALANCE_IN_PROGRESS


def _has_to_rejoin(groups: ConsumerGroups, group: ConsumerGroup, member: ConsumerMember, now: Moment) -> bool:
    """Whether there is a step that the member would take if it joined again."""
    if group.assignment_epoch > member.epoch:
        return True
    if group.epoch > group.assignment_epoch and may_assign(group, groups.settings.of(group.group_id), now.wall_ms):
        return True
    match member.current.state:
        case MemberState.UNREVOKED_PARTITIONS:
            return True
        case MemberState.UNRELEASED_PARTITIONS:
            missing = group.target_of(member.member_id) - member.current.assigned.keys()
            return all(group.owners.get(partition, member.member_id) == member.member_id for partition in missing)
        case _:
            return False


def _expect_join(groups: ConsumerGroups, group: ConsumerGroup, member: ConsumerMember, now: Moment) -> None:
    """From the first time that it is asked to: asking again gives it no more time."""
    if MemberTimer(group.group_id, member.member_id, Awaited.JOIN) not in groups.timers:
        groups.expect(Awaited.JOIN, group.group_id, member.member_id, member.profile.rebalance_timeout_ms, now)


def _find(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[ConsumerMember, ClassicMembership] | ErrorCode:
    member = group.members.get(member_id) if instance_id is None else group.static_member(instance_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if member.member_id != member_id:
        return ErrorCode.FENCED_INSTANCE_ID
    classic = member.profile.classic
    if classic is None:
        # It speaks the other protocol.
        return ErrorCode.UNKNOWN_MEMBER_ID
    return (member, classic) if generation == member.epoch else ErrorCode.ILLEGAL_GENERATION


# ----------------------------------------------------------------------------------------------------------------
# LeaveGroup.


def leave(
    groups: ConsumerGroups, group: ConsumerGroup, leaving: Sequence[MemberIdentity], draft: ShardDraft
) -> list[ErrorCode]:
    """Members of the consumer protocol leave by a heartbeat; but an administrator may take them out as well."""
    codes: list[ErrorCode] = []
    removed: dict[str, None] = {}
    for identity in leaving:
        instance_id = identity.group_instance_id
        member = group.members.get(identity.member_id) if instance_id is None else group.static_member(instance_id)
        if member is None:
            codes.append(ErrorCode.UNKNOWN_MEMBER_ID)
        elif identity.member_id not in ("", member.member_id):
            codes.append(ErrorCode.FENCED_INSTANCE_ID)
        else:
            codes.append(ErrorCode.NONE)
            removed[member.member_id] = None
    if removed:
        remove_members(groups, group, removed, draft)
    return codes
