"""What must hold of consumer groups between two decisions."""

from __future__ import annotations

from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import ConsumerMember
from tidelog.coordinators.consumer_groups.state import Awaited, ConsumerGroups, MemberTimer
from tidelog.coordinators.consumer_groups.states import MemberState
from tidelog.model.invariants import require


def check(groups: ConsumerGroups, *, is_loaded: bool) -> None:
    groups.timers.check_invariants()
    for group_id, group in groups.groups.items():
        require(group.group_id == group_id, group_id, "is under its own name")
        _check_group(group)
        for member in group.members.values():
            _check_member(group, member)
            if is_loaded:
                _check_timers(groups, group_id, member)


def _check_group(group: ConsumerGroup) -> None:
    name = f"consumer group {group.group_id!r}"
    members = group.members
    require(
        group.assignment_epoch <= group.epoch,
        name,
        "its target is not newer than itself",
        target=group.assignment_epoch,
        epoch=group.epoch,
    )
    static = {each.profile.instance_id: key for key, each in members.items() if each.profile.instance_id is not None}
    require(group.static_members == static, name, "knows its static members", known=group.static_members)
    classic = sum(each.is_classic for each in members.values())
    require(group.classic_member_count == classic, name, "counts classic members", counted=group.classic_member_count)
    owned = [partition for each in members.values() for partition in each.current.owned()]
    require(len(owned) == len(set(owned)), name, "a partition has one owner", owners=group.owners)
    require(group.owners.keys() == set(owned), name, "owners are those of its members", owners=group.owners)
    require(group.targets.keys() <= members.keys(), name, "targets are its members'", targets=[*group.targets])
    targets = [partition for target in group.targets.values() for partition in target]
    require(len(targets) == len(set(targets)), name, "a partition is meant for one member", targets=group.targets)


def _check_member(group: ConsumerGroup, member: ConsumerMember) -> None:
    name = f"member {member.member_id!r} of consumer group {group.group_id!r}"
    current = member.current
    target = group.assignment_epoch
    require(member.epoch <= target, name, "is not ahead of the target", member=member.epoch, target=target)
    for partition in current.owned():
        require(group.owners.get(partition) == member.member_id, name, "owns what it has", partition=partition)
    is_revoking = current.state is MemberState.UNREVOKED_PARTITIONS
    require(is_revoking == bool(current.pending_revocation), name, "gives up what it must", current=current)


def _check_timers(groups: ConsumerGroups, group_id: str, member: ConsumerMember) -> None:
    name = f"member {member.member_id!r} of consumer group {group_id!r}"
    awaited = [Awaited.HEARTBEAT]
    if member.current.state is MemberState.UNREVOKED_PARTITIONS and not member.is_classic:
        awaited.append(Awaited.REVOCATION)
    for each in awaited:
        has_timer = MemberTimer(group_id, member.member_id, each) in groups.timers
        require(has_timer, name, "must be heard from in time", awaited=each.name)
