"""A group with members changes its protocol (KIP-848): upgrade to the consumer protocol, downgrade to the classic one.

Upgrade: the first member of the consumer protocol joins a classic group. All members keep what they own, and the
generation becomes the group's epoch. From then on the coordinator assigns partitions, to classic members as well
(`classic_members`).

Downgrade: the last member of the consumer protocol goes and only classic ones are left. In the same decision they
become a classic group and begin to rebalance. Its record names no leader, which says to a coordinator that reads it
from the log that nobody has shared out partitions among all members yet.

If that member was static and a classic one has taken its place, with the same subscription, then everybody has what it
should have: the classic group is stable from the beginning, and its record names a leader. Apache Kafka does the same,
and also while members are still on their way to what they should have. Here they rebalance then, because a partition
would be given to its next owner before the last one has let go of it.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.coordinators.consumer_groups import records
from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import (
    ClassicMembership,
    ConsumerMember,
    CurrentAssignment,
    Profile,
)
from tidelog.coordinators.consumer_groups.requests import GroupRefusal
from tidelog.coordinators.consumer_groups.state import ConsumerGroups
from tidelog.coordinators.consumer_groups.states import ConsumerGroupState
from tidelog.coordinators.consumer_groups.subscriptions import subscribed_names
from tidelog.coordinators.consumer_groups.topics import Topics, metadata_hash
from tidelog.coordinators.decision import Answer, CoordinatorRecord, Moment, ShardDraft
from tidelog.coordinators.groups.embedded_protocol import (
    MalformedProtocol,
    partition_ids,
    read_assignment,
    read_subscription,
    write_assignment,
)
from tidelog.coordinators.groups.group import CONSUMER_PROTOCOL_TYPE, ClassicGroup, record_value
from tidelog.coordinators.groups.members import Member, select_protocol
from tidelog.coordinators.groups.rebalance import prepare_rebalance
from tidelog.coordinators.groups.records import group_record, group_tombstone
from tidelog.coordinators.groups.replies import refused_join
from tidelog.coordinators.groups.state import GroupTable
from tidelog.coordinators.groups.states import GroupState
from tidelog.coordinators.savepoint import copied
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from tidelog.protocol.messages.join_group_response import JoinGroupResponse
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse
from tidelog.protocol.schema import replaced

# ----------------------------------------------------------------------------------------------------------------
# Upgrade.


def as_consumer_group(state: GroupTable, group: ClassicGroup) -> ConsumerGroup | GroupRefusal:
    """What the group becomes if a member of the consumer protocol is taken in. Changes nothing."""
    settings = state.settings.consumer
    if not settings.group_consumer_migration_policy.may_upgrade:
        policy = settings.group_consumer_migration_policy.value
        return _refusal(group, f"group.consumer.migration.policy is {policy}")
    if not group.uses_consumer_protocol:
        return _refusal(group, f"its members are no consumers: their protocol type is {group.protocol_type!r}")
    if len(group.members) > settings.group_consumer_max_size:
        return _refusal(group, f"its {len(group.members)} members are more than group.consumer.max.size")
    converted = ConsumerGroup(group.group_id)
    converted.epoch = converted.assignment_epoch = group.generation
    try:
        for member in group.members.values():
            _convert_member(converted, group, member, state.consumer.topics)
    except MalformedProtocol as problem:
        return _refusal(group, f"a member's subscription or assignment cannot be read: {problem}")
    except _CustomAssignor:
        return _refusal(
            group, "its assignor keeps data of its own, which would be lost; switch to another assignor first"
        )
    # In the middle of a rebalance nobody has shared out partitions among all members yet. Then the group seems to know
    # no topics, so that the first step of a member leads to an assignment, also if it brings no news: a static member
    # that takes the place of its old self reads what that one has read.
    if group.state is GroupState.STABLE:
        names = frozenset[str]().union(*subscribed_names(converted.members, {}).values())
        converted.metadata_hash = metadata_hash(names, state.consumer.topics)
    return converted


def upgrade_records(group: ConsumerGroup, now: Moment) -> list[CoordinatorRecord]:
    """The classic group ends, and the converted one begins."""
    group_id = group.group_id
    members = group.members.values()
    return [
        group_tombstone(group_id),
        *(records.profile_record(group_id, member.member_id, member.profile) for member in members),
        records.group_record(group_id, group.epoch, group.metadata_hash),
        *(records.target_record(group_id, member_id, target) for member_id, target in group.targets.items()),
        records.target_epoch_record(group_id, group.assignment_epoch, now.wall_ms),
        *(records.current_record(group_id, member.member_id, member.current) for member in members),
    ]


def send_back_to_join(state: GroupTable, group: ClassicGroup, converted: ConsumerGroup, draft: ShardDraft) -> None:
    """Whoever waits for the rest of the classic group joins the converted one instead."""
    for member_id, token in group.awaiting_join.items():
        draft.answer(token, refused_join(member_id, ErrorCode.REBALANCE_IN_PROGRESS))
    for token in group.awaiting_sync.values():
        draft.answer(token, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    for member in converted.members.values():
        state.consumer.renew_session(group.group_id, member, draft.now)


class _CustomAssignor(Exception):
    """An assignment carries data that only the members' own assignor understands."""


def _convert_member(converted: ConsumerGroup, group: ClassicGroup, member: Member, topics: Topics) -> None:
    """It stays where it is, until its next join shows what it still owns."""
    # In the first rebalance of a group no protocol has been chosen yet; all carry the same subscription.
    subscription = read_subscription(member.metadata_for(group.protocol_name) or member.protocols[0].metadata)
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        raise _CustomAssignor
    named = ((topic.topic, topic.partitions) for topic in assignment.assigned_partitions)
    # A partition has one owner at most, whatever the group's leader has made of it.
    owned = frozenset(each for each in partition_ids(named, topics) if each not in converted.owners)
    profile = Profile(
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=frozenset(subscription.topics),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMembership(session_timeout_ms=member.session_timeout_ms, protocols=member.protocols),
    )
    current = CurrentAssignment(
        epoch=group.generation, previous_epoch=group.generation, assigned=dict.fromkeys(owned, group.generation)
    )
    converted.put_profile(member.member_id, profile)
    converted.put_current(member.member_id, current)
    converted.targets[member.member_id] = owned


def _refusal(group: ClassicGroup, why: str) -> GroupRefusal:
    text = f"group {group.group_id} is a classic group and cannot change to the consumer protocol now: {why}"
    return GroupRefusal(ErrorCode.GROUP_ID_NOT_FOUND, text)


# ----------------------------------------------------------------------------------------------------------------
# Downgrade.


def downgrade_if_due(state: GroupTable, group_id: str, draft: ShardDraft) -> None:
    """If the decision so far lets no member of the consumer protocol stay, the downgrade becomes a part of it."""
    group = state.consumer.groups.get(group_id)
    if group is None or not any(isinstance(record.key, ConsumerGroupMemberMetadataKey) for record in draft.records):
        return
    afterwards = ConsumerGroups(state.consumer.settings, state.consumer.topics)
    remaining = afterwards.groups[group_id] = copied(group)
    for record in draft.records:
        afterwards.replay(record)
    may_downgrade = state.settings.consumer.group_consumer_migration_policy.may_downgrade
    if remaining.only_classic_members and may_downgrade and len(remaining.members) <= state.settings.group_max_size:
        stays_stable = remaining.epoch == group.epoch and remaining.state is ConsumerGroupState.STABLE
        _downgrade(state, remaining, draft, stays_stable=stays_stable)


def _downgrade(state: GroupTable, group: ConsumerGroup, draft: ShardDraft, *, stays_stable: bool) -> None:
    classic = ClassicGroup(group.group_id, since_ms=draft.now.wall_ms)
    for member in group.members.values():
        classic.add(_classic_member(member), CONSUMER_PROTOCOL_TYPE)
    # Of those members that are where they should be: they can rejoin without giving up anything.
    classic.generation = group.assignment_epoch
    classic.protocol_name = select_protocol(classic.members.values())
    members = [
        replace(
            member, assignment=_assignment_of(group.members[member.member_id], member, classic, state.consumer.topics)
        )
        for member in classic.members.values()
    ]
    draft.records.extend(records.group_tombstones(group))
    leader = members[0].member_id if stays_stable else None
    value = record_value(classic, members, leader=leader, since_ms=draft.now.wall_ms)
    draft.append(group_record(group.group_id, value))
    # The record names one protocol of each member, and nothing of the rebalance; replay finds the rest here.
    state.downgraded[group.group_id] = classic
    classic.restore(value)
    for each in classic.members.values():
        state.renew_session(classic, each, draft.now)
    _tell_protocol(classic, draft)
    if not stays_stable:
        prepare_rebalance(state, classic, draft)


def _tell_protocol(classic: ClassicGroup, draft: ShardDraft) -> None:
    """Who joins has been told its own first protocol, as in every group of the consumer protocol. What it names in
    SyncGroup must be that of the group that it is in now."""
    draft.answers = [
        Answer(token, replaced(reply, protocol_name=classic.protocol_name))
        if isinstance(reply, JoinGroupResponse) and not reply.error_code
        else Answer(token, reply)
        for token, reply in draft.answers
    ]


def _classic_member(member: ConsumerMember) -> Member:
    profile = member.profile
    assert profile.classic is not None
    return Member(
        member_id=member.member_id,
        group_instance_id=profile.instance_id,
        client_id=profile.client_id,
        client_host=profile.client_host,
        session_timeout_ms=profile.classic.session_timeout_ms,
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
        protocols=profile.classic.protocols,
    )


def _assignment_of(consumer: ConsumerMember, member: Member, group: ClassicGroup, topics: Topics) -> bytes:
    metadata = member.metadata_for(group.protocol_name) or member.protocols[0].metadata
    return write_assignment(consumer.current.assigned, topics, metadata)
