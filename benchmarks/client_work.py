"""The work that is measured by `benchmarks.client`: the same for each client library, through its public interface.

Run in a process of its own, `python -m benchmarks.client_work WORK LIBRARY SERVERS TOPIC COUNT`, so that no library
pays for another. Prints the records per second of the work itself, without starting up.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

VALUE = b"v" * 100
LINGER_MS = 5
BATCH_SIZE = 64 * 1024
# How many records a library hands out at once where its users ask for lists.
POLL = 500

Work = Callable[[str, str, int], float]


def _on_uvloop(work: Callable[[str, str, int], Coroutine[Any, Any, float]]) -> Work:
    import uvloop

    return lambda servers, topic, count: uvloop.run(work(servers, topic, count))


# Producing: all records with acks=all and without compression, until all are stored.


async def _produce_tidelog(servers: str, topic: str, count: int) -> float:
    import tidelog

    async with tidelog.Producer(servers, linger_ms=LINGER_MS, batch_size=BATCH_SIZE) as producer:
        await producer.partitions_for(topic)
        started = time.perf_counter()
        for _ in range(count):
            await producer.send(topic, VALUE)
        await producer.flush()
        return count / (time.perf_counter() - started)


async def _produce_tidelog_without_idempotence(servers: str, topic: str, count: int) -> float:
    import tidelog

    async with tidelog.Producer(
        servers, linger_ms=LINGER_MS, batch_size=BATCH_SIZE, enable_idempotence=False, acks="all"
    ) as producer:
        await producer.partitions_for(topic)
        started = time.perf_counter()
        for _ in range(count):
            await producer.send(topic, VALUE)
        await producer.flush()
        return count / (time.perf_counter() - started)


def _produce_tidelog_sync(servers: str, topic: str, count: int) -> float:
    import tidelog.sync

    with tidelog.sync.Producer(servers, linger_ms=LINGER_MS, batch_size=BATCH_SIZE) as producer:
        producer.partitions_for(topic)
        started = time.perf_counter()
        for _ in range(count):
            producer.send(topic, VALUE)
        producer.flush()
        return count / (time.perf_counter() - started)


async def _produce_aiokafka(servers: str, topic: str, count: int) -> float:
    from aiokafka import AIOKafkaProducer

    producer = AIOKafkaProducer(
        bootstrap_servers=servers,
        linger_ms=LINGER_MS,
        max_batch_size=BATCH_SIZE,
        acks="all",
        enable_idempotence=True,
    )
    await producer.start()
    try:
        await producer.partitions_for(topic)
        started = time.perf_counter()
        for _ in range(count):
            await producer.send(topic, VALUE)
        await producer.flush()
        return count / (time.perf_counter() - started)
    finally:
        await producer.stop()


def _produce_kafka_python(servers: str, topic: str, count: int) -> float:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=servers, linger_ms=LINGER_MS, batch_size=BATCH_SIZE, acks="all", enable_idempotence=True
    )
    producer.partitions_for(topic)
    started = time.perf_counter()
    for _ in range(count):
        producer.send(topic, VALUE)
    producer.flush()
    rate = count / (time.perf_counter() - started)
    producer.close()
    return rate


def _produce_confluent(servers: str, topic: str, count: int) -> float:
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": LINGER_MS,
            "batch.size": BATCH_SIZE,
            "acks": "all",
            "enable.idempotence": True,
        }
    )
    producer.list_topics(topic, timeout=30)
    started = time.perf_counter()
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, VALUE)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    producer.flush(120)
    return count / (time.perf_counter() - started)


# Consuming: records one by one, as most programs do it; the clock starts with the first record.


class _Meter:
    """Rate from the first record on."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._count = count
        self._started = 0.0

    def saw(self, records: int) -> bool:
        """Whether these were the last."""
        if self._left == self._count:
            self._started = time.perf_counter()
        self._left -= records
        return self._left <= 0

    def rate(self) -> float:
        return self._count / (time.perf_counter() - self._started)


async def _consume_tidelog(servers: str, topic: str, count: int) -> float:
    import tidelog

    meter = _Meter(count)
    async with tidelog.Consumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        async for record in consumer:
            assert len(record.value or b"") == len(VALUE)
            if meter.saw(1):
                break
        return meter.rate()


async def _consume_tidelog_lists(servers: str, topic: str, count: int) -> float:
    import tidelog

    meter = _Meter(count)
    async with tidelog.Consumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        while True:
            records = await consumer.poll(max_records=POLL)
            for record in records:
                assert len(record.value or b"") == len(VALUE)
            if records and meter.saw(len(records)):
                return meter.rate()


async def _consume_tidelog_columns(servers: str, topic: str, count: int) -> float:
    import tidelog

    meter = _Meter(count)
    async with tidelog.Consumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        while True:
            rows = await consumer.fetch_arrow(with_headers=False)
            if rows.num_rows and meter.saw(rows.num_rows):
                return meter.rate()


def _consume_tidelog_sync(servers: str, topic: str, count: int) -> float:
    import tidelog.sync

    meter = _Meter(count)
    with tidelog.sync.Consumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        for record in consumer:
            assert len(record.value or b"") == len(VALUE)
            if meter.saw(1):
                break
        return meter.rate()


async def _consume_aiokafka(servers: str, topic: str, count: int) -> float:
    from aiokafka import AIOKafkaConsumer

    meter = _Meter(count)
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest")
    await consumer.start()
    try:
        async for record in consumer:
            assert len(record.value or b"") == len(VALUE)
            if meter.saw(1):
                break
        return meter.rate()
    finally:
        await consumer.stop()


async def _consume_aiokafka_lists(servers: str, topic: str, count: int) -> float:
    from aiokafka import AIOKafkaConsumer

    meter = _Meter(count)
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest")
    await consumer.start()
    try:
        while True:
            found = await consumer.getmany(timeout_ms=1000, max_records=POLL)
            for records in found.values():
                for record in records:
                    assert len(record.value or b"") == len(VALUE)
                if meter.saw(len(records)):
                    return meter.rate()
    finally:
        await consumer.stop()


def _consume_kafka_python(servers: str, topic: str, count: int) -> float:
    from kafka import KafkaConsumer

    meter = _Meter(count)
    consumer = KafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    for record in consumer:
        assert len(record.value or b"") == len(VALUE)
        if meter.saw(1):
            break
    rate = meter.rate()
    consumer.close()
    return rate


def _consume_confluent(servers: str, topic: str, count: int) -> float:
    from confluent_kafka import Consumer

    meter = _Meter(count)
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"bench-{topic}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    try:
        while True:
            messages = consumer.consume(POLL, timeout=10)
            for message in messages:
                assert len(message.value() or b"") == len(VALUE)
            if messages and meter.saw(len(messages)):
                return meter.rate()
    finally:
        consumer.close()


WORK: dict[tuple[str, str], Work] = {
    ("produce", "tidelog"): _on_uvloop(_produce_tidelog),
    ("produce", "tidelog without idempotence"): _on_uvloop(_produce_tidelog_without_idempotence),
    ("produce", "tidelog.sync"): _produce_tidelog_sync,
    ("produce", "aiokafka"): _on_uvloop(_produce_aiokafka),
    ("produce", "kafka-python"): _produce_kafka_python,
    ("produce", "confluent-kafka"): _produce_confluent,
    ("consume", "tidelog"): _on_uvloop(_consume_tidelog),
    ("consume", "tidelog in lists"): _on_uvloop(_consume_tidelog_lists),
    ("consume", "tidelog in columns"): _on_uvloop(_consume_tidelog_columns),
    ("consume", "tidelog.sync"): _consume_tidelog_sync,
    ("consume", "aiokafka"): _on_uvloop(_consume_aiokafka),
    ("consume", "aiokafka in lists"): _on_uvloop(_consume_aiokafka_lists),
    ("consume", "kafka-python"): _consume_kafka_python,
    ("consume", "confluent-kafka"): _consume_confluent,
}


def main() -> int:
    work, library, servers, topic, count = sys.argv[1:]
    print(WORK[work, library](servers, topic, int(count)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
