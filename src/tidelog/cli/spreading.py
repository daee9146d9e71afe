"""Which replicas to move so that topics are spread evenly over some nodes, with as few moves as that allows. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tidelog.model.ids import TopicPartition

Replicas = tuple[int, ...]


def spread(current: Mapping[TopicPartition, Replicas], nodes: Iterable[int]) -> dict[TopicPartition, Replicas]:
    """The partitions that have to move, with their new replicas; the first one is the preferred leader.

    Of each topic, every node leads as many partitions as any other, or one more or less. Each partition keeps its
    number of replicas, as far as there are so many nodes.
    """
    chosen = sorted(set(nodes))
    leaders_in_all: Counter[int] = Counter()
    replicas_in_all: Counter[int] = Counter()
    targets: dict[TopicPartition, Replicas] = {}
    for topic in sorted({partition.topic for partition in current}):
        partitions = sorted(partition for partition in current if partition.topic == topic)
        leaders = _leaders([current[partition] for partition in partitions], chosen, leaders_in_all)
        leaders_in_all.update(leaders)
        followers_of_topic: Counter[int] = Counter(leaders)
        for partition, leader in zip(partitions, leaders, strict=True):
            before = current[partition]
            count = min(len(before), len(chosen))
            replicas = [leader, *(each for each in before if each in chosen and each != leader)][:count]
            others = [each for each in chosen if each not in replicas]
            others.sort(key=lambda each: (followers_of_topic[each], replicas_in_all[each]))
            replicas += others[: count - len(replicas)]
            followers_of_topic.update(replicas[1:])
            replicas_in_all.update(replicas)
            if tuple(replicas) != before:
                targets[partition] = tuple(replicas)
    return targets


def _leaders(current: Sequence[Replicas], nodes: Sequence[int], in_all: Counter[int]) -> list[int]:
    """A leader for each partition of one topic. One that may stay, stays."""
    fewest, extra = divmod(len(current), len(nodes))
    leads: Counter[int] = Counter()
    kept: dict[int, int] = {}
    for most in (fewest, fewest + 1):
        for index, replicas in enumerate(current):
            leader = replicas[0]
            if index in kept or leader not in nodes or leads[leader] >= most:
                continue
            if most > fewest:
                if not extra:
                    break
                extra -= 1
            kept[index] = leader
            leads[leader] += 1
    leaders = []
    for index in range(len(current)):
        found = kept.get(index)
        if found is None:
            found = min(nodes, key=lambda node: (leads[node], in_all[node]))
            leads[found] += 1
        leaders.append(found)
    return leaders
