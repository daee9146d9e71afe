"""Topics with records in them, made with librdkafka: for tests that read what another client has written."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

_TIMEOUT_SECONDS = 60
_numbers = itertools.count(1)


def new_topic_name(what: str) -> str:
    """A name that no other test of this run uses."""
    return f"{what}-{next(_numbers)}"


def committed_values(servers: str, topic: str) -> list[str]:
    """The values of all committed records, partition by partition."""
    settings = {"bootstrap.servers": servers, "group.id": "reader", "isolation.level": "read_committed", "log_level": 0}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    partitions = list(consumer.list_topics(topic).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found: dict[int, list[str]] = {number: [] for number in partitions}
    ends = 0
    while ends < len(partitions):
        message = consumer.poll(_TIMEOUT_SECONDS)
        assert message is not None, f"the end of {topic} was not reached"
        if message.error() is None:
            found[message.partition() or 0].append((message.value() or b"").decode())
        else:
            ends += 1
    consumer.close()
    return [value for number in sorted(found) for value in found[number]]


class FilledTopics:
    """What tests do to the topics of one cluster."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
        self._producer = self._new_producer()

    def create(
        self,
        what: str = "topic",
        *,
        partitions: int = 1,
        name: str | None = None,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """Returns the name, which begins with `what`."""
        chosen = name if name is not None else new_topic_name(what)
        topic = NewTopic(chosen, partitions, 1, config=dict(config or {}))
        self._admin.create_topics([topic])[chosen].result(_TIMEOUT_SECONDS)
        return chosen

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(_TIMEOUT_SECONDS)

    def grow(self, topic: str, partitions: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(_TIMEOUT_SECONDS)
        # A producer that knew the topic before refuses partitions that it has not heard of yet.
        self._producer = self._new_producer()

    def alter(self, topic: str, config: Mapping[str, str]) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in config.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        for future in self._admin.incremental_alter_configs([resource]).values():
            future.result(_TIMEOUT_SECONDS)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        wanted = TopicPartition(topic, partition, before)
        for future in self._admin.delete_records([wanted]).values():
            future.result(_TIMEOUT_SECONDS)

    def fill(
        self,
        topic: str,
        values: Iterable[bytes | str],
        *,
        partition: int = 0,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp: int = 0,
    ) -> None:
        for value in values:
            while True:
                try:
                    self._producer.produce(
                        topic, value, key, partition=partition, headers=list(headers), timestamp=timestamp
                    )
                    break
                except BufferError:
                    self._producer.poll(0.1)
        assert self._producer.flush(_TIMEOUT_SECONDS) == 0

    def _new_producer(self) -> Producer:
        return Producer({"bootstrap.servers": self._servers, "linger.ms": 5, "log_level": 0})

    def transaction(
        self, topic: str, values: Iterable[bytes | str], *, commit: bool, partition: int = 0, name: str = "writer"
    ) -> None:
        """One transaction with these records, ended one way or the other."""
        open_one = self.open_transaction(topic, values, partition=partition, name=name)
        if commit:
            open_one.commit_transaction(_TIMEOUT_SECONDS)
        else:
            open_one.abort_transaction(_TIMEOUT_SECONDS)

    def open_transaction(
        self, topic: str, values: Iterable[bytes | str], *, partition: int = 0, name: str = "writer"
    ) -> Producer:
        """The records are stored; whether they count is up to the caller."""
        producer = Producer(
            {"bootstrap.servers": self._servers, "transactional.id": f"{topic}-{name}", "linger.ms": 5, "log_level": 0}
        )
        producer.init_transactions(_TIMEOUT_SECONDS)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(_TIMEOUT_SECONDS) == 0
        return producer
