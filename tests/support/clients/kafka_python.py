"""kafka-python under the contract."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource
from support.clients.contract import OPERATION_TIMEOUT_SECONDS, ClusterView, Message
from support.clients.credentials import ScramLogin


class KafkaPythonClient:
    name = "kafka-python"
    writes_null_headers = False
    reads_null_headers = True

    def __init__(self, bootstrap_servers: str, login: ScramLogin | None = None) -> None:
        security = {} if login is None else login.kafka_python()
        self._connection: dict[str, Any] = {"bootstrap_servers": bootstrap_servers, **security}

    def create_topic(self, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> int:
        wanted = {topic: {"num_partitions": partitions, "replication_factor": 1, "configs": dict(configs or {})}}
        with self._admin() as admin:
            result = admin.create_topics(wanted, raise_errors=False)
        return int(result["topics"][0]["error_code"])

    def delete_topic(self, topic: str) -> int:
        with self._admin() as admin:
            result = admin.delete_topics([topic], raise_errors=False)
        return int(result["topics"][0]["error_code"])

    def partition_count(self, topic: str) -> int:
        with self._admin() as admin:
            return len(admin.describe_topics([topic])[0]["partitions"])

    def describe_topic(self, topic: str) -> Mapping[str, str | None]:
        with self._admin() as admin:
            answer = admin.describe_configs([ConfigResource("TOPIC", topic)], config_filter="all")
        return {name: entry["value"] for name, entry in answer["topic"][topic].items()}

    def describe_cluster(self) -> ClusterView:
        with self._admin() as admin:
            cluster = admin.describe_cluster()
        return ClusterView(
            cluster_id=cluster["cluster_id"],
            controller_id=cluster["controller_id"],
            brokers=frozenset((node["broker_id"], node["host"], node["port"]) for node in cluster["brokers"]),
        )

    def produce(
        self, topic: str, messages: Sequence[Message], *, compression: str = "none", idempotent: bool = False
    ) -> list[int]:
        producer = KafkaProducer(
            **self._connection,
            acks="all",
            enable_idempotence=idempotent,
            compression_type=None if compression == "none" else compression,
            linger_ms=5,
        )
        try:
            sent = [
                producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=message.partition,
                    timestamp_ms=message.timestamp_ms,
                )
                for message in messages
            ]
            producer.flush(timeout=OPERATION_TIMEOUT_SECONDS)
            return [future.get(timeout=OPERATION_TIMEOUT_SECONDS).offset for future in sent]
        finally:
            producer.close(timeout=OPERATION_TIMEOUT_SECONDS)

    def read(self, topic: str, *, partition: int = 0, start: int = 0, count: int) -> list[Message]:
        topic_partition = TopicPartition(topic, partition)
        with self._consumer() as consumer:
            consumer.assign([topic_partition])
            consumer.seek(topic_partition, start)
            return _poll(consumer, count)

    def offset_for_time(self, topic: str, timestamp_ms: int, *, partition: int = 0) -> int | None:
        topic_partition = TopicPartition(topic, partition)
        with self._consumer() as consumer:
            found = consumer.offsets_for_times({topic_partition: timestamp_ms})[topic_partition]
        return None if found is None or found.offset < 0 else int(found.offset)

    def read_in_group(self, topic: str, group: str, *, count: int) -> list[Message]:
        with self._consumer(group_id=group) as consumer:
            consumer.subscribe([topic])
            messages = _poll(consumer, count)
            consumer.commit()
            return messages

    def committed_offset(self, topic: str, group: str, *, partition: int = 0) -> int | None:
        with self._consumer(group_id=group) as consumer:
            found: int | None = consumer.committed(TopicPartition(topic, partition))
            return found

    def close(self) -> None:
        pass

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        admin = KafkaAdminClient(**self._connection)
        try:
            yield admin
        finally:
            admin.close()

    @contextmanager
    def _consumer(self, **settings: Any) -> Iterator[Any]:
        consumer = KafkaConsumer(
            **self._connection,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            # A topic that was created just now may be unknown to the broker that is asked first.
            metadata_max_age_ms=1000,
            **settings,
        )
        try:
            yield consumer
        finally:
            consumer.close()


def _poll(consumer: Any, count: int) -> list[Message]:
    deadline = time.monotonic() + OPERATION_TIMEOUT_SECONDS
    messages: list[Message] = []
    while len(messages) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"only {len(messages)} of {count} messages came: {messages}")
        for records in consumer.poll(timeout_ms=500, max_records=count - len(messages)).values():
            messages += [
                Message(
                    key=record.key,
                    value=record.value,
                    timestamp_ms=record.timestamp,
                    headers=tuple(record.headers),
                    partition=record.partition,
                    offset=record.offset,
                )
                for record in records
            ]
    return messages
