"""What is measured of client libraries: the same work for each of them, through its public interface.

Run in a process of its own, `python -m benchmarks.comparison.client_work WORK LIBRARY SERVERS TOPIC COUNT SIZE`, so
that no library pays for another. Prints the records per second of the work itself, without starting up, and the
processor time that the process took for a record, with all of its threads, in microseconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

LINGER_MS = 5
BATCH_SIZE = 64 * 1024
PARTITIONS = 3
# How many records a library hands out at once where its users ask for lists.
POLL = 500

# Servers, topic, number of records, size of each.
Work = Callable[[str, str, int, int], "Rate"]


class Rate(NamedTuple):
    records_per_second: float
    cpu_microseconds: float


class Meter:
    """Measures from its making on, or from the first record on if it is told of records."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._count = count
        self._begin()

    def _begin(self) -> None:
        self._started, self._cpu = time.perf_counter(), time.process_time()

    def saw(self, records: int) -> bool:
        """Whether these were the last."""
        if self._left == self._count:
            self._begin()
        self._left -= records
        return self._left <= 0

    def rate(self) -> Rate:
        cpu = time.process_time() - self._cpu
        return Rate(self._count / (time.perf_counter() - self._started), cpu / self._count * 1e6)


def _on_uvloop(work: Callable[[str, str, int, int], Coroutine[Any, Any, Rate]]) -> Work:
    import uvloop

    return lambda servers, topic, count, size: uvloop.run(work(servers, topic, count, size))


# Producing: all records with acks=all and without compression, until all are stored.


async def _produce_tidelog(servers: str, topic: str, count: int, size: int) -> Rate:
    import tidelog

    async with tidelog.Producer(servers, linger_ms=LINGER_MS, batch_size=BATCH_SIZE) as producer:
        await producer.partitions_for(topic)
        value = bytes(size)
        meter = Meter(count)
        for _ in range(count):
            await producer.send(topic, value)
        await producer.flush()
        return meter.rate()


async def _produce_tidelog_without_idempotence(servers: str, topic: str, count: int, size: int) -> Rate:
    import tidelog

    async with tidelog.Producer(
        servers, linger_ms=LINGER_MS, batch_size=BATCH_SIZE, enable_idempotence=False, acks="all"
    ) as producer:
        await producer.partitions_for(topic)
        value = bytes(size)
        meter = Meter(count)
        for _ in range(count):
            await producer.send(topic, value)
        await producer.flush()
        return meter.rate()


def _produce_tidelog_sync(servers: str, topic: str, count: int, size: int) -> Rate:
    import tidelog.sync

    with tidelog.sync.Producer(servers, linger_ms=LINGER_MS, batch_size=BATCH_SIZE) as producer:
        producer.partitions_for(topic)
        value = bytes(size)
        meter = Meter(count)
        for _ in range(count):
            producer.send(topic, value)
        producer.flush()
        return meter.rate()


async def _produce_aiokafka(servers: str, topic: str, count: int, size: int) -> Rate:
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
        value = bytes(size)
        meter = Meter(count)
        for _ in range(count):
            await producer.send(topic, value)
        await producer.flush()
        return meter.rate()
    finally:
        await producer.stop()


def _produce_kafka_python(servers: str, topic: str, count: int, size: int) -> Rate:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=servers, linger_ms=LINGER_MS, batch_size=BATCH_SIZE, acks="all", enable_idempotence=True
    )
    producer.partitions_for(topic)
    value = bytes(size)
    meter = Meter(count)
    for _ in range(count):
        producer.send(topic, value)
    producer.flush()
    rate = meter.rate()
    producer.close()
    return rate


def _produce_confluent(servers: str, topic: str, count: int, size: int) -> Rate:
    from confluent_kafka import Producer

    problems: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": LINGER_MS,
            "batch.size": BATCH_SIZE,
            "acks": "all",
            "enable.idempotence": True,
            # What the others tell of each record, this one tells only of those that fail: it is faster so.
            "delivery.report.only.error": True,
            "on_delivery": lambda error, _: problems.append(error),
        }
    )
    producer.list_topics(topic, timeout=30)
    value = bytes(size)
    meter = Meter(count)
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
    left = producer.flush(120)
    rate = meter.rate()
    if left or problems:
        raise RuntimeError(f"{left} records were not acknowledged, {len(problems)} failed: {problems[:1]}")
    return rate


# Consuming: records one by one, as most programs do it, and in lists; the clock starts with the first record.


async def _consume_tidelog(servers: str, topic: str, count: int, size: int) -> Rate:
    import tidelog

    meter = Meter(count)
    async with tidelog.Consumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        async for record in consumer:
            assert len(record.value or b"") == size
            if meter.saw(1):
                break
        return meter.rate()


async def _consume_tidelog_lists(servers: str, topic: str, count: int, size: int) -> Rate:
    import tidelog

    meter = Meter(count)
    async with tidelog.Consumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        while True:
            records = await consumer.poll(max_records=POLL)
            for record in records:
                assert len(record.value or b"") == size
            if records and meter.saw(len(records)):
                return meter.rate()


def _consume_tidelog_sync(servers: str, topic: str, count: int, size: int) -> Rate:
    import tidelog.sync

    meter = Meter(count)
    with tidelog.sync.Consumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        for record in consumer:
            assert len(record.value or b"") == size
            if meter.saw(1):
                break
        return meter.rate()


def _consume_tidelog_sync_lists(servers: str, topic: str, count: int, size: int) -> Rate:
    import tidelog.sync

    meter = Meter(count)
    with tidelog.sync.Consumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        while True:
            records = consumer.poll(max_records=POLL)
            for record in records:
                assert len(record.value or b"") == size
            if records and meter.saw(len(records)):
                return meter.rate()


async def _consume_aiokafka(servers: str, topic: str, count: int, size: int) -> Rate:
    from aiokafka import AIOKafkaConsumer

    meter = Meter(count)
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest")
    await consumer.start()
    try:
        async for record in consumer:
            assert len(record.value or b"") == size
            if meter.saw(1):
                break
        return meter.rate()
    finally:
        await consumer.stop()


async def _consume_aiokafka_lists(servers: str, topic: str, count: int, size: int) -> Rate:
    from aiokafka import AIOKafkaConsumer

    meter = Meter(count)
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest")
    await consumer.start()
    try:
        while True:
            found = await consumer.getmany(timeout_ms=1000, max_records=POLL)
            for records in found.values():
                for record in records:
                    assert len(record.value or b"") == size
                if meter.saw(len(records)):
                    return meter.rate()
    finally:
        await consumer.stop()


def _consume_kafka_python(servers: str, topic: str, count: int, size: int) -> Rate:
    from kafka import KafkaConsumer

    meter = Meter(count)
    consumer = KafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    for record in consumer:
        assert len(record.value or b"") == size
        if meter.saw(1):
            break
    rate = meter.rate()
    consumer.close()
    return rate


def _consume_kafka_python_lists(servers: str, topic: str, count: int, size: int) -> Rate:
    from kafka import KafkaConsumer

    meter = Meter(count)
    consumer = KafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    while True:
        for records in consumer.poll(timeout_ms=1000, max_records=POLL).values():
            for record in records:
                assert len(record.value or b"") == size
            if meter.saw(len(records)):
                rate = meter.rate()
                consumer.close()
                return rate


def _consume_confluent(servers: str, topic: str, count: int, size: int) -> Rate:
    """In lists, also where the others read one by one: with `poll` it would be slower."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    meter = Meter(count)
    # All the others check the checksums of batches unless they are told not to.
    options = {"bootstrap.servers": servers, "group.id": topic, "enable.auto.commit": False, "check.crcs": True}
    consumer = Consumer(options)
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)])
    try:
        while True:
            messages = consumer.consume(POLL, timeout=0.1)
            for message in messages:
                assert len(message.value() or b"") == size
            if messages and meter.saw(len(messages)):
                return meter.rate()
    finally:
        consumer.close()


WORK: dict[tuple[str, str], Work] = {
    ("produce", "tidelog asyncio"): _on_uvloop(_produce_tidelog),
    ("produce", "tidelog without idempotence"): _on_uvloop(_produce_tidelog_without_idempotence),
    ("produce", "tidelog sync"): _produce_tidelog_sync,
    ("produce", "aiokafka"): _on_uvloop(_produce_aiokafka),
    ("produce", "kafka-python"): _produce_kafka_python,
    ("produce", "confluent-kafka"): _produce_confluent,
    ("consume", "tidelog asyncio"): _on_uvloop(_consume_tidelog),
    ("consume", "tidelog sync"): _consume_tidelog_sync,
    ("consume", "aiokafka"): _on_uvloop(_consume_aiokafka),
    ("consume", "kafka-python"): _consume_kafka_python,
    ("consume", "confluent-kafka"): _consume_confluent,
    ("consume in lists", "tidelog asyncio"): _on_uvloop(_consume_tidelog_lists),
    ("consume in lists", "tidelog sync"): _consume_tidelog_sync_lists,
    ("consume in lists", "aiokafka"): _on_uvloop(_consume_aiokafka_lists),
    ("consume in lists", "kafka-python"): _consume_kafka_python_lists,
    ("consume in lists", "confluent-kafka"): _consume_confluent,
}


def main() -> int:
    work, library, servers, topic, count, size = sys.argv[1:]
    rate = WORK[work, library](servers, topic, int(count), int(size))
    print(*rate)
    return 0


if __name__ == "__main__":
    sys.exit(main())
