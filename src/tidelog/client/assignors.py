"""How the leader of a classic group divides partitions among the members. Pure functions, one per strategy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.client.group_protocol import Subscription
from tidelog.model.ids import TopicPartition

# Member id to what it wants; topic to the number of its partitions (topics that do not exist are not in it).
Assignor = Callable[[Mapping[str, Subscription], Mapping[str, int]], dict[str, list[TopicPartition]]]


def assign_ranges(
    subscriptions: Mapping[str, Subscription], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Per topic, members in the order of their ids get neighbouring partitions; the first ones get one more.

    Topics with equal numbers of partitions are divided alike, so that one member gets the same partition of each.
    """
    assignment: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    for topic, count in sorted(partition_counts.items()):
        members = sorted(member for member, wants in subscriptions.items() if topic in wants.topics)
        if not members:
            continue
        share, more = divmod(count, len(members))
        start = 0
        for number, member in enumerate(members):
            end = start + share + (number < more)
            assignment[member].extend(TopicPartition(topic, partition) for partition in range(start, end))
            start = end
    return assignment


ASSIGNORS: Mapping[str, Assignor] = {"range": assign_ranges}
