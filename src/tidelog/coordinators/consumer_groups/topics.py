"""Topics as a coordinator sees them: names, ids and numbers of partitions. Who knows them is the caller's business."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple, Protocol

from tidelog.model.ids import Uuid

NO_TOPICS_HASH = 0


class TopicIdPartition(NamedTuple):
    """One partition of a topic that cannot be mistaken for a later one of the same name."""

    topic_id: Uuid
    partition: int


class Topic(NamedTuple):
    """One topic that exists."""

    name: str
    id: Uuid
    partition_count: int


class Topics(Protocol):
    """All topics that exist at one moment."""

    @property
    def version(self) -> int:
        """Another number whenever a topic or a partition has come or gone."""
        ...

    def named(self, name: str) -> Topic | None: ...

    def with_id(self, topic_id: Uuid) -> Topic | None: ...

    def names(self) -> Iterable[str]: ...


class TopicTable:
    """`Topics` that are given one by one."""

    def __init__(self, topics: Iterable[Topic] = (), *, version: int = 0) -> None:
        self.version = version
        self._by_name = {topic.name: topic for topic in topics}
        self._by_id = {topic.id: topic for topic in self._by_name.values()}

    def named(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def with_id(self, topic_id: Uuid) -> Topic | None:
        return self._by_id.get(topic_id)

    def names(self) -> Iterable[str]:
        return self._by_name.keys()


def metadata_hash(names: Iterable[str], topics: Topics) -> int:
    """A signed 64-bit number that changes with the topics of these names (KIP-1101), 0 if none of them exists.

    Apache Kafka computes another one. That costs one rebalance if it takes over a group, and nothing else.
    """
    digest = blake2b(digest_size=8)
    found = False
    for name in sorted(names):
        topic = topics.named(name)
        if topic is not None:
            found = True
            digest.update(f"{name}\0{topic.partition_count}\0".encode())
            digest.update(topic.id)
    return int.from_bytes(digest.digest(), "big", signed=True) or 1 if found else NO_TOPICS_HASH
