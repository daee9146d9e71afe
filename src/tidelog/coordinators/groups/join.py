"""JoinGroup: a member wants in, wants to stay in, or has new metadata.

Versions: 0 has no rebalance timeout of its own; up to 3 a new member is taken in at once; from 4 it is first given an
id and must come back with it (KIP-394); from 5 a member may be static (KIP-345); from 9 the leader can be told to skip
the assignment (KIP-814).
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.coordinators.consumer_groups import records as consumer_records
from tidelog.coordinators.decision import ShardDraft, ShardRequest
from tidelog.coordinators.groups import classic_members
from tidelog.coordinators.groups.group import ClassicGroup, record_value
from tidelog.coordinators.groups.members import Member, protocols_of, select_protocol
from tidelog.coordinators.groups.migration import downgrade_if_due
from tidelog.coordinators.groups.rebalance import complete_if_all_joined, rebalance, refuse_waiting
from tidelog.coordinators.groups.records import group_record
from tidelog.coordinators.groups.replies import joined, refused_join, response_members
from tidelog.coordinators.groups.state import GroupTable
from tidelog.coordinators.groups.states import GroupState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.group_metadata_value import GroupMetadataValue
from tidelog.protocol.messages.join_group_request import JoinGroupRequest
from tidelog.protocol.messages.join_group_response import JoinGroupResponse

_MEMBER_ID_REQUIRED_FROM = 4
_SKIP_ASSIGNMENT_FROM = 9


def join(state: GroupTable, request: ShardRequest, message: JoinGroupRequest, draft: ShardDraft) -> None:
    code = _check_request(state, message)
    group = state.groups.get(message.group_id)
    consumer_group = state.consumer.groups.get(message.group_id)
    if code is ErrorCode.NONE and consumer_group is not None and consumer_group.members:
        classic_members.join(state.consumer, consumer_group, request, message, draft)
        downgrade_if_due(state, message.group_id, draft)
        return
    if code is ErrorCode.NONE and group is None and message.member_id:
        code = ErrorCode.UNKNOWN_MEMBER_ID
    if code is not ErrorCode.NONE:
        draft.answer(request.token, refused_join(message.member_id, code))
        return
    is_new_group = group is None
    group = group or ClassicGroup(message.group_id, since_ms=draft.now.wall_ms)
    if not _has_room(state, group, message.member_id):
        state.remove_member(group, message.member_id)
        draft.answer(request.token, refused_join("", ErrorCode.GROUP_MAX_SIZE_REACHED))
        complete_if_all_joined(state, group, draft)
        return
    protocols = protocols_of(message.protocols)
    if not group.supports(message.protocol_type, protocols):
        draft.answer(request.token, refused_join(message.member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        return
    state.groups[message.group_id] = group
    if consumer_group is not None:
        # It is empty, so the id is free for a group of the other kind. Committed offsets stay.
        draft.records.extend(consumer_records.group_tombstones(consumer_group))
    records_before = len(draft.records)
    if message.member_id:
        _join_known_member(state, group, request, message, draft)
    else:
        _join_new_member(state, group, request, message, draft)
    if is_new_group and len(draft.records) == records_before:
        # Announces the group: whoever loads this log next knows of it, and tools can list it.
        draft.append(group_record(message.group_id, _announcement(group)))


def _check_request(state: GroupTable, message: JoinGroupRequest) -> ErrorCode:
    if not message.group_id:
        return ErrorCode.INVALID_GROUP_ID
    settings = state.settings
    if not (
        settings.group_min_session_timeout_ms <= message.session_timeout_ms <= settings.group_max_session_timeout_ms
    ):
        return ErrorCode.INVALID_SESSION_TIMEOUT
    return ErrorCode.NONE


def _has_room(state: GroupTable, group: ClassicGroup, member_id: str) -> bool:
    """While members rejoin only those who have count: if the limit was lowered, the last to come are left out."""
    limit = state.settings.group_max_size
    match group.state:
        case GroupState.PREPARING_REBALANCE:
            return member_id in group.awaiting_join or len(group.awaiting_join) < limit
        case GroupState.COMPLETING_REBALANCE | GroupState.STABLE:
            return member_id in group.members or len(group.members) < limit
        case _:
            return True


def _announcement(group: ClassicGroup) -> GroupMetadataValue:
    return GroupMetadataValue(protocol=None, leader=None, current_state_timestamp=group.since_ms)


def _join_new_member(
    state: GroupTable, group: ClassicGroup, request: ShardRequest, message: JoinGroupRequest, draft: ShardDraft
) -> None:
    instance_id = message.group_instance_id
    member_id = f"{request.client_id if instance_id is None else instance_id}-{request.fresh_id}"
    if instance_id is not None and instance_id in group.static_members:
        _return_static_member(state, group, request, message, member_id, draft)
    elif instance_id is None and request.version >= _MEMBER_ID_REQUIRED_FROM:
        # A client whose connection breaks now and that tries again leaves no member behind, only an id.
        group.pending_members.add(member_id)
        state.expect_within(group, member_id, message.session_timeout_ms, draft.now)
        draft.answer(request.token, refused_join(member_id, ErrorCode.MEMBER_ID_REQUIRED))
    else:
        _add_member(state, group, request, message, member_id, draft)


def _join_known_member(
    state: GroupTable, group: ClassicGroup, request: ShardRequest, message: JoinGroupRequest, draft: ShardDraft
) -> None:
    member_id = message.member_id
    if member_id in group.pending_members and message.group_instance_id is None:
        _add_member(state, group, request, message, member_id, draft)
        return
    code = group.check_member(member_id, message.group_instance_id)
    if code is not ErrorCode.NONE:
        draft.answer(request.token, refused_join(member_id, code))
        return
    member = group.members[member_id]
    unchanged = member.protocols == protocols_of(message.protocols)
    match group.state:
        case GroupState.COMPLETING_REBALANCE if unchanged:
            # The reply to its first request was lost on the way.
            draft.answer(request.token, joined(group, member_id))
        case GroupState.STABLE if unchanged and group.leader != member_id:
            draft.answer(request.token, joined(group, member_id))
        case _:
            # A leader that rejoins wants a new assignment, for instance because a topic has grown.
            group.update(_told_by(message, member))
            _wait_to_join(group, member_id, request, draft)
            rebalance(state, group, draft)


def _add_member(
    state: GroupTable,
    group: ClassicGroup,
    request: ShardRequest,
    message: JoinGroupRequest,
    member_id: str,
    draft: ShardDraft,
) -> None:
    if group.state is GroupState.PREPARING_REBALANCE and group.previous_state is GroupState.EMPTY:
        group.new_member_added = True
    member = _new_member(request, message, member_id)
    group.add(replace(member, is_new=True), message.protocol_type)
    _wait_to_join(group, member_id, request, draft)
    # A new member cannot send heartbeats while it waits, so its session says nothing; but it must not wait forever
    # either, since its client may be gone.
    state.expect_within(group, member_id, state.settings.new_member_join_timeout_ms, draft.now)
    rebalance(state, group, draft)


def _return_static_member(
    state: GroupTable,
    group: ClassicGroup,
    request: ShardRequest,
    message: JoinGroupRequest,
    member_id: str,
    draft: ShardDraft,
) -> None:
    """The same instance, restarted: it takes the place of its old self, which is fenced."""
    assert message.group_instance_id is not None
    old_id = group.static_members[message.group_instance_id]
    member = replace(_new_member(request, message, member_id), assignment=group.members[old_id].assignment)
    state.renew_session(group, member, draft.now)
    if group.state is GroupState.STABLE:
        members = [member if other.member_id == old_id else other for other in group.members.values()]
        if select_protocol(members) == group.protocol_name:
            # The point of static membership: a restart costs no rebalance.
            _take_over_assignment(group, request, old_id, member, members, draft)
            return
    refuse_waiting(group, old_id, refused_join(old_id, ErrorCode.FENCED_INSTANCE_ID), draft)
    group.replace_static(old_id, member)
    _wait_to_join(group, member_id, request, draft)
    # Also if the leader is just working out an assignment: it would be one for the old id.
    rebalance(state, group, draft)


def _take_over_assignment(
    group: ClassicGroup, request: ShardRequest, old_id: str, member: Member, members: list[Member], draft: ShardDraft
) -> None:
    """Changes nothing but the id, and that only once the record is replayed."""
    was_leader = group.leader == old_id
    leader = member.member_id if was_leader else group.leader
    value = record_value(group, members, leader=leader, since_ms=group.since_ms)
    draft.append(group_record(group.group_id, value))
    group.returning = member
    can_skip = request.version >= _SKIP_ASSIGNMENT_FROM
    # An older client that hears it is the leader would make a new assignment, so it hears its old id as the leader's.
    draft.answer(
        request.token,
        JoinGroupResponse(
            generation_id=group.generation,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=(leader if can_skip else group.leader) or "",
            skip_assignment=can_skip and was_leader,
            member_id=member.member_id,
            members=response_members(group, members) if can_skip and was_leader else (),
        ),
    )


def _wait_to_join(group: ClassicGroup, member_id: str, request: ShardRequest, draft: ShardDraft) -> None:
    earlier = group.awaiting_join.get(member_id)
    if earlier is not None:
        # The client gave up on its first request, most likely with the connection it came over.
        draft.answer(earlier, refused_join(member_id, ErrorCode.REBALANCE_IN_PROGRESS))
    group.awaiting_join[member_id] = request.token


def _new_member(request: ShardRequest, message: JoinGroupRequest, member_id: str) -> Member:
    return Member(
        member_id=member_id,
        group_instance_id=message.group_instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        session_timeout_ms=message.session_timeout_ms,
        rebalance_timeout_ms=_rebalance_timeout_ms(message),
        protocols=protocols_of(message.protocols),
    )


def _told_by(message: JoinGroupRequest, member: Member) -> Member:
    return replace(
        member,
        protocols=protocols_of(message.protocols),
        session_timeout_ms=message.session_timeout_ms,
        rebalance_timeout_ms=_rebalance_timeout_ms(message),
    )


def _rebalance_timeout_ms(message: JoinGroupRequest) -> int:
    return message.rebalance_timeout_ms if message.rebalance_timeout_ms >= 0 else message.session_timeout_ms
