"""Offsets that nobody needs any more: their time is over (offsets.retention.minutes), or their topic is gone.

A group without members and without offsets goes with its last offset.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tidelog.coordinators.consumer_groups import records as consumer_records
from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.decision import Moment, ShardDraft
from tidelog.coordinators.groups.group import ClassicGroup
from tidelog.coordinators.groups.offsets import CommittedOffset
from tidelog.coordinators.groups.records import NO_EXPIRY, group_tombstone, offset_tombstone
from tidelog.coordinators.groups.state import GroupTable, OffsetExpiryTimer
from tidelog.coordinators.groups.states import GroupState
from tidelog.model.ids import TopicPartition

# How much one step may do before other requests get their turn.
MAX_GROUPS_AT_A_TIME = 1000
MAX_TOMBSTONES_AT_A_TIME = 1000


def schedule_expiry(state: GroupTable, now: Moment) -> None:
    interval_ms = state.settings.offsets_retention_check_interval_ms
    state.timers.schedule(OffsetExpiryTimer(), now.monotonic_ms + interval_ms)


def on_expiry_timer(state: GroupTable, draft: ShardDraft) -> None:
    """One step of a round over all groups; the round goes on at once until it has seen them all."""
    if not state.expiry_backlog:
        state.expiry_backlog = list({**state.groups, **state.consumer.groups})
    draft.atomic = False
    for _ in range(MAX_GROUPS_AT_A_TIME):
        if not state.expiry_backlog or len(draft.records) >= MAX_TOMBSTONES_AT_A_TIME:
            break
        group_id = state.expiry_backlog.pop()
        consumer_group = state.consumer.groups.get(group_id)
        group = state.groups.get(group_id)
        if consumer_group is not None:
            _expire_consumer_group(state, consumer_group, draft.now.wall_ms, draft)
        elif group is not None:
            _expire_group(state, group, draft.now.wall_ms, draft)
    if state.expiry_backlog:
        state.timers.schedule(OffsetExpiryTimer(), draft.now.monotonic_ms)
    else:
        schedule_expiry(state, draft.now)


def delete_offsets_of(state: GroupTable, partitions: Collection[TopicPartition], draft: ShardDraft) -> None:
    """The partitions were deleted; under the same name another topic may come."""
    draft.atomic = False
    for group_id in sorted(state.offsets.groups_with_offsets()):
        for topic, partition in partitions:
            if state.offsets.has_offset(group_id, topic, partition):
                draft.append(offset_tombstone(group_id, topic, partition))


def append_all_tombstones(state: GroupTable, group_id: str, draft: ShardDraft) -> None:
    """Everything the log holds about a group."""
    keys = {(topic, partition): None for topic, partition, _ in state.offsets.committed.entries(group_id)}
    keys |= {(topic, partition): None for topic, partition, _ in state.offsets.pending_entries(group_id)}
    for topic, partition in keys:
        draft.append(offset_tombstone(group_id, topic, partition))
    _append_group_tombstones(state, group_id, draft)


def _append_group_tombstones(state: GroupTable, group_id: str, draft: ShardDraft) -> None:
    consumer_group = state.consumer.groups.get(group_id)
    if consumer_group is None:
        draft.append(group_tombstone(group_id))
        return
    draft.records.extend(consumer_records.group_tombstones(consumer_group))


def _expire_group(state: GroupTable, group: ClassicGroup, now_ms: int, draft: ShardDraft) -> None:
    may_expire = _may_expire(group)
    subscribed = group.subscribed_topics() or frozenset()

    def is_expired(topic: str, committed: CommittedOffset) -> bool:
        return may_expire and topic not in subscribed and _is_expired(state, group, committed, now_ms)

    keeps_offsets = _expire_offsets(state, group.group_id, is_expired, draft)
    if group.state is GroupState.EMPTY and not group.pending_members and not keeps_offsets:
        _append_group_tombstones(state, group.group_id, draft)


def _expire_consumer_group(state: GroupTable, group: ConsumerGroup, now_ms: int, draft: ShardDraft) -> None:
    def is_expired(topic: str, committed: CommittedOffset) -> bool:
        return not group.is_subscribed_to(topic) and _is_older_than_retention(
            state, committed, committed.commit_timestamp_ms, now_ms
        )

    keeps_offsets = _expire_offsets(state, group.group_id, is_expired, draft)
    if not group.members and not keeps_offsets:
        _append_group_tombstones(state, group.group_id, draft)


def _expire_offsets(
    state: GroupTable, group_id: str, is_expired: Callable[[str, CommittedOffset], bool], draft: ShardDraft
) -> bool:
    """Whether the group has offsets left."""
    offsets = state.offsets
    keeps_offsets = offsets.has_open_transaction(group_id)
    for topic, partition, committed in offsets.committed.entries(group_id):
        if is_expired(topic, committed) and not offsets.is_pending(group_id, topic, partition):
            draft.append(offset_tombstone(group_id, topic, partition))
        else:
            keeps_offsets = True
    return keeps_offsets


def _may_expire(group: ClassicGroup) -> bool:
    """Offsets of a group with members are kept, except for topics that its consumers have given up (KIP-211)."""
    if group.state is GroupState.EMPTY:
        return True
    return group.state is GroupState.STABLE and group.subscribed_topics() is not None


def _is_expired(state: GroupTable, group: ClassicGroup, committed: CommittedOffset, now_ms: int) -> bool:
    since_ms = committed.commit_timestamp_ms
    if group.state is GroupState.EMPTY and group.protocol_type is not None and group.since_ms >= 0:
        # Counted from when the last member left. Who only keeps offsets here has no such moment.
        since_ms = group.since_ms
    return _is_older_than_retention(state, committed, since_ms, now_ms)


def _is_older_than_retention(state: GroupTable, committed: CommittedOffset, since_ms: int, now_ms: int) -> bool:
    if committed.expire_timestamp_ms != NO_EXPIRY:
        return now_ms >= committed.expire_timestamp_ms
    return now_ms - since_ms >= state.settings.offsets_retention_ms
