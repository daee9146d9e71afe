"""What a consumer wants to read: topics by name, topics by pattern, or partitions that it was given by hand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import Enum

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.errors import WrongUse
from tidelog.model.ids import TopicPartition


class Kind(Enum):
    NOTHING = "nothing"
    TOPICS = "topics"
    # Matched here, against all topics of the cluster.
    PATTERN = "pattern"
    # Matched by the broker, which knows of new topics first (KIP-848).
    BROKER_PATTERN = "pattern at the broker"
    PARTITIONS = "partitions"


class Subscription:
    def __init__(self, cluster: Cluster, *, exclude_internal_topics: bool) -> None:
        self._cluster = cluster
        self._exclude_internal = exclude_internal_topics
        self.kind = Kind.NOTHING
        # The topics wanted now. With a pattern of the broker's nobody here knows.
        self.topics: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        self._look_again_ms = 0.0
        self.broker_pattern: str | None = None

    @property
    def by_topics(self) -> bool:
        """Rather than by partitions."""
        return self.kind not in (Kind.NOTHING, Kind.PARTITIONS)

    def to_topics(self, topics: Iterable[str]) -> None:
        if isinstance(topics, str):
            raise WrongUse(f"subscribe takes a list of topics: write [{topics!r}]")
        self._become(Kind.TOPICS)
        self.topics = tuple(dict.fromkeys(topics))
        self._cluster.watch(self.topics)

    def to_pattern(self, pattern: re.Pattern[str]) -> None:
        self._become(Kind.PATTERN)
        self._pattern = pattern
        self._look_again_ms = 0.0

    def to_broker_pattern(self, pattern: str) -> None:
        self._become(Kind.BROKER_PATTERN)
        self.broker_pattern = pattern

    def to_partitions(self, partitions: Collection[TopicPartition]) -> None:
        self._become(Kind.PARTITIONS)
        self._cluster.watch({partition.topic for partition in partitions})

    def to_nothing(self) -> None:
        self._become(Kind.NOTHING)

    async def look_for_topics(self) -> bool:
        """Match the pattern with the topics that there are, from time to time; whether the result is another one."""
        now = self._cluster.clock.monotonic_ms()
        if self._pattern is None or now < self._look_again_ms:
            return False
        metadata = await self._cluster.fetch_metadata(None)
        self._look_again_ms = now + self._cluster.config.metadata_max_age_ms
        found = tuple(
            sorted(
                name
                for name, topic in metadata.topics.items()
                if self._pattern.search(name) and not (topic.internal and self._exclude_internal)
            )
        )
        if found == self.topics:
            return False
        self.topics = found
        self._cluster.unwatch_all()
        self._cluster.watch(found)
        self._cluster.mark_stale()
        return True

    def all_partitions(self) -> frozenset[TopicPartition]:
        """All partitions that the topics have now: for consumers outside of groups."""
        metadata = self._cluster.metadata
        return frozenset(
            TopicPartition(topic, entry.partition)
            for topic in self.topics
            if topic in metadata.topics
            for entry in metadata.topics[topic].partitions
        )

    def _become(self, kind: Kind) -> None:
        kinds = {self.kind, kind}
        if Kind.PARTITIONS in kinds and not kinds <= {Kind.PARTITIONS, Kind.NOTHING}:
            raise WrongUse(
                "assign() cannot be combined with subscribe(): call unsubscribe() first, or use another consumer"
            )
        self.kind = kind
        self.topics = ()
        self._pattern = None
        self.broker_pattern = None
        self._cluster.unwatch_all()
        self._cluster.mark_stale()
