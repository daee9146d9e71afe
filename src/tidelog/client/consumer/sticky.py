"""Sticky assignment: as even as possible first, and then with as few partitions moved as possible (KIP-54, KIP-429).

Every member keeps what it had, free partitions go to those with the fewest, and then partitions are passed on along
chains of members until no chain makes the loads more even. A chain is needed where members want different topics: the
one with too much may have nothing that the one with too little wants, but somebody between them may.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from tidelog.client.consumer.group_protocol import (
    MemberSubscription,
    decode_cooperative_user_data,
    decode_sticky_user_data,
    members_in_order,
)
from tidelog.model.ids import TopicPartition

# What a member says it had, and in which generation.
_Claim = tuple[tuple[TopicPartition, ...], int]


def assign_sticky(
    subscriptions: Mapping[str, MemberSubscription], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """For members that give up everything before they join; what they had is in their user data."""
    return _assign(subscriptions, partition_counts, lambda wants: decode_sticky_user_data(wants.user_data))


def assign_cooperatively(
    subscriptions: Mapping[str, MemberSubscription], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """For members that go on with what they have.

    A partition that is to change hands is given to nobody yet: its owner sees that it is gone, gives it up and joins
    again, and the rebalance that follows finds it free.
    """
    assignment = _assign(subscriptions, partition_counts, _owned)
    owners: dict[TopicPartition, set[str]] = {}
    for member, wants in subscriptions.items():
        for partition in wants.owned:
            owners.setdefault(partition, set()).add(member)
    return {
        member: [partition for partition in partitions if member in owners.get(partition, (member,))]
        for member, partitions in assignment.items()
    }


def _owned(wants: MemberSubscription) -> _Claim:
    """Members before version 2 of the subscription have their generation in the user data."""
    generation = wants.generation if wants.generation >= 0 else decode_cooperative_user_data(wants.user_data)
    return wants.owned, generation


def _assign(
    subscriptions: Mapping[str, MemberSubscription],
    partition_counts: Mapping[str, int],
    claim_of: Callable[[MemberSubscription], _Claim],
) -> dict[str, list[TopicPartition]]:
    draft = _AssignmentDraft(subscriptions, partition_counts)
    claims = {member: claim_of(wants) for member, wants in subscriptions.items()}
    for partition, member in _rightful(claims).items():
        draft.keep(partition, member)
    draft.give_away_free_ones()
    draft.level()
    return draft.assignment()


def _rightful(claims: Mapping[str, _Claim]) -> dict[TopicPartition, str]:
    """Of several members that claim a partition the one of the latest generation is right; of two of them, neither."""
    latest: dict[TopicPartition, tuple[int, str | None]] = {}
    for member, (partitions, generation) in sorted(claims.items()):
        for partition in sorted(set(partitions)):
            best = latest.get(partition)
            if best is None or generation > best[0]:
                latest[partition] = (generation, member)
            elif generation == best[0]:
                latest[partition] = (generation, None)
    return {partition: member for partition, (_, member) in latest.items() if member is not None}


class _AssignmentDraft:
    """Who has what so far."""

    def __init__(self, subscriptions: Mapping[str, MemberSubscription], partition_counts: Mapping[str, int]) -> None:
        self._order = members_in_order(subscriptions)
        self._counts = partition_counts
        # Who may have partitions of a topic.
        self._wanting: dict[str, list[str]] = {
            topic: [member for member in self._order if topic in subscriptions[member].topics]
            for topic in sorted(partition_counts)
        }
        self._held: dict[str, dict[str, list[int]]] = {member: {} for member in self._order}
        self._load = dict.fromkeys(self._order, 0)
        self._owner: dict[TopicPartition, str] = {}

    def keep(self, partition: TopicPartition, member: str) -> None:
        """Unless the topic has become smaller or is gone, or the member does not want it any more."""
        if 0 <= partition.partition < self._counts.get(partition.topic, 0) and member in self._wanting[partition.topic]:
            self._take(partition, member)

    def give_away_free_ones(self) -> None:
        """Those with the fewest takers first: later ones have more choice."""
        for topic in sorted(self._wanting, key=lambda name: (len(self._wanting[name]), name)):
            takers = self._wanting[topic]
            if takers:
                for number in range(self._counts[topic]):
                    partition = TopicPartition(topic, number)
                    if partition not in self._owner:
                        self._take(partition, min(takers, key=self._load.__getitem__))

    def level(self) -> None:
        """Each chain takes one from the fullest and adds one to the emptiest, so this ends."""
        while self._order and max(self._load.values()) - min(self._load.values()) > 1:
            for giver in sorted(self._order, key=self._load.__getitem__, reverse=True):
                chain = self._chain_from(giver)
                if chain:
                    for member, topic, taker in chain:
                        self._pass_on(member, topic, taker)
                    break
            else:
                return

    def assignment(self) -> dict[str, list[TopicPartition]]:
        return {
            member: [TopicPartition(topic, number) for topic in sorted(topics) for number in sorted(topics[topic])]
            for member, topics in self._held.items()
        }

    def _take(self, partition: TopicPartition, member: str) -> None:
        self._owner[partition] = member
        self._held[member].setdefault(partition.topic, []).append(partition.partition)
        self._load[member] += 1

    def _pass_on(self, giver: str, topic: str, taker: str) -> None:
        """The one that the giver got last: what it has had for longer is what it should keep."""
        number = self._held[giver][topic].pop()
        if not self._held[giver][topic]:
            del self._held[giver][topic]
        self._load[giver] -= 1
        self._take(TopicPartition(topic, number), taker)

    def _chain_from(self, giver: str) -> list[tuple[str, str, str]]:
        """(from whom, of which topic, to whom), towards the emptiest member that can be reached, if it pays."""
        came_by: dict[str, tuple[str, str]] = {}
        seen_topics: set[str] = set()
        queue = deque((giver,))
        emptiest = giver
        while queue:
            member = queue.popleft()
            for topic in self._held[member]:
                if topic in seen_topics:
                    continue
                seen_topics.add(topic)
                for taker in self._wanting[topic]:
                    if taker != giver and taker not in came_by:
                        came_by[taker] = (member, topic)
                        queue.append(taker)
                        if self._load[taker] < self._load[emptiest]:
                            emptiest = taker
        if self._load[giver] - self._load[emptiest] < 2:
            return []
        chain: list[tuple[str, str, str]] = []
        at = emptiest
        while at != giver:
            member, topic = came_by[at]
            chain.append((member, topic, at))
            at = member
        return chain
