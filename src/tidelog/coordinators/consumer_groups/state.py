"""The consumer groups of a shard: what the log says about them, their timers, and what is known of topics."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

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
        key: Any = record.key
        group_id: str = key.group_id
        group = self.groups.get(group_id)
        if group is None:
            # One that nobody sees, unless there is something to say about it.
            group = ConsumerGroup(group_id)
            if record.value is not None:
                self.groups[group_id] = group
        match record.key, record.value:
            case ConsumerGroupMetadataKey(), ConsumerGroupMetadataValue() as value:
                group.epoch = value.epoch
                group.metadata_hash = value.metadata_hash
            case ConsumerGroupMetadataKey(), None:
                self.groups.pop(group_id, None)
            case ConsumerGroupTargetAssignmentMetadataKey(), ConsumerGroupTargetAssignmentMetadataValue() as value:
                group.assignment_epoch = value.assignment_epoch
                group.assignment_timestamp_ms = value.assignment_timestamp
            case ConsumerGroupTargetAssignmentMetadataKey(), None:
                group.assignment_epoch = INITIAL_EPOCH
                group.assignment_timestamp_ms = 0
            case ConsumerGroupPartitionMetadataKey(), value:
                group.has_partition_metadata_record = value is not None
            case ConsumerGroupRegularExpressionKey() as key, ConsumerGroupRegularExpressionValue() as value:
                group.resolved[key.regular_expression] = records.read_regex(value)
            case ConsumerGroupRegularExpressionKey() as key, None:
                group.resolved.pop(key.regular_expression, None)
            case ConsumerGroupMemberMetadataKey() as key, ConsumerGroupMemberMetadataValue() as value:
                group.put_profile(key.member_id, records.read_profile(value))
            case ConsumerGroupMemberMetadataKey() as key, None:
                group.remove_member(key.member_id)
                for awaited in Awaited:
                    self.timers.cancel(MemberTimer(group_id, key.member_id, awaited))
            case ConsumerGroupTargetAssignmentMemberKey() as key, ConsumerGroupTargetAssignmentMemberValue() as value:
                group.targets[key.member_id] = records.read_target(value)
            case ConsumerGroupTargetAssignmentMemberKey() as key, None:
                group.targets.pop(key.member_id, None)
            case ConsumerGroupCurrentMemberAssignmentKey() as key, ConsumerGroupCurrentMemberAssignmentValue() as value:
                current = records.read_current(value)
                group.put_current(key.member_id, current)
                if current.state is not MemberState.UNREVOKED_PARTITIONS:
                    self.timers.cancel(MemberTimer(group_id, key.member_id, Awaited.REVOCATION))
            case ConsumerGroupCurrentMemberAssignmentKey() as key, None:
                group.remove_current(key.member_id)
            case key, _:
                raise TypeError(f"{type(key).__name__} is not a key of __consumer_offsets")
        return group_id
