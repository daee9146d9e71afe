"""Leaving a group: by a heartbeat that says so, by falling silent, or by not giving up what belongs to others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tidelog.coordinators.consumer_groups import records
from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import LEAVE_STATIC_EPOCH, ConsumerMember
from tidelog.coordinators.consumer_groups.requests import GroupRefusal, find_member, refused
from tidelog.coordinators.consumer_groups.state import Awaited, ConsumerGroups, MemberTimer
from tidelog.coordinators.consumer_groups.states import CONSUMER_MEMBER, MemberState, MemberStep
from tidelog.coordinators.consumer_groups.subscriptions import subscribed_names
from tidelog.coordinators.consumer_groups.topics import metadata_hash
from tidelog.coordinators.decision import ShardDraft, ShardRequest
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse


def leave(
    groups: ConsumerGroups, request: ShardRequest, message: ConsumerGroupHeartbeatRequest, draft: ShardDraft
) -> None:
    group = groups.groups.get(message.group_id)
    if group is None:
        draft.answer(request.token, refused(no_such_group(message.group_id)))
        return
    member = find_member(group, message)
    if isinstance(member, GroupRefusal):
        draft.answer(request.token, refused(member))
        return
    if message.member_epoch == LEAVE_STATIC_EPOCH:
        _leave_for_a_while(group, member, draft)
    else:
        remove_members(groups, group, [member.member_id], draft)
    response = ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=message.member_epoch)
    draft.answer(request.token, response)


def no_such_group(group_id: str) -> GroupRefusal:
    return GroupRefusal(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no consumer group {group_id}")


def remove_members(
    groups: ConsumerGroups, group: ConsumerGroup, member_ids: Collection[str], draft: ShardDraft
) -> None:
    """The others share what these had."""
    for member_id in member_ids:
        draft.records.extend(records.member_tombstones(group.group_id, member_id))
    staying = {member_id: member for member_id, member in group.members.items() if member_id not in member_ids}
    used = {member.profile.topic_regex for member in staying.values()}
    for regex in sorted(group.resolved.keys() - used):
        draft.append(records.regex_tombstone(group.group_id, regex))
    names = frozenset[str]().union(*subscribed_names(staying, group.resolved).values())
    draft.append(records.group_record(group.group_id, group.epoch + 1, metadata_hash(names, groups.topics)))


def on_member_timer(groups: ConsumerGroups, timer: MemberTimer, draft: ShardDraft) -> None:
    group = groups.groups.get(timer.group_id)
    member = None if group is None else group.members.get(timer.member_id)
    if group is None or member is None or not _still_owes(member, timer.awaited):
        return
    # Cancelled when the removal is replayed; if the log does not take it, this is tried again.
    groups.timers.schedule(timer, draft.now.monotonic_ms + groups.settings.removal_retry_ms)
    remove_members(groups, group, [timer.member_id], draft)


def _still_owes(member: ConsumerMember, awaited: Awaited) -> bool:
    """What it had to do may have become pointless: it has done it, or it speaks the other protocol now."""
    match awaited:
        case Awaited.HEARTBEAT:
            return True
        case Awaited.REVOCATION:
            return not member.is_classic and member.current.state is MemberState.UNREVOKED_PARTITIONS
        case Awaited.JOIN | Awaited.SYNC:
            return member.is_classic


def _leave_for_a_while(group: ConsumerGroup, member: ConsumerMember, draft: ShardDraft) -> None:
    """A static member keeps its partitions until its session ends, for whoever comes with the same instance id.

    What it was giving up anyway is free at once.
    """
    state = CONSUMER_MEMBER.after(member.current.state, MemberStep.LEAVE_FOR_A_WHILE)
    current = replace(member.current, epoch=LEAVE_STATIC_EPOCH, state=state, pending_revocation={})
    draft.append(records.current_record(group.group_id, member.member_id, current))
