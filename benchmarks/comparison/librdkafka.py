"""Producing and consuming with librdkafka, with the same settings for every side; only complete runs count."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.comparison.contestants import Server

TIMEOUT_SECONDS = 120
PRODUCER: Mapping[str, Any] = {
    "linger.ms": 5,
    "batch.size": 1_000_000,
    "acks": "all",
    "enable.idempotence": True,
    "queue.buffering.max.messages": 2_000_000,
    "queue.buffering.max.kbytes": 400_000,
    "delivery.report.only.error": True,
    "log_level": 0,
}
CONSUMER: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "fetch.max.bytes": 50_000_000,
    "max.partition.fetch.bytes": 10_000_000,
    "queued.max.messages.kbytes": 200_000,
    "queued.min.messages": 1_000_000,
    "log_level": 0,
}


@dataclass(slots=True)
class Spent:
    """What a block took; known when it has ended."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0


@contextmanager
def spending(server: Server) -> Iterator[Spent]:
    spent = Spent()
    cpu_before, started = server.cpu_seconds(), time.perf_counter()
    yield spent
    spent.seconds = time.perf_counter() - started
    spent.cpu_seconds = server.cpu_seconds() - cpu_before


def create_topic(server: Server, name: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
    """With as many replicas as there are nodes; it returns when the cluster has all of its nodes and leaders."""
    admin = AdminClient({"bootstrap.servers": server.bootstrap_servers, "log_level": 0})
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while len(admin.list_topics(timeout=30).brokers) < len(server.nodes):
        _expect(time.monotonic() < deadline, "the nodes have not found each other")
        time.sleep(0.1)
    topic = NewTopic(name, partitions, len(server.nodes), config=dict(configs or {}))
    admin.create_topics([topic])[name].result(TIMEOUT_SECONDS)
    while not _has_leaders(admin, name, partitions):
        _expect(time.monotonic() < deadline, f"topic {name} has no leaders")
        time.sleep(0.05)


def _has_leaders(admin: AdminClient, name: str, partitions: int) -> bool:
    found = admin.list_topics(name, timeout=30).topics[name]
    return len(found.partitions) == partitions and all(each.leader >= 0 for each in found.partitions.values())


def produce(server: Server, topic: str, *, size: int, count: int, options: Mapping[str, Any] | None = None) -> Spent:
    """Send the records, one connection, and wait for all acknowledgements."""
    problems: list[str] = []
    settings = {**PRODUCER, "bootstrap.servers": server.bootstrap_servers, **(options or {})}
    producer = Producer(settings)

    def failed(error: object, _: object) -> None:
        problems.append(str(error))

    value = os.urandom(size)
    producer.produce(topic, value, on_delivery=failed)
    _expect(producer.flush(TIMEOUT_SECONDS) == 0, f"the first record to {topic} was not acknowledged")
    with spending(server) as spent:
        for number in range(count - 1):
            while True:
                try:
                    producer.produce(topic, value, on_delivery=failed)
                    break
                except BufferError:
                    producer.poll(0.05)
            if number % 1000 == 0:
                producer.poll(0)
        left = producer.flush(TIMEOUT_SECONDS)
    _expect(left == 0 and not problems, f"{left} records not acknowledged, {len(problems)} failed: {problems[:1]}")
    return spent


def consume(server: Server, topic: str, *, count: int, partitions: int = 1) -> Spent:
    """Read all records from the beginning."""
    consumer = Consumer({**CONSUMER, "bootstrap.servers": server.bootstrap_servers, "group.id": topic})
    received = 0
    with spending(server) as spent:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        last_at = time.monotonic()
        while received < count:
            got = sum(1 for message in consumer.consume(10_000, 1.0) if message.error() is None)
            received += got
            if got:
                last_at = time.monotonic()
            _expect(
                time.monotonic() - last_at < TIMEOUT_SECONDS, f"{received} of {count} records received, then nothing"
            )
    consumer.close()
    return spent


def first_record(server: Server, topic: str) -> None:
    """Produce one record, to a topic that comes into being with it."""
    producer = Producer({"bootstrap.servers": server.bootstrap_servers, "linger.ms": 0, "log_level": 0})
    producer.produce(topic, b"first")
    _expect(producer.flush(TIMEOUT_SECONDS) == 0, "the first record was not acknowledged")


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise RuntimeError(otherwise)
