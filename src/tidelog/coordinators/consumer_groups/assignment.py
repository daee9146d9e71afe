"""What an assignor is given, and what it gives back. Which assignors there are is in `assignors`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tidelog.coordinators.consumer_groups.group import Target
from tidelog.model.ids import Uuid


class Subscriber(NamedTuple):
    """One member as an assignor sees it."""

    member_id: str
    instance_id: str | None
    # Only topics that exist.
    topic_ids: frozenset[Uuid]
    # What the last assignment gave to it.
    target: Target


# Takes members in any order, and how many partitions each topic has that somebody is subscribed to. Every partition is
# given to one of its topic's subscribers, and the same question always has the same answer.
Assignor = Callable[[Sequence[Subscriber], Mapping[Uuid, int]], dict[str, Target]]


def in_order(subscribers: Sequence[Subscriber]) -> list[Subscriber]:
    """Static members first: their instance ids, unlike member ids, are the same after a restart."""
    return sorted(
        subscribers,
        key=lambda member: (member.instance_id is None, member.instance_id or member.member_id, member.member_id),
    )
