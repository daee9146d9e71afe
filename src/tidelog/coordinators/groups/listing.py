"""ListGroups, DescribeGroups, ConsumerGroupDescribe and DeleteGroups, for both kinds of groups.

DescribeGroups: up to version 5 an unknown group is described as dead, from version 6 it is an error (KIP-1043). To each
of the two ways of describing groups those of the other kind are unknown: tools ask for both.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.coordinators.consumer_groups import description
from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.decision import ShardDraft, ShardRequest
from tidelog.coordinators.groups.group import CONSUMER_PROTOCOL_TYPE, ClassicGroup, GroupType
from tidelog.coordinators.groups.offset_expiry import append_all_tombstones
from tidelog.coordinators.groups.state import GroupTable
from tidelog.coordinators.groups.states import DEAD, GroupState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_describe_response import DescribedGroup as DescribedConsumerGroup
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from tidelog.protocol.messages.describe_groups_response import DescribedGroup, DescribedGroupMember
from tidelog.protocol.messages.list_groups_response import ListedGroup

_UNKNOWN_GROUP_IS_AN_ERROR_FROM = 6


def list_groups(state: GroupTable, states: Sequence[str] = (), types: Sequence[str] = ()) -> list[ListedGroup]:
    """Filters are case-insensitive, and empty ones let everything through."""
    wanted_states = {text.strip().lower() for text in states}
    wanted_types = {text.strip().lower() for text in types}
    consumer_groups = state.consumer.groups
    listed = [_listed(group) for group in consumer_groups.values()]
    listed += [_listed(group) for group in state.groups.values() if group.group_id not in consumer_groups]
    return [
        group
        for group in listed
        if (not states or group.group_state.lower() in wanted_states)
        and (not types or group.group_type in wanted_types)
    ]


def describe_group(state: GroupTable, group_id: str, version: int) -> DescribedGroup:
    group = None if group_id in state.consumer.groups else state.groups.get(group_id)
    if group is None:
        if version < _UNKNOWN_GROUP_IS_AN_ERROR_FROM:
            return DescribedGroup(group_id=group_id, group_state=DEAD)
        return DescribedGroup(
            group_id=group_id,
            group_state=DEAD,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=_why_unknown(state, group_id),
        )
    is_stable = group.state is GroupState.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=_describe_members(group, is_stable=is_stable),
    )


def _why_unknown(state: GroupTable, group_id: str) -> str:
    if group_id in state.consumer.groups:
        return f"Group {group_id} is not a classic group."
    return f"Group {group_id} not found."


def describe_consumer_group(state: GroupTable, group_id: str) -> DescribedConsumerGroup:
    group = state.consumer.groups.get(group_id)
    if group is None:
        return DescribedConsumerGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"there is no consumer group {group_id}",
        )
    return description.describe(state.consumer, group)


def delete_groups(state: GroupTable, request: ShardRequest, message: DeleteGroupsRequest, draft: ShardDraft) -> None:
    results: list[DeletableGroupResult] = []
    # A group that is named twice is deleted once.
    for group_id in dict.fromkeys(message.groups_names):
        code = _check_delete(state, group_id)
        if code is ErrorCode.NONE:
            append_all_tombstones(state, group_id, draft)
        results.append(DeletableGroupResult(group_id=group_id, error_code=code))
    draft.atomic = False
    draft.answer(request.token, DeleteGroupsResponse(results=results))


def _check_delete(state: GroupTable, group_id: str) -> ErrorCode:
    consumer_group = state.consumer.groups.get(group_id)
    if consumer_group is not None:
        return ErrorCode.NON_EMPTY_GROUP if consumer_group.members else ErrorCode.NONE
    group = state.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NONE if group.state is GroupState.EMPTY else ErrorCode.NON_EMPTY_GROUP


def _listed(group: ClassicGroup | ConsumerGroup) -> ListedGroup:
    if isinstance(group, ClassicGroup):
        kind, protocol_type = GroupType.CLASSIC, group.protocol_type or ""
    else:
        kind, protocol_type = GroupType.CONSUMER, CONSUMER_PROTOCOL_TYPE
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=protocol_type,
        group_state=group.state.value,
        group_type=kind.value,
    )


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
