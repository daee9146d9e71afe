"""From producer to consumer at a fixed rate.

The producer is a process of its own, so that it does not wait for the consumer's interpreter lock; both read the same
monotonic clock. Records are read with single polls.
"""

from __future__ import annotations

import multiprocessing
import struct
import time
from functools import partial

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.comparison.figures import Figure
from benchmarks.comparison.librdkafka import create_topic
from benchmarks.comparison.scenario import Measured, Scenario, Turn

SECONDS = 8.0
# Of these, what belongs to connections and first fetches.
WARM_UP_SECONDS = 1.0
SIZE = 100
_TIME = struct.Struct(">d")
SILENCE_SECONDS = 30.0


def scenarios() -> list[Scenario]:
    slow, fast = 1_000, 20_000
    return [
        _scenario(slow, linger_ms=0, goals={50: 0.8, 99: 0.3, 99.9: 0.3}, quick=True),
        _scenario(fast, linger_ms=5, goals={50: None, 99: 0.7}, quick=False),
    ]


def _scenario(rate: int, *, linger_ms: int, goals: dict[float, float | None], quick: bool) -> Scenario:
    figures = tuple(
        Figure(name=f"end to end at {rate:,}/s, p{percent:g}", unit="ms", more_is_better=False, goal=goal)
        for percent, goal in goals.items()
    )
    measure = partial(_measure, figures, tuple(goals), rate=rate, linger_ms=linger_ms)
    return Scenario(name=f"latency-{rate}", figures=figures, measure=measure, quick=quick, plain=True, empty=True)


def _measure(
    figures: tuple[Figure, ...], percents: tuple[float, ...], turn: Turn, *, rate: int, linger_ms: int
) -> Measured:
    create_topic(turn.server, turn.label)
    count = int(rate * (WARM_UP_SECONDS + SECONDS * turn.scale))
    consumer = Consumer({"bootstrap.servers": turn.server.bootstrap_servers, "group.id": turn.label, "log_level": 0})
    consumer.assign([TopicPartition(turn.label, 0, 0)])
    arguments = (turn.server.bootstrap_servers, turn.label, count, rate, linger_ms)
    producer = multiprocessing.get_context("spawn").Process(target=_send, args=arguments, daemon=True)
    producer.start()
    found: list[float] = []
    last_at = time.monotonic()
    while len(found) < count:
        message = consumer.poll(0.1)
        now = time.monotonic()
        if message is not None and message.error() is None:
            value = message.value()
            assert value is not None
            found.append((now - _TIME.unpack_from(value)[0]) * 1000)
            last_at = now
        elif now - last_at > SILENCE_SECONDS:
            raise RuntimeError(f"{len(found)} of {count} records arrived, then none for {SILENCE_SECONDS:.0f} s")
    producer.join(30)
    consumer.close()
    counted = sorted(found[int(rate * WARM_UP_SECONDS) :])
    values = [counted[min(int(len(counted) * percent / 100), len(counted) - 1)] for percent in percents]
    return {figure.name: value for figure, value in zip(figures, values, strict=True)}


def _send(servers: str, topic: str, count: int, rate: int, linger_ms: int) -> None:
    """At the rate, whatever the broker does: a record that is late because the sender was held up counts as late."""
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "linger.ms": linger_ms, "log_level": 0})
    producer.list_topics(topic, timeout=30)
    padding = b"x" * (SIZE - _TIME.size)
    begun = time.monotonic()
    for number in range(count):
        due = begun + number / rate
        while (now := time.monotonic()) < due:
            producer.poll(0)
            time.sleep(min(due - now, 0.001))
        producer.produce(topic, _TIME.pack(due) + padding, partition=0)
    producer.flush(60)
