"""A confluent-kafka producer that keeps account of what was acknowledged and when, and reading all of it back."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition
from support.processes import HANG_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    value: bytes
    offset: int
    at: float


class SteadyProducer:
    """Sends numbered records to partition 0 in a thread of its own until it is told to end."""

    def __init__(self, bootstrap_servers: str, topic: str, *, pause_seconds: float = 0.005, **options: Any) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 0,
                "message.timeout.ms": 30_000,
                "reconnect.backoff.max.ms": 500,
                "retry.backoff.ms": 50,
                **options,
            }
        )
        self._topic = topic
        self._pause_seconds = pause_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.acknowledged: list[Acknowledgement] = []
        self.failures: list[KafkaError] = []
        self.sent = 0

    def __enter__(self) -> SteadyProducer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Stop sending, and wait for what is under way."""
        self._ended.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def longest_silence(self, *, since: float) -> float:
        """The longest time without an acknowledgement, from then on."""
        times = [since, *(each.at for each in self.acknowledged if each.at >= since)]
        return max((after - before for before, after in itertools.pairwise(times)), default=0.0)

    def _run(self) -> None:
        while not self._ended.wait(self._pause_seconds):
            self._producer.produce(self._topic, b"%d" % self.sent, partition=0, on_delivery=self._delivered)
            self.sent += 1
            self._producer.poll(0)
        self._producer.flush(40)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(error)
            return
        value, offset = message.value(), message.offset()
        assert value is not None
        assert offset is not None
        self.acknowledged.append(Acknowledgement(value=value, offset=offset, at=time.monotonic()))


def read_values(
    bootstrap_servers: str, topic: str, *, at_least: int = 0, read_committed: bool = True
) -> dict[int, bytes]:
    """Everything in partition 0 that a reader can see now, by offset; `at_least` as many are waited for.

    A new leader's watermark may be behind what its predecessor has acknowledged, until enough followers have fetched;
    and a transaction is acknowledged before its markers are written. Who reads at such a time says how many there are.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reads-everything",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if read_committed else "read_uncommitted",
            "reconnect.backoff.max.ms": 500,
        }
    )
    found: dict[int, bytes] = {}
    deadline = time.monotonic() + HANG_SECONDS
    try:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        while time.monotonic() < deadline:
            for message in consumer.consume(1000, timeout=0.5):
                error = message.error()
                if error is None:
                    offset, value = message.offset(), message.value()
                    assert offset is not None
                    assert value is not None
                    assert offset not in found, f"offset {offset} was given twice"
                    found[offset] = value
                elif error.code() == KafkaError._PARTITION_EOF and len(found) >= at_least:
                    return found
    finally:
        consumer.close()
    raise TimeoutError(f"the end of {topic} was not reached within {HANG_SECONDS} s; {len(found)} records were read")


def check_nothing_lost(producer: SteadyProducer, found: dict[int, bytes]) -> None:
    """Every acknowledged record is where it was acknowledged, none is there twice, and they keep their order."""
    missing = [each for each in producer.acknowledged if found.get(each.offset) != each.value]
    assert not missing, f"{len(missing)} of {len(producer.acknowledged)} acknowledged records are lost: {missing[:3]}"
    values = [found[offset] for offset in sorted(found)]
    numbers = [int(value) for value in values if value.isdigit()]
    assert numbers == sorted(set(numbers)), "records are there twice or out of order"
