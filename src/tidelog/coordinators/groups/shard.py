"""A shard of the group coordinator: the groups that hash to one partition of `__consumer_offsets`.

This is the package's only door: it says who is called for which request, record and timer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tidelog.coordinators.consumer_groups.departure import no_such_group, on_member_timer
from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.heartbeat import heartbeat
from tidelog.coordinators.consumer_groups.member import JOIN_EPOCH
from tidelog.coordinators.consumer_groups.requests import GroupRefusal, refused
from tidelog.coordinators.consumer_groups.state import MemberTimer
from tidelog.coordinators.consumer_groups.topics import Topics, TopicTable
from tidelog.coordinators.decision import CoordinatorRecord, Moment, ShardDecision, ShardDraft, ShardRequest
from tidelog.coordinators.groups import (
    invariants,
    listing,
    migration,
    offset_commit,
    offset_expiry,
    offset_fetch,
    presence,
)
from tidelog.coordinators.groups.group import ClassicGroup
from tidelog.coordinators.groups.join import join
from tidelog.coordinators.groups.offsets import committed_offset
from tidelog.coordinators.groups.rebalance import on_join_timer, on_sync_timer, prepare_rebalance
from tidelog.coordinators.groups.records import group_tombstone
from tidelog.coordinators.groups.savepoint import GroupSavepoint
from tidelog.coordinators.groups.settings import GroupSettings
from tidelog.coordinators.groups.state import (
    GroupTable,
    GroupTimer,
    JoinTimer,
    OffsetExpiryTimer,
    SessionTimer,
    SyncTimer,
)
from tidelog.coordinators.groups.states import GroupState
from tidelog.coordinators.groups.sync import sync
from tidelog.coordinators.timers import FAILED_TIMER_RETRY_MS, Timers
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.consumer_group_describe_response import DescribedGroup as DescribedConsumerGroup
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.describe_groups_response import DescribedGroup
from tidelog.protocol.messages.group_metadata_key import GroupMetadataKey
from tidelog.protocol.messages.group_metadata_value import GroupMetadataValue
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.join_group_request import JoinGroupRequest
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest
from tidelog.protocol.messages.list_groups_response import ListedGroup
from tidelog.protocol.messages.offset_commit_key import OffsetCommitKey
from tidelog.protocol.messages.offset_commit_request import OffsetCommitRequest
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue
from tidelog.protocol.messages.offset_delete_request import OffsetDeleteRequest
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup
from tidelog.protocol.messages.offset_fetch_response import OffsetFetchResponseGroup
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest
from tidelog.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from tidelog.protocol.schema import Message


class GroupShard:
    """A `CoordinatorShard`."""

    def __init__(self, settings: GroupSettings, topics: Topics | None = None) -> None:
        self._state = GroupTable(settings, TopicTable() if topics is None else topics)
        # What the last decision began with, and the timer that asked for it.
        self._savepoint = GroupSavepoint(self._state)
        self._firing: tuple[Timers[Any], GroupTimer | MemberTimer] | None = None

    @property
    def groups(self) -> Collection[ClassicGroup]:
        """The classic ones, to look at, not to touch."""
        return self._state.groups.values()

    @property
    def consumer_groups(self) -> Collection[ConsumerGroup]:
        """To look at, not to touch."""
        return self._state.consumer.groups.values()

    def group_count(self) -> int:
        return len(self._state.groups) + len(self._state.consumer.groups)

    def check_invariants(self) -> None:
        invariants.check(self._state)

    def size(self) -> str:
        return f"{self.group_count()} groups and {self._state.offsets.committed.count()} offsets"

    # ------------------------------------------------------------------------------------------------------------
    # Decisions.

    def decide(self, request: ShardRequest, now: Moment) -> ShardDecision:
        self._begin(_groups_of(request.message))
        draft = ShardDraft(now)
        state = self._state
        match request.message:
            case HeartbeatRequest() as message:
                presence.heartbeat(state, request, message, draft)
            case ConsumerGroupHeartbeatRequest() as message:
                self._hear_of_consumer(request, message, draft)
            case OffsetCommitRequest() as message:
                offset_commit.commit(state, request, message, draft)
            case JoinGroupRequest() as message:
                join(state, request, message, draft)
            case SyncGroupRequest() as message:
                sync(state, request, message, draft)
            case LeaveGroupRequest() as message:
                presence.leave(state, request, message, draft)
            case TxnOffsetCommitRequest() as message:
                offset_commit.commit_in_transaction(state, request, message, draft)
            case OffsetDeleteRequest() as message:
                offset_commit.delete_offsets(state, request, message, draft)
            case DeleteGroupsRequest() as message:
                listing.delete_groups(state, request, message, draft)
            case message:
                raise TypeError(f"{type(message).__name__} is not a request to the group coordinator")
        return draft.finish()

    def next_deadline(self) -> float | None:
        deadlines = (self._state.timers.next_deadline(), self._state.consumer.timers.next_deadline())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def on_time(self, now: Moment) -> ShardDecision:
        """What the earliest timer that is due asks for. Others stay due and are asked for again at once, so that a
        decision that fails holds up none of them."""
        self._begin()
        draft = ShardDraft(now)
        state = self._state
        timer = state.timers.take_due(now.monotonic_ms)
        if timer is not None:
            self._firing = state.timers, timer
            self._fire(timer, draft)
            return draft.finish()
        member_timer = state.consumer.timers.take_due(now.monotonic_ms)
        if member_timer is not None:
            self._firing = state.consumer.timers, member_timer
            self._savepoint.cover(member_timer.group_id)
            on_member_timer(state.consumer, member_timer, draft)
            migration.downgrade_if_due(state, member_timer.group_id, draft)
        return draft.finish()

    def roll_back(self, now: Moment) -> None:
        self._savepoint.roll_back()
        if self._firing is not None:
            timers, timer = self._firing
            timers.schedule(timer, now.monotonic_ms + FAILED_TIMER_RETRY_MS)

    def on_loaded(self, now: Moment) -> ShardDecision:
        """From now on members are expected to be heard from."""
        state = self._state
        self._begin(state.groups)
        draft = ShardDraft(now)
        for group in state.groups.values():
            for member in group.members.values():
                state.renew_session(group, member, now)
            # The limit may have been lowered: a rebalance lets members commit before the last ones are left out.
            if group.was_downgraded or len(group.members) > state.settings.group_max_size:
                prepare_rebalance(state, group, draft)
        state.consumer.on_loaded(now)
        offset_expiry.schedule_expiry(state, now)
        return draft.finish()

    def on_partitions_deleted(self, partitions: Collection[TopicPartition], now: Moment) -> ShardDecision:
        self._begin()
        draft = ShardDraft(now)
        offset_expiry.delete_offsets_of(self._state, partitions, draft)
        return draft.finish()

    def reconfigure(self, settings: GroupSettings) -> None:
        """Some properties can change while the broker runs."""
        self._state.settings = settings
        self._state.consumer.settings = settings.consumer

    def on_topics_changed(self, topics: Topics) -> None:
        """Members learn of it with their next heartbeats."""
        self._state.consumer.topics = topics

    def _hear_of_consumer(
        self, request: ShardRequest, message: ConsumerGroupHeartbeatRequest, draft: ShardDraft
    ) -> None:
        state = self._state
        classic = None if message.group_id in state.consumer.groups else state.groups.get(message.group_id)
        if classic is None:
            heartbeat(state.consumer, request, message, draft)
            migration.downgrade_if_due(state, message.group_id, draft)
        elif message.member_epoch != JOIN_EPOCH:
            draft.answer(request.token, refused(no_such_group(message.group_id)))
        elif classic.state is GroupState.EMPTY:
            heartbeat(state.consumer, request, message, draft)
            if draft.records:
                # The id is free for a group of the other kind. Committed offsets stay.
                draft.records.insert(0, group_tombstone(message.group_id))
        else:
            self._upgrade(classic, request, message, draft)

    def _upgrade(
        self, classic: ClassicGroup, request: ShardRequest, message: ConsumerGroupHeartbeatRequest, draft: ShardDraft
    ) -> None:
        state = self._state
        converted = migration.as_consumer_group(state, classic)
        if isinstance(converted, GroupRefusal):
            draft.answer(request.token, refused(converted))
            return
        # Made first: the member that joins is not one of those that are converted.
        conversion = migration.upgrade_records(converted, draft.now)
        heartbeat(state.consumer, request, message, draft, converted)
        if draft.records:
            draft.records[:0] = conversion
            migration.send_back_to_join(state, classic, converted, draft)

    def _begin(self, group_ids: Iterable[str] = ()) -> None:
        """Every decision starts here, so that it can be rolled back."""
        self._savepoint = GroupSavepoint(self._state)
        self._firing = None
        for group_id in group_ids:
            self._savepoint.cover(group_id)

    def _fire(self, timer: GroupTimer, draft: ShardDraft) -> None:
        if isinstance(timer, OffsetExpiryTimer):
            self._savepoint.cover_expiry()
            offset_expiry.on_expiry_timer(self._state, draft)
            return
        self._savepoint.cover(timer.group_id)
        group = self._state.groups.get(timer.group_id)
        if group is None:
            return
        match timer:
            case SessionTimer():
                presence.on_session_timer(self._state, group, timer.member_id, draft)
            case JoinTimer():
                on_join_timer(self._state, group, draft)
            case SyncTimer():
                on_sync_timer(self._state, group, timer.generation, draft)

    # ------------------------------------------------------------------------------------------------------------
    # Replay: the only way in which durable state changes.

    def replay(self, record: CoordinatorRecord, *, offset: int, producer_id: int | None = None) -> None:
        match record.key, record.value:
            case OffsetCommitKey() as key, OffsetCommitValue() as value:
                if key.group not in self._state.groups and key.group not in self._state.consumer.groups:
                    # Somebody who keeps offsets here without being a member of anything.
                    self._state.groups[key.group] = ClassicGroup(key.group, since_ms=value.commit_timestamp)
                committed = committed_offset(value, offset)
                self._state.offsets.replay_commit(key.group, key.topic, key.partition, committed, producer_id)
            case OffsetCommitKey() as key, None:
                self._state.offsets.replay_tombstone(key.group, key.topic, key.partition)
            case GroupMetadataKey() as key, GroupMetadataValue() as value:
                group = self._state.groups.get(key.group)
                if group is None:
                    group = self._state.downgraded.pop(key.group, None)
                    group = group or ClassicGroup(key.group, since_ms=value.current_state_timestamp)
                    self._state.groups[key.group] = group
                group.restore(value)
                # The last word counts, should both kinds be in the log.
                self._state.consumer.groups.pop(key.group, None)
            case GroupMetadataKey() as key, None:
                self._state.groups.pop(key.group, None)
            case _, value:
                group_id = self._state.consumer.replay(record)
                if value is not None:
                    # At most a group that only stood for offsets: nothing but their records spoke of it.
                    self._state.groups.pop(group_id, None)

    def replay_marker(self, producer_id: int, *, commit: bool) -> None:
        """The transaction has ended: its offsets count from now on, or never did."""
        self._state.offsets.replay_marker(producer_id, commit=commit)

    # ------------------------------------------------------------------------------------------------------------
    # Questions, which change nothing.

    def fetch_offsets(self, request: OffsetFetchRequestGroup, *, require_stable: bool) -> OffsetFetchResponseGroup:
        return offset_fetch.fetch_offsets(self._state, request, require_stable=require_stable)

    def list_groups(self, states: Sequence[str] = (), types: Sequence[str] = ()) -> list[ListedGroup]:
        return listing.list_groups(self._state, states, types)

    def describe_group(self, group_id: str, version: int) -> DescribedGroup:
        return listing.describe_group(self._state, group_id, version)

    def describe_consumer_group(self, group_id: str) -> DescribedConsumerGroup:
        return listing.describe_consumer_group(self._state, group_id)


def _groups_of(message: Message) -> Iterable[str]:
    """The groups that a decision about this request may touch."""
    if isinstance(message, DeleteGroupsRequest):
        return message.groups_names
    return (getattr(message, "group_id", ""),)
