"""Topics with numbered records, and consumers that read them until enough has come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager

from tidelog.client.admin import Admin
from tidelog.client.consumer import Consumer
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.producer.producer import Producer
from tidelog.model.ids import TopicPartition


async def fill(servers: str, topic: str, count: int, *, partitions: int = 1, first: int = 0) -> None:
    """Records with the values 0, 1, ... dealt out to the partitions in turn; timestamps are 1000 times as large."""
    async with Producer(servers) as producer:
        for number in range(first, first + count):
            await producer.send(topic, b"%d" % number, partition=number % partitions, timestamp_ms=number * 1000)


async def topic_with(admin: Admin, servers: str, name: str, count: int, partitions: int = 1) -> list[TopicPartition]:
    await admin.create_topic(name, partitions=partitions, configs={"retention.ms": "-1"})
    await fill(servers, name, count, partitions=partitions)
    return [TopicPartition(name, number) for number in range(partitions)]


def values(records: Collection[ConsumerRecord]) -> list[int]:
    return [int(record.value or b"") for record in records]


def reader(servers: str, *topics: str, **options: object) -> Consumer:
    chosen: dict[str, object] = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 100, **options}
    if chosen.get("group_protocol") != "consumer":
        chosen.setdefault("heartbeat_interval_ms", 100)
    return Consumer(*topics, bootstrap_servers=servers, **chosen)  # type: ignore[arg-type]


@asynccontextmanager
async def members(servers: str, topic: str, group: str, count: int, **options: object) -> AsyncIterator[list[Consumer]]:
    if options.get("group_protocol") != "consumer":
        options.setdefault("session_timeout_ms", 6000)
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(reader(servers, topic, group_id=group, client_id=f"m{number}", **options))
            for number in range(count)
        ]


def at_least(count: int) -> Callable[[list[ConsumerRecord]], bool]:
    return lambda records: len(records) >= count


async def poll_until(
    consumer: Consumer, enough: Callable[[list[ConsumerRecord]], bool], seconds: float = 30
) -> list[ConsumerRecord]:
    records: list[ConsumerRecord] = []
    async with asyncio.timeout(seconds):
        while not enough(records):
            records += await consumer.poll(timeout_ms=100)
    return records


async def poll_all(
    consumers: Collection[Consumer], until: Callable[[], bool], *, enough: int | None = None, seconds: float = 60
) -> list[ConsumerRecord]:
    """Let all members poll until the condition holds, or until there are enough records."""
    records: list[ConsumerRecord] = []
    async with asyncio.timeout(seconds):
        while not until() and (enough is None or len(records) < enough):
            for got in await asyncio.gather(*(consumer.poll(timeout_ms=100) for consumer in consumers)):
                records += got
    return records


def divided(consumers: Collection[Consumer], partitions: int) -> Callable[[], bool]:
    """Every partition has one owner, and every member some."""

    def check() -> bool:
        owned = [partition for consumer in consumers for partition in consumer.assignment()]
        return len(owned) == len(set(owned)) == partitions and all(consumer.assignment() for consumer in consumers)

    return check
