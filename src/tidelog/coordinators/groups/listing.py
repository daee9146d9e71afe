"""ListGroups, DescribeGroups and DeleteGroups.

DescribeGroups: up to version 5 an unknown group is described as dead, from version 6 it is an error (KIP-1043).
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.coordinators.decision import Draft, Request
from tidelog.coordinators.groups.group import ClassicGroup, GroupState
from tidelog.coordinators.groups.offset_expiry import append_all_tombstones
from tidelog.coordinators.groups.state import ShardState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from tidelog.protocol.messages.describe_groups_response import DescribedGroup, DescribedGroupMember
from tidelog.protocol.messages.list_groups_response import ListedGroup

_UNKNOWN_GROUP_IS_AN_ERROR_FROM = 6


def list_groups(state: ShardState, states: Sequence[str] = (), types: Sequence[str] = ()) -> list[ListedGroup]:
    """Filters are case-insensitive, and empty ones let everything through."""
    wanted_states = {text.strip().lower() for text in states}
    wanted_types = {text.strip().lower() for text in types}
    return [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=group.type.value,
        )
        for group in state.groups.values()
        if (not states or group.state.value.lower() in wanted_states)
        and (not types or group.type.value in wanted_types)
    ]


def describe_group(state: ShardState, group_id: str, version: int) -> DescribedGroup:
    group = state.groups.get(group_id)
    if group is None:
        dead = GroupState.DEAD.value
        if version < _UNKNOWN_GROUP_IS_AN_ERROR_FROM:
            return DescribedGroup(group_id=group_id, group_state=dead)
        return DescribedGroup(
            group_id=group_id,
            group_state=dead,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} not found.",
        )
    is_stable = group.state is GroupState.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=_describe_members(group, is_stable=is_stable),
    )


def delete_groups(state: ShardState, request: Request, message: DeleteGroupsRequest, draft: Draft) -> None:
    results: list[DeletableGroupResult] = []
    # A group that is named twice is deleted once.
    for group_id in dict.fromkeys(message.groups_names):
        group = state.groups.get(group_id)
        if group is None:
            code = ErrorCode.GROUP_ID_NOT_FOUND
        elif group.state is not GroupState.EMPTY:
            code = ErrorCode.NON_EMPTY_GROUP
        else:
            code = ErrorCode.NONE
            append_all_tombstones(state, group_id, draft)
        results.append(DeletableGroupResult(group_id=group_id, error_code=code))
    draft.atomic = False
    draft.answer(request.token, DeleteGroupsResponse(results=results))


def _describe_members(group: ClassicGroup, *, is_stable: bool) -> list[DescribedGroupMember]:
    """Metadata and assignments belong to a generation: during a rebalance there is none."""
    return [
        DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=(member.metadata_for(group.protocol_name) or b"") if is_stable else b"",
            member_assignment=member.assignment if is_stable else b"",
        )
        for member in group.members.values()
    ]
