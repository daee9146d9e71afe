"""From a reason for another assignment to the assignment: who should own what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tidelog.coordinators.consumer_groups.assignment import Subscriber
from tidelog.coordinators.consumer_groups.assignors import ASSIGNORS
from tidelog.coordinators.consumer_groups.group import ConsumerGroup, Target
from tidelog.coordinators.consumer_groups.member import ConsumerMember
from tidelog.coordinators.consumer_groups.settings import ConsumerGroupSettings
from tidelog.coordinators.consumer_groups.topics import Topics
from tidelog.model.ids import Uuid


def topic_ids(names: Iterable[str], topics: Topics) -> frozenset[Uuid]:
    """Of those that exist."""
    return frozenset(topic.id for name in names if (topic := topics.named(name)) is not None)


def compute_targets(
    members: Mapping[str, ConsumerMember],
    subscriptions: Mapping[str, frozenset[str]],
    targets: Mapping[str, Target],
    *,
    topics: Topics,
    settings: ConsumerGroupSettings,
) -> dict[str, Target]:
    """What each member should own. `subscriptions` are the topic names of each, `targets` is the last assignment."""
    # Members mostly share a subscription, which is then looked up once.
    ids_of: dict[frozenset[str], frozenset[Uuid]] = {}
    subscribers: list[Subscriber] = []
    counts: dict[Uuid, int] = {}
    for member_id, member in members.items():
        names = subscriptions[member_id]
        ids = ids_of.get(names)
        if ids is None:
            ids = ids_of[names] = topic_ids(names, topics)
            for topic_id in ids:
                topic = topics.with_id(topic_id)
                assert topic is not None
                counts[topic_id] = topic.partition_count
        subscribers.append(Subscriber(member_id, member.profile.instance_id, ids, targets.get(member_id, frozenset())))
    return ASSIGNORS[preferred_assignor(members.values(), settings)](subscribers, counts)


def preferred_assignor(members: Iterable[ConsumerMember], settings: ConsumerGroupSettings) -> str:
    """The one that most members ask for. One that is no longer configured counts for nothing."""
    votes = Counter(member.profile.server_assignor for member in members)
    configured = settings.group_consumer_assignors
    return max(configured, key=lambda name: (votes[name], -configured.index(name)))


def may_assign(group: ConsumerGroup, settings: ConsumerGroupSettings, now_ms: int) -> bool:
    """Assignments of large groups are work: if members come one after the other, not each gets its own (KIP-1263)."""
    since_ms = now_ms - group.assignment_timestamp_ms
    # A clock that was set back must not stop assignments.
    return not 0 <= since_ms < settings.group_consumer_assignment_interval_ms
