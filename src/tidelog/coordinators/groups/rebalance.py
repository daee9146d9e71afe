"""The join phase of a rebalance: it begins, waits for members, and ends with a new generation.

Requests, departures and timeouts all come here once they have changed who is in the group. What a JoinGroup request
means for the group is in `join`, what follows the join phase is in `sync`.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.coordinators.decision import Moment, ShardDraft
from tidelog.coordinators.groups.group import ClassicGroup, record_value
from tidelog.coordinators.groups.records import group_record
from tidelog.coordinators.groups.replies import joined, refused_join
from tidelog.coordinators.groups.state import GroupTable, JoinTimer, SyncTimer
from tidelog.coordinators.groups.states import GroupState, GroupStep
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.join_group_response import JoinGroupResponse
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse


def rebalance(state: GroupTable, group: ClassicGroup, draft: ShardDraft) -> None:
    """Make all members rejoin; if that is under way already, see whether it can end."""
    if group.can_rebalance:
        prepare_rebalance(state, group, draft)
    else:
        complete_if_all_joined(state, group, draft)


def prepare_rebalance(state: GroupTable, group: ClassicGroup, draft: ShardDraft) -> None:
    if group.state is GroupState.COMPLETING_REBALANCE:
        _send_back_to_join(state, group, draft)
    group.pending_sync.clear()
    state.timers.cancel(SyncTimer(group.group_id, group.generation))
    if group.state is GroupState.EMPTY:
        # The first member rarely comes alone. Waiting for the others spares a rebalance for each of them (KIP-134).
        delay_ms = state.settings.group_initial_rebalance_delay_ms
        group.initial_delay_ms = delay_ms
        group.initial_remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        group.new_member_added = False
        group.step(GroupStep.REBALANCE, draft.now.wall_ms)
        state.timers.schedule(JoinTimer(group.group_id), draft.now.monotonic_ms + delay_ms)
        return
    group.step(GroupStep.REBALANCE, draft.now.wall_ms)
    if group.all_joined:
        complete_join(state, group, draft)
    else:
        _wait_for_members(state, group, draft.now)


def complete_if_all_joined(state: GroupTable, group: ClassicGroup, draft: ShardDraft) -> None:
    """The first rebalance of a group ends by time alone."""
    is_initial = group.previous_state is GroupState.EMPTY
    if group.state is GroupState.PREPARING_REBALANCE and not is_initial and group.all_joined:
        complete_join(state, group, draft)


def on_join_timer(state: GroupTable, group: ClassicGroup, draft: ShardDraft) -> None:
    if group.state is not GroupState.PREPARING_REBALANCE:
        return
    if group.previous_state is GroupState.EMPTY and group.new_member_added and group.initial_remaining_ms > 0:
        # Members are still arriving: wait on, but never longer than a rebalance may take.
        delay_ms = min(state.settings.group_initial_rebalance_delay_ms, group.initial_remaining_ms)
        group.initial_remaining_ms = max(group.initial_remaining_ms - group.initial_delay_ms, 0)
        group.initial_delay_ms = delay_ms
        group.new_member_added = False
        state.timers.schedule(JoinTimer(group.group_id), draft.now.monotonic_ms + delay_ms)
        return
    complete_join(state, group, draft)


def complete_join(state: GroupTable, group: ClassicGroup, draft: ShardDraft) -> None:
    """Begin the next generation with those who have joined.

    Dynamic members that have not are dropped. Static ones stay until their session ends: they are expected back.
    """
    state.timers.cancel(JoinTimer(group.group_id))
    for member in list(group.members.values()):
        if member.member_id not in group.awaiting_join and not member.is_static:
            state.remove_member(group, member.member_id)
    if group.members and not group.elect_joined_leader():
        # Only absent static members are left. Either one of them returns, or their sessions end.
        _wait_for_members(state, group, draft.now)
        return
    group.begin_generation(draft.now.wall_ms)
    if group.state is GroupState.EMPTY:
        value = record_value(group, (), leader=None, since_ms=group.since_ms)
        draft.append(group_record(group.group_id, value))
        return
    for member in list(group.members.values()):
        token = group.awaiting_join.pop(member.member_id, None)
        if token is not None:
            draft.answer(token, joined(group, member.member_id))
        if member.is_new:
            group.update(replace(member, is_new=False))
        state.renew_session(group, member, draft.now)
        group.pending_sync.add(member.member_id)
    deadline_ms = draft.now.monotonic_ms + group.rebalance_timeout_ms
    state.timers.schedule(SyncTimer(group.group_id, group.generation), deadline_ms)


def on_sync_timer(state: GroupTable, group: ClassicGroup, generation: int, draft: ShardDraft) -> None:
    """Members that never asked for their assignment would leave their partitions unread (KAFKA-12890)."""
    synced_by_all = not group.pending_sync
    in_sync_phase = group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
    if generation != group.generation or not in_sync_phase or synced_by_all:
        return
    for member_id in sorted(group.pending_sync):
        state.remove_member(group, member_id)
    prepare_rebalance(state, group, draft)


def drop_member(state: GroupTable, group: ClassicGroup, member_id: str, draft: ShardDraft) -> None:
    """Take a member out. If it still waits to join it learns that it is not known, so that it joins again."""
    refuse_waiting(group, member_id, refused_join("", ErrorCode.UNKNOWN_MEMBER_ID), draft)
    state.remove_member(group, member_id)


def refuse_waiting(group: ClassicGroup, member_id: str, refusal: JoinGroupResponse, draft: ShardDraft) -> None:
    """Whether the member waits to join or for its assignment: to the latter only the error of `refusal` matters."""
    join_token = group.awaiting_join.get(member_id)
    if join_token is not None:
        draft.answer(join_token, refusal)
    sync_token = group.awaiting_sync.get(member_id)
    if sync_token is not None:
        draft.answer(sync_token, SyncGroupResponse(error_code=refusal.error_code))


def after_departure(state: GroupTable, group: ClassicGroup, draft: ShardDraft) -> None:
    """Members have left, by their own will or not: the others must share what they had."""
    if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        prepare_rebalance(state, group, draft)
    else:
        complete_if_all_joined(state, group, draft)


def _send_back_to_join(state: GroupTable, group: ClassicGroup, draft: ShardDraft) -> None:
    for member in list(group.members.values()):
        if member.assignment:
            group.update(replace(member, assignment=b""))
        token = group.awaiting_sync.pop(member.member_id, None)
        if token is not None:
            draft.answer(token, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
            # While it waited it could not send heartbeats, and its session timer may have come to nothing.
            state.renew_session(group, member, draft.now)


def _wait_for_members(state: GroupTable, group: ClassicGroup, now: Moment) -> None:
    state.timers.schedule(JoinTimer(group.group_id), now.monotonic_ms + group.rebalance_timeout_ms)
