"""One step of a member towards its target: give up first, then take what is free.

    Stable                 the epoch of the target has come: look what is to give up and what to take
    UnrevokedPartitions    wait until the member no longer reports what it must give up, then go on as above
    UnreleasedPartitions   take what others have released meanwhile

A member gives up partitions in its old epoch, and has the epoch of the target from when it has nothing left to give up.
So it can commit its last offsets for them, and whoever gets them next has a greater epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import replace

from tidelog.coordinators.consumer_groups.group import ConsumerGroup, Target
from tidelog.coordinators.consumer_groups.member import CurrentAssignment
from tidelog.coordinators.consumer_groups.states import CONSUMER_MEMBER, MemberState, MemberStep
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Where a member is to get to."""

    epoch: int
    target: Target
    # The target may be older than the member's subscription: what is not in here is not taken and is given up.
    subscribed: Container[Uuid]


def reconcile(
    group: ConsumerGroup,
    current: CurrentAssignment,
    goal: Goal,
    *,
    known_as: Collection[str],
    reported: Collection[TopicIdPartition] | None,
    subscription_changed: bool,
) -> CurrentAssignment:
    """The next assignment, or the same if there is no step to take.

    `known_as` are the ids under which the group knows the member; `reported` is what the member says it owns, None if
    it says nothing.
    """
    if current.state is MemberState.UNREVOKED_PARTITIONS and _still_has(reported, current.pending_revocation):
        return _give_up_more(current, goal) if subscription_changed else current
    if current.is_reconciled_to(goal.epoch) and not subscription_changed:
        return current
    target = {partition for partition in goal.target if partition.topic_id in goal.subscribed}
    kept = {partition: epoch for partition, epoch in current.assigned.items() if partition in target}
    surplus = {partition: epoch for partition, epoch in current.assigned.items() if partition not in target}
    if surplus and _still_has(reported, surplus):
        state = CONSUMER_MEMBER.after(current.state, MemberStep.REVOKE)
        return replace(current, state=state, assigned=kept, pending_revocation=surplus)
    missing = [partition for partition in target if partition not in kept]
    free = [partition for partition in missing if _is_free(group, partition, known_as)]
    step = MemberStep.ARRIVE if len(free) == len(missing) else MemberStep.WAIT
    return CurrentAssignment(
        epoch=goal.epoch,
        previous_epoch=current.previous_epoch if current.epoch == goal.epoch else current.epoch,
        state=CONSUMER_MEMBER.after(current.state, step),
        assigned=kept | dict.fromkeys(free, goal.epoch),
    )


def _give_up_more(current: CurrentAssignment, goal: Goal) -> CurrentAssignment:
    """The subscription has become smaller while the member was still giving up something else."""
    kept = {partition: epoch for partition, epoch in current.assigned.items() if partition.topic_id in goal.subscribed}
    if len(kept) == len(current.assigned):
        return current
    surplus = {partition: epoch for partition, epoch in current.assigned.items() if partition not in kept}
    return replace(current, assigned=kept, pending_revocation={**current.pending_revocation, **surplus})


def _still_has(reported: Collection[TopicIdPartition] | None, to_give_up: Container[TopicIdPartition]) -> bool:
    """A member that says nothing has not given up anything."""
    return reported is None or any(partition in to_give_up for partition in reported)


def _is_free(group: ConsumerGroup, partition: TopicIdPartition, known_as: Collection[str]) -> bool:
    """What the member itself was to give up, and has, it can also have back."""
    owner = group.owners.get(partition)
    return owner is None or owner in known_as
