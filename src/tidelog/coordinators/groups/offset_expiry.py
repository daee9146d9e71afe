"""Offsets that nobody needs any more: their time is over (offsets.retention.minutes), or their topic is gone.

A group without members and without offsets goes with its last offset.
"""

from __future__ import annotations

from collections.abc import Collection

from tidelog.coordinators.decision import Draft, Moment
from tidelog.coordinators.groups.group import ClassicGroup, GroupState
from tidelog.coordinators.groups.offsets import CommittedOffset
from tidelog.coordinators.groups.records import NO_EXPIRY, group_tombstone, offset_tombstone
from tidelog.coordinators.groups.state import ExpiryTimer, ShardState
from tidelog.model.ids import TopicPartition

# How much one step may do before other requests get their turn.
MAX_GROUPS_AT_A_TIME = 1000
MAX_TOMBSTONES_AT_A_TIME = 1000


def schedule_expiry(state: ShardState, now: Moment) -> None:
    interval_ms = state.settings.offsets_retention_check_interval_ms
    state.timers.schedule(ExpiryTimer(), now.monotonic_ms + interval_ms)


def on_expiry_timer(state: ShardState, now: Moment, draft: Draft) -> None:
    """One step of a round over all groups; the round goes on at once until it has seen them all."""
    if not state.expiry_backlog:
        state.expiry_backlog = list(state.groups)
    draft.atomic = False
    for _ in range(MAX_GROUPS_AT_A_TIME):
        if not state.expiry_backlog or len(draft.records) >= MAX_TOMBSTONES_AT_A_TIME:
            break
        group = state.groups.get(state.expiry_backlog.pop())
        if group is not None:
            _expire_group(state, group, now.wall_ms, draft)
    if state.expiry_backlog:
        state.timers.schedule(ExpiryTimer(), now.monotonic_ms)
    else:
        schedule_expiry(state, now)


def delete_offsets_of(state: ShardState, partitions: Collection[TopicPartition], draft: Draft) -> None:
    """The partitions were deleted; under the same name another topic may come."""
    draft.atomic = False
    for group_id in state.offsets.groups_with_offsets():
        for topic, partition in partitions:
            committed = state.offsets.committed.get(group_id, topic, partition)
            if committed is not None or state.offsets.is_pending(group_id, topic, partition):
                draft.append(offset_tombstone(group_id, topic, partition))


def append_all_tombstones(state: ShardState, group_id: str, draft: Draft) -> None:
    """Everything the log holds about a group."""
    keys = {(topic, partition): None for topic, partition, _ in state.offsets.committed.entries(group_id)}
    keys |= {(topic, partition): None for topic, partition, _ in state.offsets.pending_entries(group_id)}
    for topic, partition in keys:
        draft.append(offset_tombstone(group_id, topic, partition))
    draft.append(group_tombstone(group_id))


def _expire_group(state: ShardState, group: ClassicGroup, now_ms: int, draft: Draft) -> None:
    offsets = state.offsets
    keeps_offsets = offsets.has_open_transaction(group.group_id)
    may_expire = _may_expire(group)
    subscribed = group.subscribed_topics() or frozenset()
    for topic, partition, committed in offsets.committed.entries(group.group_id):
        if (
            may_expire
            and topic not in subscribed
            and _is_expired(state, group, committed, now_ms)
            and not offsets.is_pending(group.group_id, topic, partition)
        ):
            draft.append(offset_tombstone(group.group_id, topic, partition))
        else:
            keeps_offsets = True
    if group.state is GroupState.EMPTY and not group.pending_members and not keeps_offsets:
        draft.append(group_tombstone(group.group_id))


def _may_expire(group: ClassicGroup) -> bool:
    """Offsets of a group with members are kept, except for topics that its consumers have given up (KIP-211)."""
    if group.state is GroupState.EMPTY:
        return True
    return group.state is GroupState.STABLE and group.subscribed_topics() is not None


def _is_expired(state: ShardState, group: ClassicGroup, committed: CommittedOffset, now_ms: int) -> bool:
    if committed.expire_timestamp_ms != NO_EXPIRY:
        return now_ms >= committed.expire_timestamp_ms
    since_ms = committed.commit_timestamp_ms
    if group.state is GroupState.EMPTY and group.protocol_type is not None and group.since_ms >= 0:
        # Counted from when the last member left. Who only keeps offsets here has no such moment.
        since_ms = group.since_ms
    return now_ms - since_ms >= state.settings.offsets_retention_ms
