"""Producing and consuming with librdkafka, with the same settings for every side; only complete runs count."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.comparison.contestants import Server

TIMEOUT_SECONDS = 120
# librdkafka chooses the partition.
ANY_PARTITION = -1
# To one partition before the next one, where they are chosen, so that batches become large.
RECORDS_IN_A_ROW = 1000
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
    """With as many copies as the cluster keeps; it returns when the cluster has all of its nodes and leaders."""
    admin = AdminClient({"bootstrap.servers": server.bootstrap_servers, "log_level": 0, **server.client})
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while len(admin.list_topics(timeout=30).brokers) < len(server.nodes):
        _expect(time.monotonic() < deadline, "the nodes have not found each other")
        time.sleep(0.1)
    topic = NewTopic(name, partitions, server.copies, config=dict(configs or {}))
    admin.create_topics([topic])[name].result(TIMEOUT_SECONDS)
    while not _has_leaders(admin, name, partitions):
        _expect(time.monotonic() < deadline, f"topic {name} has no leaders")
        time.sleep(0.05)


def _has_leaders(admin: AdminClient, name: str, partitions: int) -> bool:
    found = admin.list_topics(name, timeout=30).topics[name]
    return len(found.partitions) == partitions and all(each.leader >= 0 for each in found.partitions.values())


def produce(server: Server, topic: str, *, size: int, count: int, options: Mapping[str, Any] | None = None) -> Spent:
    """Send the records, one connection, and wait for all acknowledgements."""
    sending = Sending(server.bootstrap_servers, topic, size=size, options={**server.client, **(options or {})})
    with spending(server) as spent:
        sending.send(count - 1)
    return spent


class Sending:
    """A producer that has sent its first record: it is connected to the leaders of these partitions, or of any."""

    def __init__(
        self,
        servers: str,
        topic: str,
        *,
        size: int,
        partitions: Sequence[int] = (ANY_PARTITION,),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._producer = Producer({**PRODUCER, "bootstrap.servers": servers, **(options or {})})
        self._topic = topic
        self._value = os.urandom(size)
        self._partitions = partitions
        self._problems: list[str] = []
        for partition in partitions:
            self._producer.produce(topic, self._value, partition=partition, on_delivery=self._failed)
        _expect(self._producer.flush(TIMEOUT_SECONDS) == 0, f"the first record to {topic} was not acknowledged")

    def send(self, count: int) -> None:
        """So many more records, until all are acknowledged."""
        produce, value, topic, problems = self._producer.produce, self._value, self._topic, self._problems
        partition = self._partitions[0]
        for number in range(count):
            if number % RECORDS_IN_A_ROW == 0:
                partition = self._partitions[number // RECORDS_IN_A_ROW % len(self._partitions)]
                self._producer.poll(0)
            while True:
                try:
                    produce(topic, value, partition=partition, on_delivery=self._failed)
                    break
                except BufferError:
                    self._producer.poll(0.05)
        left = self._producer.flush(TIMEOUT_SECONDS)
        _expect(left == 0 and not problems, f"{left} records not acknowledged, {len(problems)} failed: {problems[:1]}")

    def _failed(self, error: object, _: object) -> None:
        self._problems.append(str(error))


def consume(server: Server, topic: str, *, count: int, partitions: int = 1) -> Spent:
    """Read all records from the beginning."""
    with spending(server) as spent:
        read_all(server.bootstrap_servers, topic, count=count, partitions=range(partitions), options=server.client)
    return spent


def read_all(
    servers: str, topic: str, *, count: int, partitions: Iterable[int], options: Mapping[str, Any] | None = None
) -> None:
    consumer = Consumer({**CONSUMER, "bootstrap.servers": servers, "group.id": topic, **(options or {})})
    received = 0
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    last_at = time.monotonic()
    while received < count:
        # Never more than there are: librdkafka would wait for them.
        got = sum(1 for message in consumer.consume(min(10_000, count - received), 1.0) if message.error() is None)
        received += got
        if got:
            last_at = time.monotonic()
        _expect(time.monotonic() - last_at < TIMEOUT_SECONDS, f"{received} of {count} records received, then nothing")
    consumer.close()


def first_record(server: Server, topic: str) -> None:
    """Produce one record, to a topic that comes into being with it."""
    producer = Producer({"bootstrap.servers": server.bootstrap_servers, "linger.ms": 0, "log_level": 0})
    producer.produce(topic, b"first")
    _expect(producer.flush(TIMEOUT_SECONDS) == 0, "the first record was not acknowledged")


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise RuntimeError(otherwise)
