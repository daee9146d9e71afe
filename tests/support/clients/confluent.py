"""confluent-kafka (librdkafka) under the contract."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from support.clients.contract import OPERATION_TIMEOUT_SECONDS, ClusterView, Message
from support.clients.credentials import ScramLogin
from support.present import present

_OFFSET_END = -1


class ConfluentClient:
    name = "confluent-kafka"
    writes_null_headers = True
    reads_null_headers = True

    def __init__(self, bootstrap_servers: str, login: ScramLogin | None = None) -> None:
        security = {} if login is None else login.librdkafka()
        self._settings: dict[str, Any] = {"bootstrap.servers": bootstrap_servers, **security}
        # Kept: an admin client that is collected as garbage cancels its requests.
        self._admin = AdminClient(self._settings)

    def create_topic(self, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> int:
        new_topic = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=dict(configs or {}))
        return _error_code(self._admin.create_topics([new_topic])[topic])

    def delete_topic(self, topic: str) -> int:
        return _error_code(self._admin.delete_topics([topic])[topic])

    def partition_count(self, topic: str) -> int:
        # All topics: to ask for one would create it.
        topics = self._admin.list_topics(timeout=OPERATION_TIMEOUT_SECONDS).topics
        return len(topics[topic].partitions) if topic in topics else 0

    def describe_topic(self, topic: str) -> Mapping[str, str | None]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entries = self._admin.describe_configs([resource])[resource].result(OPERATION_TIMEOUT_SECONDS)
        return {name: entry.value for name, entry in entries.items()}

    def describe_cluster(self) -> ClusterView:
        cluster = self._admin.describe_cluster().result(OPERATION_TIMEOUT_SECONDS)
        return ClusterView(
            cluster_id=cluster.cluster_id,
            controller_id=cluster.controller.id,
            brokers=frozenset((node.id, node.host, node.port) for node in cluster.nodes),
        )

    def produce(
        self, topic: str, messages: Sequence[Message], *, compression: str = "none", idempotent: bool = False
    ) -> list[int]:
        producer = Producer(
            {
                **self._settings,
                "acks": "all",
                "enable.idempotence": idempotent,
                "compression.type": compression,
                "linger.ms": 5,
            }
        )
        offsets = [-1] * len(messages)
        failures: list[KafkaError] = []
        for index, message in enumerate(messages):

            def delivered(error: KafkaError | None, report: Any, index: int = index) -> None:
                if error is not None:
                    failures.append(error)
                else:
                    offsets[index] = report.offset()

            producer.produce(
                topic,
                key=message.key,
                value=message.value,
                headers=list(message.headers),
                partition=message.partition,
                timestamp=message.timestamp_ms,
                on_delivery=delivered,
            )
        left = producer.flush(OPERATION_TIMEOUT_SECONDS)
        if failures or left:
            raise KafkaException(failures[0] if failures else KafkaError(KafkaError._TIMED_OUT))
        return offsets

    def read(self, topic: str, *, partition: int = 0, start: int = 0, count: int) -> list[Message]:
        consumer = self._consumer("unused", **{"enable.auto.commit": False})
        try:
            consumer.assign([TopicPartition(topic, partition, start)])
            return _poll(consumer, count)
        finally:
            consumer.close()

    def offset_for_time(self, topic: str, timestamp_ms: int, *, partition: int = 0) -> int | None:
        consumer = self._consumer("unused")
        try:
            (found,) = consumer.offsets_for_times(
                [TopicPartition(topic, partition, timestamp_ms)], timeout=OPERATION_TIMEOUT_SECONDS
            )
        finally:
            consumer.close()
        if found.error is not None:
            raise KafkaException(found.error)
        return None if found.offset == _OFFSET_END else int(found.offset)

    def read_in_group(self, topic: str, group: str, *, count: int) -> list[Message]:
        consumer = self._consumer(group, **{"enable.auto.commit": False})
        try:
            consumer.subscribe([topic])
            messages = _poll(consumer, count)
            consumer.commit(asynchronous=False)
            return messages
        finally:
            consumer.close()

    def committed_offset(self, topic: str, group: str, *, partition: int = 0) -> int | None:
        consumer = self._consumer(group)
        try:
            (found,) = consumer.committed([TopicPartition(topic, partition)], timeout=OPERATION_TIMEOUT_SECONDS)
        finally:
            consumer.close()
        return None if found.offset < 0 else int(found.offset)

    def close(self) -> None:
        pass

    def _consumer(self, group: str, **settings: Any) -> Consumer:
        return Consumer({**self._settings, "group.id": group, "auto.offset.reset": "earliest", **settings})


def _poll(consumer: Consumer, count: int) -> list[Message]:
    deadline = time.monotonic() + OPERATION_TIMEOUT_SECONDS
    messages: list[Message] = []
    while len(messages) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"only {len(messages)} of {count} messages came: {messages}")
        for polled in consumer.consume(count - len(messages), timeout=0.5):
            if polled.error() is not None:
                raise KafkaException(polled.error())
            messages.append(
                Message(
                    key=polled.key(),
                    value=polled.value(),
                    timestamp_ms=polled.timestamp()[1],
                    headers=tuple(cast("list[tuple[str, bytes | None]]", polled.headers() or [])),
                    partition=present(polled.partition()),
                    offset=present(polled.offset()),
                )
            )
    return messages


def _error_code(future: Any) -> int:
    try:
        future.result(OPERATION_TIMEOUT_SECONDS)
    except KafkaException as error:
        return int(error.args[0].code())
    return 0
