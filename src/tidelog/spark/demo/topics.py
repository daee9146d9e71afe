"""What the demonstration does to topics itself: make them, fill one with orders, read what is in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from tidelog.client.admin import Admin
from tidelog.client.producer.producer import Producer
from tidelog.spark.demo.comparison import Values
from tidelog.spark.demo.orders import make_orders
from tidelog.spark.source.cluster import SourceCluster
from tidelog.spark.source.options import SourceOptions, batch_options
from tidelog.spark.source.readers import BatchReader

_TELL_EVERY = 1000


async def create_topics(servers: str, names: Sequence[str], *, partitions: int) -> None:
    async with Admin(servers) as admin:
        for name in names:
            await admin.create_topic(name, partitions=partitions)


async def write_orders(servers: str, topic: str, count: int, written: Callable[[int], None]) -> None:
    async with Producer(servers, linger_ms=20, batch_size=256 * 1024) as producer:
        for order in make_orders(count):
            await producer.send(topic, order.value, key=order.key)
            if order.number % _TELL_EVERY == 0:
                written(order.number)
        # Raises if a single order could not be stored.
        await producer.flush()
    written(count)


def read_values(servers: str, topic: str) -> Values:
    """All committed values of a topic, read as Spark's workers read them."""
    reader = BatchReader(topic_options(servers, topic))
    values: dict[int, list[bytes]] = defaultdict(list)
    for partition in reader.partitions():
        for batch in reader.read(partition):
            for number, value in zip(batch["partition"].to_pylist(), batch["value"].to_pylist(), strict=True):
                values[number].append(value)
    return values


def topic_options(servers: str, topic: str) -> SourceOptions:
    return batch_options({"kafka.bootstrap.servers": servers, "subscribe": topic})


def visible_rows(cluster: SourceCluster) -> int:
    """How many offsets of the topic a reader of committed records can see by now."""
    return sum(cluster.latest(cluster.select().partitions).values())
