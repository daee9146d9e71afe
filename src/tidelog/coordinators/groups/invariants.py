"""What must hold of a shard's state between two decisions."""

from __future__ import annotations

from collections import Counter

from tidelog.coordinators.consumer_groups import invariants as consumer_invariants
from tidelog.coordinators.groups.group import ClassicGroup
from tidelog.coordinators.groups.state import (
    GroupTable,
    GroupTimer,
    JoinTimer,
    OffsetExpiryTimer,
    SessionTimer,
    SyncTimer,
)
from tidelog.coordinators.groups.states import GroupState
from tidelog.coordinators.timers import Timers
from tidelog.model.invariants import require


def check(state: GroupTable) -> None:
    # Set when the log has been replayed, and from then on always.
    is_loaded = OffsetExpiryTimer() in state.timers
    consumer_invariants.check(state.consumer, is_loaded=is_loaded)
    state.timers.check_invariants()
    state.offsets.check_invariants()
    for group_id, group in state.groups.items():
        require(group.group_id == group_id, group_id, "is under its own name")
        _check_group(group)
        other = state.consumer.groups.get(group_id)
        require(other is None or not other.members, f"group {group_id!r}", "is of one kind, unless it is empty")
        if is_loaded:
            _check_timers(state.timers, group)
    groups = {*state.groups, *state.consumer.groups}
    with_offsets = set(state.offsets.committed.group_ids())
    require(with_offsets <= groups, "offsets", "belong to groups that exist", groups=sorted(with_offsets - groups))


def _check_group(group: ClassicGroup) -> None:
    name = f"group {group.group_id!r} in {group.state.value}"
    members = group.members
    has_members = bool(members)
    if group.state is GroupState.EMPTY:
        require(not has_members, name, "has no members", members=[*members])
    if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        require(has_members, name, "has members")
        require(group.protocol_name is not None, name, "has a protocol")
    is_led = group.leader is None or group.leader in members or not has_members
    require(is_led, name, "is led by a member", leader=group.leader)
    static = {each.group_instance_id: key for key, each in members.items() if each.group_instance_id is not None}
    require(group.static_members == static, name, "knows its static members", known=group.static_members)
    votes = Counter(protocol for each in members.values() for protocol in each.protocol_names)
    require(group.protocol_counts == votes, name, "counts its members' protocols", counted=group.protocol_counts)
    for waiting in (group.awaiting_join, group.awaiting_sync, group.pending_sync):
        require(set(waiting) <= members.keys(), name, "only members are waited for or wait", waiting=waiting)
    require(group.pending_members.isdisjoint(members), name, "an id in waiting is no member", ids=group.pending_members)
    rejoins = group.state is GroupState.PREPARING_REBALANCE
    require(rejoins or not group.awaiting_join, name, "nobody waits to join", waiting=group.awaiting_join)
    completes = group.state is GroupState.COMPLETING_REBALANCE
    require(completes or not group.awaiting_sync, name, "nobody waits for the leader", waiting=group.awaiting_sync)


def _check_timers(timers: Timers[GroupTimer], group: ClassicGroup) -> None:
    name = f"group {group.group_id!r} in {group.state.value}"
    # While a request of a member waits it cannot send heartbeats, and its session does not end.
    waiting = {*group.awaiting_join, *group.awaiting_sync}
    for member_id in {*group.members, *group.pending_members} - waiting:
        has_timer = SessionTimer(group.group_id, member_id) in timers
        require(has_timer, name, "a member must be heard from in time", member=member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        require(JoinTimer(group.group_id) in timers, name, "the wait for members ends")
    elif group.pending_sync:
        require(SyncTimer(group.group_id, group.generation) in timers, name, "the wait for the assignment ends")
