"""Who is still there: Heartbeat, LeaveGroup, and members that have not been heard from for too long.

LeaveGroup up to version 2 names one member, and its error is that of the whole reply; from version 3 several can leave
at once, and a static member can be removed by an administrator who does not know its member id.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.coordinators.decision import Moment, ShardDraft, ShardRequest
from tidelog.coordinators.groups import classic_members
from tidelog.coordinators.groups.group import ClassicGroup
from tidelog.coordinators.groups.migration import downgrade_if_due
from tidelog.coordinators.groups.rebalance import after_departure, complete_if_all_joined, drop_member
from tidelog.coordinators.groups.state import GroupTable
from tidelog.coordinators.groups.states import GroupState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.heartbeat_response import HeartbeatResponse
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.leave_group_response import LeaveGroupResponse, MemberResponse

_SEVERAL_MEMBERS_FROM = 3


def heartbeat(state: GroupTable, request: ShardRequest, message: HeartbeatRequest, draft: ShardDraft) -> None:
    draft.answer(request.token, HeartbeatResponse(error_code=_heard_of(state, message, draft.now)))


def _heard_of(state: GroupTable, message: HeartbeatRequest, now: Moment) -> ErrorCode:
    if not message.group_id:
        return ErrorCode.INVALID_GROUP_ID
    consumer_group = state.consumer.groups.get(message.group_id)
    if consumer_group is not None and consumer_group.members:
        return classic_members.heartbeat(state.consumer, consumer_group, message, now)
    group = state.groups.get(message.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    code = group.check_member(message.member_id, message.group_instance_id)
    if code is not ErrorCode.NONE:
        return code
    if message.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    state.renew_session(group, group.members[message.member_id], now)
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave(state: GroupTable, request: ShardRequest, message: LeaveGroupRequest, draft: ShardDraft) -> None:
    several = request.version >= _SEVERAL_MEMBERS_FROM
    leaving = message.members if several else [MemberIdentity(member_id=message.member_id)]
    consumer_group = state.consumer.groups.get(message.group_id)
    if consumer_group is not None and consumer_group.members:
        codes = classic_members.leave(state.consumer, consumer_group, leaving, draft)
        downgrade_if_due(state, message.group_id, draft)
        draft.answer(request.token, _left(leaving, codes, several=several))
        return
    if not message.group_id:
        draft.answer(request.token, LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        return
    group = state.groups.get(message.group_id)
    if group is None:
        codes = [ErrorCode.UNKNOWN_MEMBER_ID] * len(leaving)
        draft.answer(request.token, _left(leaving, codes, several=several))
        return
    members_before = len(group.members)
    codes = [_take_out(state, group, identity, draft) for identity in leaving]
    draft.answer(request.token, _left(leaving, codes, several=several))
    if len(group.members) < members_before:
        after_departure(state, group, draft)
    else:
        # Maybe only somebody left whose id had been handed out, and the others were waiting for that one.
        complete_if_all_joined(state, group, draft)


def _left(leaving: Sequence[MemberIdentity], codes: Sequence[ErrorCode], *, several: bool) -> LeaveGroupResponse:
    if not several:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(
        members=[
            MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code)
            for identity, code in zip(leaving, codes, strict=True)
        ]
    )


def on_session_timer(state: GroupTable, group: ClassicGroup, member_id: str, draft: ShardDraft) -> None:
    if member_id in group.pending_members:
        state.remove_member(group, member_id)
        complete_if_all_joined(state, group, draft)
        return
    member = group.members.get(member_id)
    if member is None:
        return
    # A client cannot send heartbeats while its JoinGroup or SyncGroup waits for an answer. Nobody knows a new member's
    # id yet, though: if its client has gone, nothing but this timer will ever tell.
    is_waiting = member_id in group.awaiting_join or member_id in group.awaiting_sync
    if is_waiting and not member.is_new:
        return
    drop_member(state, group, member_id, draft)
    after_departure(state, group, draft)


def _take_out(state: GroupTable, group: ClassicGroup, identity: MemberIdentity, draft: ShardDraft) -> ErrorCode:
    member_id = identity.member_id
    if not member_id:
        found = group.static_members.get(identity.group_instance_id or "")
        if found is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = found
    elif member_id in group.pending_members:
        state.remove_member(group, member_id)
        return ErrorCode.NONE
    else:
        code = group.check_member(member_id, identity.group_instance_id)
        if code is not ErrorCode.NONE:
            return code
    drop_member(state, group, member_id, draft)
    return ErrorCode.NONE
