"""How the leader of a classic group divides partitions among the members. Pure functions, one per strategy.

The sticky ones are in `tidelog.client.consumer.sticky`; what members tell each other is in
`tidelog.client.consumer.group_protocol`. The coordinator picks the strategy: one that all members offer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from tidelog.client.consumer.group_protocol import (
    MemberSubscription,
    encode_cooperative_user_data,
    encode_sticky_user_data,
    members_in_order,
)
from tidelog.client.consumer.sticky import assign_cooperatively, assign_sticky
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

Assign = Callable[[Mapping[str, MemberSubscription], Mapping[str, int]], dict[str, list[TopicPartition]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignor:
    """`assign` takes what each member wants, and how many partitions each topic has; missing topics are left out.

    A cooperative assignor lets members keep what they have while they join (KIP-429). `user_data` is what a member
    adds to its subscription: from the partitions of its last assignment, and the generation of that.
    """

    name: str
    assign: Assign
    cooperative: bool = False
    user_data: Callable[[Collection[TopicPartition], int], bytes | None] = lambda partitions, generation: None


def assign_ranges(
    subscriptions: Mapping[str, MemberSubscription], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Per topic, members in order get neighbouring partitions; the first ones get one more.

    Topics with equal numbers of partitions are divided alike, so that one member gets the same partition of each.
    """
    assignment: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    order = members_in_order(subscriptions)
    for topic, count in sorted(partition_counts.items()):
        members = [member for member in order if topic in subscriptions[member].topics]
        if not members:
            continue
        share, more = divmod(count, len(members))
        start = 0
        for number, member in enumerate(members):
            end = start + share + (number < more)
            assignment[member].extend(TopicPartition(topic, partition) for partition in range(start, end))
            start = end
    return assignment


def assign_round_robin(
    subscriptions: Mapping[str, MemberSubscription], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """All partitions of all topics are dealt out in turn; members who do not want one are passed over."""
    assignment: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    order = members_in_order(subscriptions)
    wanted = {topic for wants in subscriptions.values() for topic in wants.topics}
    turn = 0
    for topic, count in sorted(partition_counts.items()):
        if topic not in wanted:
            continue
        for partition in range(count):
            while topic not in subscriptions[order[turn % len(order)]].topics:
                turn += 1
            assignment[order[turn % len(order)]].append(TopicPartition(topic, partition))
            turn += 1
    return assignment


ASSIGNORS: Mapping[str, Assignor] = {
    assignor.name: assignor
    for assignor in (
        Assignor(name="range", assign=assign_ranges),
        Assignor(name="roundrobin", assign=assign_round_robin),
        Assignor(name="sticky", assign=assign_sticky, user_data=encode_sticky_user_data),
        Assignor(
            name="cooperative-sticky",
            assign=assign_cooperatively,
            cooperative=True,
            user_data=lambda _, generation: encode_cooperative_user_data(generation),
        ),
    )
}
