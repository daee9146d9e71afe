"""What a gigabyte costs the broker, in and out: 1 KiB records, one librdkafka producer, linger 5 ms, 1 MB batches.

The bound is the broker's CPU per gigabyte, which does not depend on how busy the other core is with the client.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

from benchmarks.broker_process import MeasuredBroker, broker

RECORD = b"x" * 1024
RECORDS = 600_000

Row = tuple[str, str, str]


def run() -> Iterator[Row]:
    with broker() as target:
        produced = _produce(target)
        consumed = _consume(target, produced.topic)
        yield ("produce 1 KiB records", f"{produced.megabytes_per_second:,.0f} MB/s", "")
        yield ("broker CPU per GB in", f"{produced.cpu_seconds_per_gigabyte:.2f} s", "at most 3 s")
        yield ("consume 1 KiB records", f"{consumed.megabytes_per_second:,.0f} MB/s", "")
        yield ("broker CPU per GB out", f"{consumed.cpu_seconds_per_gigabyte:.2f} s", "at most 2 s")
        yield ("broker memory afterwards", f"{target.memory_megabytes():.0f} MB", "")


class Measured:
    def __init__(self, topic: str, seconds: float, cpu_seconds: float, size: int) -> None:
        self.topic = topic
        self.megabytes_per_second = size / 1e6 / seconds
        self.cpu_seconds_per_gigabyte = cpu_seconds / (size / 1e9)


def _produce(target: MeasuredBroker) -> Measured:
    from confluent_kafka import Producer

    topic = f"hot-{uuid.uuid4().hex[:8]}"
    producer = Producer(
        {
            "bootstrap.servers": target.bootstrap_servers,
            "linger.ms": 5,
            "batch.size": 1_000_000,
            "message.max.bytes": 1_000_000,
            "queue.buffering.max.messages": 100_000,
            "acks": "all",
        }
    )
    producer.list_topics(topic, timeout=10)
    failed: list[str] = []
    delivered = 0

    def report(error: object, _: object) -> None:
        nonlocal delivered
        if error is not None:
            failed.append(str(error))
        delivered += 1

    cpu_before, started = target.cpu_seconds(), time.perf_counter()
    for _ in range(RECORDS):
        while True:
            try:
                producer.produce(topic, RECORD, on_delivery=report)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    producer.flush(120)
    seconds = time.perf_counter() - started
    if failed or delivered != RECORDS:
        raise RuntimeError(f"{delivered} of {RECORDS} delivered, {len(failed)} failed: {failed[:1]}")
    return Measured(topic, seconds, target.cpu_seconds() - cpu_before, RECORDS * len(RECORD))


def _consume(target: MeasuredBroker, topic: str) -> Measured:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": target.bootstrap_servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": 4_000_000,
            "queued.max.messages.kbytes": 262_144,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    consumer.poll(0)
    cpu_before, started = target.cpu_seconds(), time.perf_counter()
    received = 0
    while received < RECORDS:
        messages = consumer.consume(10_000, timeout=10)
        if not messages:
            raise RuntimeError(f"{received} of {RECORDS} received, then nothing for 10 s")
        received += sum(1 for message in messages if message.error() is None)
    seconds = time.perf_counter() - started
    consumer.close()
    return Measured(topic, seconds, target.cpu_seconds() - cpu_before, RECORDS * len(RECORD))
