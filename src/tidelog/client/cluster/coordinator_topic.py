"""The topic with the log of the coordinators of one kind: the leaders of its partitions coordinate the groups or the
transactional ids in them.

Its metadata tells which ids nobody coordinates now. To look there creates nothing; brokers create the topic for the
first client that asks for a coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.client.cluster.cluster import Cluster, CoordinatorKind
from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC

_TOPICS = {
    CoordinatorKind.GROUP: CONSUMER_OFFSETS_TOPIC,
    CoordinatorKind.TRANSACTION: TRANSACTION_STATE_TOPIC,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorTopic:
    """`exists` is None where this client may not see the topic. Then nothing is known of its partitions.

    `leaders` has the broker and the leader epoch of each partition with a leader, `leaderless` the other partitions,
    each with those of its replicas that are not among the brokers of the cluster now.
    """

    name: str
    exists: bool | None
    leaders: Mapping[int, tuple[int, int]]
    leaderless: Mapping[int, tuple[int, ...]]

    @property
    def are_all_there(self) -> bool:
        """Whether it is known that all ids have a coordinator."""
        return self.exists is not None and not self.leaderless

    def words(self) -> str:
        """Why ids are missing, and what helps: "partition 3 of __transaction_state has no leader. Bring back broker 1".

        Empty if all partitions have leaders.
        """
        if self.exists is None:
            return (
                f"this client may not see whether all partitions of {self.name} have leaders. Give it Describe on "
                "that topic"
            )
        if not self.leaderless:
            return ""
        numbers = sorted(self.leaderless)
        if len(numbers) == 1:
            problem = f"partition {numbers[0]} of {self.name} has no leader"
        else:
            problem = f"{len(numbers)} partitions of {self.name} have no leader"
        away = sorted({broker for brokers in self.leaderless.values() for broker in brokers})
        if not away:
            return f"{problem}. Wait for an election"
        return f"{problem}. Bring back {'broker' if len(away) == 1 else 'brokers'} {', '.join(map(str, away))}"


async def coordinator_topic(cluster: Cluster, kind: CoordinatorKind) -> CoordinatorTopic:
    """As one of the brokers sees it now."""
    topic = _TOPICS[kind]
    metadata = await cluster.retry(f"looking at {topic}", lambda: cluster.fetch_metadata([topic]))
    found = metadata.topics.get(topic)
    if found is None:
        absent = metadata.topic_errors.get(topic) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return CoordinatorTopic(name=topic, exists=False if absent else None, leaders={}, leaderless={})
    leaders: dict[int, tuple[int, int]] = {}
    leaderless: dict[int, tuple[int, ...]] = {}
    for each in found.partitions:
        if each.leader in metadata.brokers:
            leaders[each.partition] = (each.leader, each.leader_epoch)
        else:
            leaderless[each.partition] = tuple(broker for broker in each.replicas if broker not in metadata.brokers)
    return CoordinatorTopic(name=topic, exists=True, leaders=leaders, leaderless=leaderless)
