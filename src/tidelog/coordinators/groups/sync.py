"""SyncGroup: the leader hands in the assignment, the others collect their part of it.

From version 5 a request names the protocol that it believes the group has chosen (KIP-559).
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.coordinators.decision import ShardDraft, ShardRequest
from tidelog.coordinators.groups import classic_members
from tidelog.coordinators.groups.group import ClassicGroup, record_value
from tidelog.coordinators.groups.members import Member
from tidelog.coordinators.groups.records import group_record
from tidelog.coordinators.groups.state import GroupTable, SyncTimer
from tidelog.coordinators.groups.states import GroupState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse


def sync(state: GroupTable, request: ShardRequest, message: SyncGroupRequest, draft: ShardDraft) -> None:
    consumer_group = state.consumer.groups.get(message.group_id)
    if consumer_group is not None and consumer_group.members:
        classic_members.sync(state.consumer, consumer_group, request, message, draft)
        return
    group = state.groups.get(message.group_id)
    code = _check_request(group, message)
    if group is None or code is not ErrorCode.NONE:
        draft.answer(request.token, SyncGroupResponse(error_code=code))
        return
    group.pending_sync.discard(message.member_id)
    if not group.pending_sync:
        state.timers.cancel(SyncTimer(group.group_id, group.generation))
    if group.state is GroupState.STABLE:
        draft.answer(request.token, _assigned(group, group.members[message.member_id]))
        return
    _wait_for_leader(group, message.member_id, request, draft)
    if group.leader == message.member_id:
        _assign(state, group, message, draft)


def _check_request(group: ClassicGroup | None, message: SyncGroupRequest) -> ErrorCode:
    if not message.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    code = group.check_member(message.member_id, message.group_instance_id)
    if code is not ErrorCode.NONE:
        return code
    if message.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if _differs(message.protocol_type, group.protocol_type) or _differs(message.protocol_name, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _differs(requested: str | None, current: str | None) -> bool:
    return requested is not None and current is not None and requested != current


def _wait_for_leader(group: ClassicGroup, member_id: str, request: ShardRequest, draft: ShardDraft) -> None:
    earlier = group.awaiting_sync.get(member_id)
    if earlier is not None:
        # The client gave up on its first request, most likely with the connection it came over.
        draft.answer(earlier, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    group.awaiting_sync[member_id] = request.token


def _assign(state: GroupTable, group: ClassicGroup, message: SyncGroupRequest, draft: ShardDraft) -> None:
    """The group becomes stable when this record is replayed; everybody who waits is answered once it is committed.

    Members that the leader forgot get nothing. If the record cannot be written all of them get an error, and the group
    stays where it is until the leader tries again.
    """
    given = {assignment.member_id: assignment.assignment for assignment in message.assignments}
    members = [replace(member, assignment=given.get(member.member_id, b"")) for member in group.members.values()]
    value = record_value(group, members, leader=group.leader, since_ms=draft.now.wall_ms)
    draft.append(group_record(group.group_id, value))
    for member in members:
        token = group.awaiting_sync.pop(member.member_id, None)
        if token is not None:
            draft.answer(token, _assigned(group, member))
            # While it waited it could not send heartbeats, and its session timer may have come to nothing.
            state.renew_session(group, member, draft.now)


def _assigned(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )
