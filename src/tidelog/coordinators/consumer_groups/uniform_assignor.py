"""The assignor "uniform": everybody gets the same number of partitions, and keeps as many of its old ones as possible.

If members have different subscriptions, "the same" means that no single partition could be moved to another subscriber
of its topic and make the two more equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace

from tidelog.coordinators.consumer_groups.assignment import Subscriber, in_order
from tidelog.coordinators.consumer_groups.group import Target
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.model.ids import Uuid

# Per member, in the order of the members, what it has got.
_Shares = list[set[TopicIdPartition]]


def assign_uniformly(subscribers: Sequence[Subscriber], partition_counts: Mapping[Uuid, int]) -> dict[str, Target]:
    if not subscribers:
        return {}
    ordered = in_order(subscribers)
    shares, unassigned = _keep_old(ordered, partition_counts)
    if all(member.topic_ids == ordered[0].topic_ids for member in ordered):
        _fill_quotas(shares, unassigned)
    else:
        interested = _subscribers_by_topic(ordered)
        _give_to_the_least_loaded(shares, unassigned, interested)
        _even_out(shares, interested)
    return {member.member_id: frozenset(share) for member, share in zip(ordered, shares, strict=True)}


def _keep_old(
    ordered: Sequence[Subscriber], partition_counts: Mapping[Uuid, int]
) -> tuple[_Shares, list[TopicIdPartition]]:
    """What members had and may keep, and what nobody has."""
    taken: set[TopicIdPartition] = set()
    shares: _Shares = []
    for member in ordered:
        share = {
            partition
            for partition in member.target
            if partition.topic_id in member.topic_ids
            and partition.partition < partition_counts.get(partition.topic_id, 0)
            and partition not in taken
        }
        taken |= share
        shares.append(share)
    subscribed = frozenset[Uuid]().union(*(member.topic_ids for member in ordered))
    unassigned = [
        partition
        for topic_id in sorted(subscribed)
        for number in range(partition_counts.get(topic_id, 0))
        if (partition := TopicIdPartition(topic_id, number)) not in taken
    ]
    return shares, unassigned


def _fill_quotas(shares: _Shares, unassigned: list[TopicIdPartition]) -> None:
    total = len(unassigned) + sum(len(share) for share in shares)
    least, extra = divmod(total, len(shares))
    # One more goes to those who have the most already, so that the least has to move.
    for index, share in enumerate(sorted(shares, key=len, reverse=True)):
        quota = least + (index < extra)
        if len(share) > quota:
            surplus = sorted(share)[quota:]
            share.difference_update(surplus)
            unassigned.extend(surplus)
    rest = iter(unassigned)
    for index, share in enumerate(sorted(shares, key=len, reverse=True)):
        quota = least + (index < extra)
        while len(share) < quota:
            share.add(next(rest))


def _subscribers_by_topic(ordered: Sequence[Subscriber]) -> dict[Uuid, list[int]]:
    found: dict[Uuid, list[int]] = defaultdict(list)
    for index, member in enumerate(ordered):
        for topic_id in member.topic_ids:
            found[topic_id].append(index)
    return found


def _give_to_the_least_loaded(
    shares: _Shares, unassigned: list[TopicIdPartition], interested: Mapping[Uuid, list[int]]
) -> None:
    waiting: dict[Uuid, list[TopicIdPartition]] = defaultdict(list)
    for partition in unassigned:
        waiting[partition.topic_id].append(partition)
    # Topics that few can take come first, while those few have room.
    for topic_id in sorted(waiting, key=lambda topic_id: (len(interested[topic_id]), topic_id)):
        loads = [(len(shares[index]), index) for index in interested[topic_id]]
        heapify(loads)
        for partition in waiting[topic_id]:
            load, index = loads[0]
            shares[index].add(partition)
            heapreplace(loads, (load + 1, index))


def _even_out(shares: _Shares, interested: Mapping[Uuid, list[int]]) -> None:
    """Ends because every move makes the sum of the squares of all loads smaller."""
    moved = True
    while moved:
        moved = False
        for topic_id in sorted(interested):
            while _move_one(shares, topic_id, interested[topic_id]):
                moved = True


def _move_one(shares: _Shares, topic_id: Uuid, members: Sequence[int]) -> bool:
    """From the most loaded member that has a partition of the topic to the least loaded that could have one."""
    receiver = min(members, key=lambda index: (len(shares[index]), index))
    enough = len(shares[receiver]) + 2
    for giver in sorted(members, key=lambda index: (-len(shares[index]), index)):
        if len(shares[giver]) < enough:
            return False
        numbers = [partition for partition in shares[giver] if partition.topic_id == topic_id]
        if numbers:
            partition = max(numbers)
            shares[giver].remove(partition)
            shares[receiver].add(partition)
            return True
    return False
