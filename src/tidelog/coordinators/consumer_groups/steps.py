"""What follows when a member has spoken: the group follows it, and it follows the target.

1. What the member says about itself is noted.
2. If that, or a topic, changes what the group is subscribed to, the group's epoch grows.
3. If the group's epoch is ahead of the target assignment, another one is made.
4. The member takes one step towards the target.

Members of both protocols come here: by ConsumerGroupHeartbeat (`heartbeat`), and by JoinGroup
(`coordinators.groups.classic_members`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from tidelog.coordinators.consumer_groups import records
from tidelog.coordinators.consumer_groups.group import ConsumerGroup, ResolvedRegex, Target
from tidelog.coordinators.consumer_groups.member import JOIN_EPOCH, ConsumerMember, CurrentAssignment, Profile
from tidelog.coordinators.consumer_groups.reconciliation import Goal, reconcile
from tidelog.coordinators.consumer_groups.state import Awaited, ConsumerGroups
from tidelog.coordinators.consumer_groups.states import MemberState
from tidelog.coordinators.consumer_groups.subscriptions import names_of, resolve_all, subscribed_names
from tidelog.coordinators.consumer_groups.target import compute_targets, may_assign, topic_ids
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition, metadata_hash
from tidelog.coordinators.decision import ShardDraft
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Who is speaking: a member as it was, and the id of the static member whose place it takes."""

    member: ConsumerMember
    replaces: str | None = None
    is_new: bool = False

    @property
    def known_as(self) -> Collection[str]:
        return (self.member.member_id,) if self.replaces is None else (self.member.member_id, self.replaces)


def taking_the_place_of(static: ConsumerMember, member_id: str) -> Arrival:
    """A static member under another id: begins in epoch 0 with what its old self had."""
    current = replace(static.current, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
    member = ConsumerMember(member_id=member_id, profile=static.profile, current=current)
    return Arrival(member=member, replaces=static.member_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What the group is subscribed to from now on, and in which epoch."""

    epoch: int
    members: Mapping[str, ConsumerMember]
    resolved: Mapping[str, ResolvedRegex]


def advance(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    arrival: Arrival,
    profile: Profile,
    reported: Collection[TopicIdPartition] | None,
    draft: ShardDraft,
    *,
    sees: Callable[[str], bool] | None,
) -> CurrentAssignment:
    """Let the group follow what the member says about itself, and the member the target. What the member owns then.

    `reported` is what the member says it owns, None if it says nothing. `sees` is whether it may know of a topic.
    """
    before = arrival.member
    member = before if profile == before.profile else replace(before, profile=profile)
    _write_member(group, arrival, member, draft)
    plan = _follow_subscriptions(groups, group, arrival, member, draft, sees)
    goal = _follow_group(groups, group, arrival, member, plan, draft)
    current = reconcile(
        group,
        member.current,
        goal,
        known_as=arrival.known_as,
        reported=reported,
        subscription_changed=_subscription(profile) != _subscription(before.profile),
    )
    if current != before.current or arrival.is_new or arrival.replaces is not None:
        draft.append(records.current_record(group.group_id, member.member_id, current))
        if current.state is MemberState.UNREVOKED_PARTITIONS and not member.is_classic:
            # Classic members have to join and to sync in time instead.
            groups.expect(Awaited.REVOCATION, group.group_id, member.member_id, profile.rebalance_timeout_ms, draft.now)
    groups.renew_session(group.group_id, member, draft.now)
    return current


# ----------------------------------------------------------------------------------------------------------------
# 1. The member.


def _write_member(group: ConsumerGroup, arrival: Arrival, member: ConsumerMember, draft: ShardDraft) -> None:
    if arrival.replaces is not None:
        draft.records.extend(records.member_tombstones(group.group_id, arrival.replaces))
    if arrival.is_new or arrival.replaces is not None or member.profile != arrival.member.profile:
        draft.append(records.profile_record(group.group_id, member.member_id, member.profile))
    if arrival.replaces is not None:
        target = group.target_of(arrival.replaces)
        draft.append(records.target_record(group.group_id, member.member_id, target))


# ----------------------------------------------------------------------------------------------------------------
# 2. The group.


def _subscription(profile: Profile) -> tuple[frozenset[str], str | None]:
    return profile.topic_names, profile.topic_regex


def follows_topics(
    groups: ConsumerGroups, group: ConsumerGroup, draft: ShardDraft, sees: Callable[[str], bool] | None
) -> bool:
    """Whether the group's subscriptions are known to agree with the topics, and with what its members may know."""
    if group.checked_version != groups.topics.version:
        return False
    # Nobody says when a member may know of other topics than before.
    refreshed_ms = draft.now.monotonic_ms - group.resolved_ms
    return sees is None or not group.resolved or refreshed_ms < groups.settings.group_consumer_regex_refresh_interval_ms


def _follow_subscriptions(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    arrival: Arrival,
    member: ConsumerMember,
    draft: ShardDraft,
    sees: Callable[[str], bool] | None,
) -> _Plan:
    subscription_changed = _subscription(member.profile) != _subscription(arrival.member.profile)
    is_checked = follows_topics(groups, group, draft, sees)
    members = group.members
    if member is not group.members.get(member.member_id):
        members = {key: each for key, each in members.items() if key != arrival.replaces}
        members[member.member_id] = member
    if is_checked and not subscription_changed:
        return _Plan(epoch=group.epoch, members=members, resolved=group.resolved)
    resolved = resolve_all(group, members.values(), groups.regexes, groups.topics, draft.now.wall_ms, sees=sees)
    group.resolved_ms = draft.now.monotonic_ms
    for regex in sorted(group.resolved.keys() - resolved.keys()):
        draft.append(records.regex_tombstone(group.group_id, regex))
    changed = {regex: found for regex, found in resolved.items() if found is not group.resolved.get(regex)}
    for regex, found in changed.items():
        draft.append(records.regex_record(group.group_id, regex, found))
    names = frozenset[str]().union(*subscribed_names(members, resolved).values())
    found_hash = metadata_hash(names, groups.topics)
    if not (subscription_changed or changed or found_hash != group.metadata_hash):
        group.checked_version = groups.topics.version
        return _Plan(epoch=group.epoch, members=members, resolved=resolved)
    # The version is not noted yet: should the log not take the records, the next heartbeat has to come here again.
    epoch = group.epoch + 1
    draft.append(records.group_record(group.group_id, epoch, found_hash))
    if group.has_partition_metadata_record:
        draft.append(records.partition_metadata_tombstone(group.group_id))
    return _Plan(epoch=epoch, members=members, resolved=resolved)


# ----------------------------------------------------------------------------------------------------------------
# 3. The target.


def _follow_group(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    arrival: Arrival,
    member: ConsumerMember,
    plan: _Plan,
    draft: ShardDraft,
) -> Goal:
    subscribed = topic_ids(names_of(member, plan.resolved), groups.topics)
    old = group.target_of(arrival.replaces or member.member_id)
    if plan.epoch <= group.assignment_epoch or not may_assign(
        group, groups.settings.of(group.group_id), draft.now.wall_ms
    ):
        return Goal(epoch=group.assignment_epoch, target=old, subscribed=subscribed)
    targets: dict[str, Target] = dict(group.targets)
    if arrival.replaces is not None:
        targets[member.member_id] = targets.pop(arrival.replaces, frozenset())
    found = compute_targets(
        plan.members,
        subscribed_names(plan.members, plan.resolved),
        targets,
        topics=groups.topics,
        settings=groups.settings,
    )
    for member_id, target in found.items():
        if target != targets.get(member_id):
            draft.append(records.target_record(group.group_id, member_id, target))
    draft.append(records.target_epoch_record(group.group_id, plan.epoch, draft.now.wall_ms))
    return Goal(epoch=plan.epoch, target=found[member.member_id], subscribed=subscribed)
