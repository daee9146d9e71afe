"""aiokafka under the contract. Each operation runs in an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from support.clients.contract import OPERATION_TIMEOUT_SECONDS, ClusterView, Message
from support.clients.credentials import ScramLogin

Result = TypeVar("Result")


class AiokafkaClient:
    name = "aiokafka"
    writes_null_headers = True
    reads_null_headers = True

    def __init__(self, bootstrap_servers: str, login: ScramLogin | None = None) -> None:
        security = {} if login is None else login.aiokafka()
        self._connection: dict[str, Any] = {"bootstrap_servers": bootstrap_servers, **security}

    def create_topic(self, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> int:
        async def create() -> int:
            async with self._admin() as admin:
                new_topic = NewTopic(topic, partitions, 1, topic_configs=dict(configs or {}))
                answer = await admin.create_topics([new_topic])
            return int(answer.topic_errors[0][1])

        return _run(create())

    def delete_topic(self, topic: str) -> int:
        async def delete() -> int:
            async with self._admin() as admin:
                answer = await admin.delete_topics([topic])
            return int(answer.topic_error_codes[0][1])

        return _run(delete())

    def partition_count(self, topic: str) -> int:
        async def count() -> int:
            async with self._admin() as admin:
                # All topics: to ask for one would create it.
                topics = {described["topic"]: described for described in await admin.describe_topics()}
                return len(topics[topic]["partitions"]) if topic in topics else 0

        return _run(count())

    def describe_topic(self, topic: str) -> Mapping[str, str | None]:
        async def describe() -> dict[str, str | None]:
            async with self._admin() as admin:
                (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
            (_error_code, _message, _type, _name, entries) = answer.resources[0]
            return {entry[0]: entry[1] for entry in entries}

        return _run(describe())

    def describe_cluster(self) -> ClusterView:
        async def describe() -> ClusterView:
            async with self._admin() as admin:
                cluster = await admin.describe_cluster()
            return ClusterView(
                cluster_id=cluster.get("cluster_id"),
                controller_id=cluster["controller_id"],
                brokers=frozenset((node["node_id"], node["host"], node["port"]) for node in cluster["brokers"]),
            )

        return _run(describe())

    def produce(
        self, topic: str, messages: Sequence[Message], *, compression: str = "none", idempotent: bool = False
    ) -> list[int]:
        async def produce() -> list[int]:
            producer = AIOKafkaProducer(
                **self._connection,
                acks="all",
                enable_idempotence=idempotent,
                compression_type=None if compression == "none" else compression,
                linger_ms=5,
            )
            await producer.start()
            try:
                sent = [
                    await producer.send(
                        topic,
                        value=message.value,
                        key=message.key,
                        partition=message.partition,
                        timestamp_ms=message.timestamp_ms,
                        headers=list(message.headers),
                    )
                    for message in messages
                ]
                return [report.offset for report in await asyncio.gather(*sent)]
            finally:
                await producer.stop()

        return _run(produce())

    def read(self, topic: str, *, partition: int = 0, start: int = 0, count: int) -> list[Message]:
        async def read() -> list[Message]:
            topic_partition = TopicPartition(topic, partition)
            async with self._consumer() as consumer:
                consumer.assign([topic_partition])
                consumer.seek(topic_partition, start)
                return await _poll(consumer, count)

        return _run(read())

    def offset_for_time(self, topic: str, timestamp_ms: int, *, partition: int = 0) -> int | None:
        async def find() -> int | None:
            topic_partition = TopicPartition(topic, partition)
            async with self._consumer() as consumer:
                found = (await consumer.offsets_for_times({topic_partition: timestamp_ms}))[topic_partition]
            return None if found is None or found.offset < 0 else int(found.offset)

        return _run(find())

    def read_in_group(self, topic: str, group: str, *, count: int) -> list[Message]:
        async def read() -> list[Message]:
            async with self._consumer(group_id=group) as consumer:
                consumer.subscribe([topic])
                messages = await _poll(consumer, count)
                await consumer.commit()
                return messages

        return _run(read())

    def committed_offset(self, topic: str, group: str, *, partition: int = 0) -> int | None:
        async def find() -> int | None:
            topic_partition = TopicPartition(topic, partition)
            async with self._consumer(group_id=group) as consumer:
                consumer.assign([topic_partition])
                found: int | None = await consumer.committed(topic_partition)
                return found

        return _run(find())

    def close(self) -> None:
        pass

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[Any]:
        admin = AIOKafkaAdminClient(**self._connection)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    @asynccontextmanager
    async def _consumer(self, **settings: Any) -> AsyncIterator[Any]:
        consumer = AIOKafkaConsumer(
            **self._connection,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            **settings,
        )
        await consumer.start()
        try:
            yield consumer
        finally:
            await consumer.stop()


def _run(operation: Coroutine[Any, Any, Result]) -> Result:
    async def bounded() -> Result:
        return await asyncio.wait_for(operation, OPERATION_TIMEOUT_SECONDS)

    return asyncio.run(bounded())


async def _poll(consumer: Any, count: int) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < count:
        polled = await consumer.getmany(timeout_ms=500, max_records=count - len(messages))
        for records in polled.values():
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
