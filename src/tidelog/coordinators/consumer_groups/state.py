"""The consumer groups of a shard: what the log says about them, their timers, and what is known of topics."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from tidelog.coordinators.consumer_groups import records
from tidelog.coordinators.consumer_groups.group import INITIAL_EPOCH, ConsumerGroup
from tidelog.coordinators.consumer_groups.member import ConsumerMember
from tidelog.coordinators.consumer_groups.settings import ConsumerGroupSettings
from tidelog.coordinators.consumer_groups.states import MemberState
from tidelog.coordinators.consumer_groups.subscriptions import Regexes
from tidelog.coordinators.consumer_groups.topics import Topics
from tidelog.coordinators.decision import CoordinatorRecord, Moment
from tidelog.coordinators.timers import Timers
from tidelog.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from tidelog.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from tidelog.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from tidelog.protocol.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from tidelog.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from tidelog.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from tidelog.protocol.messages.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from tidelog.protocol.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from tidelog.protocol.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from tidelog.protocol.messages.consumer_group_target_assignment_member_key import ConsumerGroupTargetAssignmentMemberKey
from tidelog.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
)
from tidelog.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from tidelog.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)


class Awaited(IntEnum):
    """What a member must do to stay in the group."""

    HEARTBEAT = 0
    REVOCATION = 1
    # Only of members that speak the classic protocol.
    JOIN = 2
    SYNC = 3


class MemberTimer(NamedTuple):
    """The member is removed unless it has done what is awaited. One class: two of equal tuples would be equal."""

    group_id: str
    member_id: str
    awaited: Awaited


class ConsumerGroups:
    """Mutable; what is durable in it changes by `replay` alone."""

    def __init__(self, settings: ConsumerGroupSettings, topics: Topics) -> None:
        self.settings = settings
        self.topics = topics
        self.groups: dict[str, ConsumerGroup] = {}
        self.timers: Timers[MemberTimer] = Timers()
        self.regexes = Regexes()

    def renew_session(self, group_id: str, member: ConsumerMember, now: Moment) -> None:
        classic = member.profile.classic
        own = self.settings.of(group_id).group_consumer_session_timeout_ms
        timeout_ms = own if classic is None else classic.session_timeout_ms
        self.expect(Awaited.HEARTBEAT, group_id, member.member_id, timeout_ms, now)

    def expect(self, awaited: Awaited, group_id: str, member_id: str, timeout_ms: int, now: Moment) -> None:
        self.timers.schedule(MemberTimer(group_id, member_id, awaited), now.monotonic_ms + timeout_ms)

    def on_loaded(self, now: Moment) -> None:
        """The log has been replayed: from now on members are expected to be heard from."""
        for group in self.groups.values():
            for member in group.members.values():
                self.renew_session(group.group_id, member, now)
                if member.current.state is MemberState.UNREVOKED_PARTITIONS and not member.is_classic:
                    timeout_ms = member.profile.rebalance_timeout_ms
                    self.expect(Awaited.REVOCATION, group.group_id, member.member_id, timeout_ms, now)

    # ------------------------------------------------------------------------------------------------------------
    # Replay. Compaction may have taken away what came before a record, so each stands for itself.

    def replay(self, record: CoordinatorRecord) -> str:
        """The id of the group that the record is about."""
        match record.key:
            case ConsumerGroupMetadataKey() as key:
                self._replay_group(key.group_id, record)
                return key.group_id
            case ConsumerGroupTargetAssignmentMetadataKey() as key:
                self._replay_target_epoch(key.group_id, record)
                return key.group_id
            case ConsumerGroupPartitionMetadataKey() as key:
                if key.group_id in self.groups or record.value is not None:
                    self._group(key.group_id).has_partition_metadata_record = record.value is not None
                return key.group_id
            case ConsumerGroupRegularExpressionKey() as key:
                self._replay_regex(key, record)
                return key.group_id
            case ConsumerGroupMemberMetadataKey() as key:
                self._replay_profile(key.group_id, key.member_id, record)
                return key.group_id
            case ConsumerGroupTargetAssignmentMemberKey() as key:
                self._replay_target(key.group_id, key.member_id, record)
                return key.group_id
            case ConsumerGroupCurrentMemberAssignmentKey() as key:
                self._replay_current(key.group_id, key.member_id, record)
                return key.group_id
            case key:
                raise TypeError(f"{type(key).__name__} is not a key of __consumer_offsets")

    def _group(self, group_id: str) -> ConsumerGroup:
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = ConsumerGroup(group_id)
        return group

    def _replay_group(self, group_id: str, record: CoordinatorRecord) -> None:
        if record.value is None:
            self.groups.pop(group_id, None)
            return
        assert isinstance(record.value, ConsumerGroupMetadataValue)
        group = self._group(group_id)
        group.epoch = record.value.epoch
        group.metadata_hash = record.value.metadata_hash

    def _replay_target_epoch(self, group_id: str, record: CoordinatorRecord) -> None:
        if record.value is None:
            group = self.groups.get(group_id)
            if group is not None:
                group.assignment_epoch = INITIAL_EPOCH
                group.assignment_timestamp_ms = 0
            return
        assert isinstance(record.value, ConsumerGroupTargetAssignmentMetadataValue)
        group = self._group(group_id)
        group.assignment_epoch = record.value.assignment_epoch
        group.assignment_timestamp_ms = record.value.assignment_timestamp

    def _replay_regex(self, key: ConsumerGroupRegularExpressionKey, record: CoordinatorRecord) -> None:
        if record.value is None:
            group = self.groups.get(key.group_id)
            if group is not None:
                group.resolved.pop(key.regular_expression, None)
            return
        assert isinstance(record.value, ConsumerGroupRegularExpressionValue)
        self._group(key.group_id).resolved[key.regular_expression] = records.read_regex(record.value)

    def _replay_profile(self, group_id: str, member_id: str, record: CoordinatorRecord) -> None:
        if record.value is None:
            group = self.groups.get(group_id)
            if group is not None:
                group.remove_member(member_id)
            for awaited in Awaited:
                self.timers.cancel(MemberTimer(group_id, member_id, awaited))
            return
        assert isinstance(record.value, ConsumerGroupMemberMetadataValue)
        self._group(group_id).put_profile(member_id, records.read_profile(record.value))

    def _replay_target(self, group_id: str, member_id: str, record: CoordinatorRecord) -> None:
        if record.value is None:
            group = self.groups.get(group_id)
            if group is not None:
                group.targets.pop(member_id, None)
            return
        assert isinstance(record.value, ConsumerGroupTargetAssignmentMemberValue)
        self._group(group_id).targets[member_id] = records.read_target(record.value)

    def _replay_current(self, group_id: str, member_id: str, record: CoordinatorRecord) -> None:
        if record.value is None:
            group = self.groups.get(group_id)
            if group is not None:
                group.remove_current(member_id)
            return
        assert isinstance(record.value, ConsumerGroupCurrentMemberAssignmentValue)
        current = records.read_current(record.value)
        self._group(group_id).put_current(member_id, current)
        if current.state is not MemberState.UNREVOKED_PARTITIONS:
            self.timers.cancel(MemberTimer(group_id, member_id, Awaited.REVOCATION))
