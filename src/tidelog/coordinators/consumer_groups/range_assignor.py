"""The assignor "range": of each topic, every member gets a range of partitions.

Members that are subscribed to the same topics get the same range of each, so that what belongs together by its key
comes to one member. The price is that the first members get more if partitions do not divide evenly, topic after topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.coordinators.consumer_groups.assignment import Subscriber, in_order
from tidelog.coordinators.consumer_groups.group import Target
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.model.ids import Uuid


def assign_ranges(subscribers: Sequence[Subscriber], partition_counts: Mapping[Uuid, int]) -> dict[str, Target]:
    ordered = in_order(subscribers)
    gathered: dict[str, list[TopicIdPartition]] = {member.member_id: [] for member in ordered}
    for topic_id, count in partition_counts.items():
        interested = [member for member in ordered if topic_id in member.topic_ids]
        if not interested:
            continue
        least, extra = divmod(count, len(interested))
        first = 0
        for index, member in enumerate(interested):
            end = first + least + (index < extra)
            gathered[member.member_id].extend(TopicIdPartition(topic_id, number) for number in range(first, end))
            first = end
    return {member_id: frozenset(partitions) for member_id, partitions in gathered.items()}
