"""Applications that use transactions and survive what happens to their brokers; and what must hold afterwards.

They run on a thread of their own until they are told to stop. The invariants are those of the scenarios: I2 (whole or
not there), I3 (nothing aborted), I4 (nothing twice), I6 (in order), I8 (output equals input).
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from support.present import present
from support.processes import HANG_SECONDS

STEP_SECONDS = 60
TRANSACTION_SECONDS = 10


class Unanswered(Exception):
    """The client never came back from a call, long after the time it was given."""


def answered(call: Callable[[], object]) -> None:
    """Wait for a call of a transaction for twice as long as the broker keeps the transaction open.

    librdkafka 2.16 throws away a broker that is not in the metadata, which is so while it is fenced. It then waits for
    ever to send a group's offsets to the one that it threw away, whatever timeout it was given: nothing wakes up the
    request (`creq_ts_timeout` is never read). An application that does not move is restarted by whoever runs it, and
    so is ours: what hangs is left to itself, and fenced by the next producer of its name.
    """
    outcome: Future[None] = Future()

    def run() -> None:
        try:
            call()
        except BaseException as problem:
            outcome.set_exception(problem)
        else:
            outcome.set_result(None)

    threading.Thread(target=run, daemon=True).start()
    try:
        outcome.result(2 * TRANSACTION_SECONDS)
    except TimeoutError:
        raise Unanswered from None


class Application(threading.Thread):
    """Use as a context manager: starts at the beginning, ends at the end."""

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(daemon=True)
        self.bootstrap_servers = bootstrap_servers
        self.stopping = False
        self.failure: BaseException | None = None

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping = True
        self.join(3 * STEP_SECONDS)
        assert not self.is_alive(), "the application does not end"
        if self.failure is not None:
            raise self.failure

    def run(self) -> None:
        try:
            self.work()
        except BaseException as failure:
            self.failure = failure

    def work(self) -> None:
        raise NotImplementedError

    def producer(self, transactional_id: str) -> Producer:
        opened = Producer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_SECONDS * 1000,
                "socket.timeout.ms": 5000,
                # When all brokers are away, librdkafka 2.16 otherwise throws away what it knew of them, but goes on to
                # send the offsets of a transaction through the broker that it threw away, and waits for ever.
                "metadata.recovery.strategy": "none",
                "log_level": 0,
            }
        )
        opened.init_transactions(STEP_SECONDS)
        return opened


class Writer(Application):
    """Writes each number to all partitions of a topic in one transaction; every fifth one it aborts."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        super().__init__(bootstrap_servers)
        self._topic = topic
        self._partitions = partitions
        self.committed: list[str] = []
        self.aborted: list[str] = []
        # Whether these are committed is not known; they must be so in all partitions or in none.
        self.unknown: list[str] = []

    def work(self) -> None:
        numbers = itertools.count()
        producer: Producer | None = None
        while not self.stopping:
            number = next(numbers)
            value = str(number)
            try:
                producer = producer or self.producer("writer")
                producer.begin_transaction()
                for partition in range(self._partitions):
                    producer.produce(self._topic, value.encode(), partition=partition)
                if number % 5 == 4:
                    self.aborted.append(value)
                    producer.flush(STEP_SECONDS)
                    producer.abort_transaction(STEP_SECONDS)
                else:
                    producer.commit_transaction(STEP_SECONDS)
                    self.committed.append(value)
            except KafkaException:
                self.unknown.append(value)
                producer = None

    def check(self, found: list[list[str]]) -> None:
        first = found[0]
        assert all(values == first for values in found), "a transaction is in some partitions and not in others"
        assert len(first) == len(set(first)), "a record is there twice"
        assert first == sorted(first, key=int), "records are out of order"
        assert set(self.committed) <= set(first), "an acknowledged transaction is lost"
        assert not set(self.aborted) & set(first), "an aborted transaction is visible"


class Feeder(Application):
    """Writes numbers into one partition, a few at a time, until it is told to stop."""

    def __init__(self, bootstrap_servers: str, topic: str, *, pause_seconds: float = 0.01) -> None:
        super().__init__(bootstrap_servers)
        self._topic = topic
        self._pause_seconds = pause_seconds
        self.written = 0

    def work(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "enable.idempotence": True, "log_level": 0})
        while not self.stopping:
            for _ in range(10):
                producer.produce(self._topic, str(self.written).encode(), partition=0)
                self.written += 1
            producer.flush(STEP_SECONDS)
            time.sleep(self._pause_seconds)
        assert producer.flush(STEP_SECONDS) == 0


class Copier(Application):
    """Consumes, processes and produces: each record of one partition into another, with its offset."""

    def __init__(self, bootstrap_servers: str, source: str, target: str) -> None:
        super().__init__(bootstrap_servers)
        self._source = source
        self._target = target
        self.copied = 0
        # Why it began again with new clients, the last time.
        self.restarted: BaseException | None = None

    def work(self) -> None:
        while not self.stopping:
            try:
                self._copy()
            except (KafkaException, Unanswered) as problem:
                self.restarted = problem

    def _copy(self) -> None:
        producer = self.producer("copier")
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "copier",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 6000,
                "log_level": 0,
            }
        )
        consumer.subscribe([self._source])
        try:
            while not self.stopping:
                messages = [message for message in consumer.consume(20, 0.2) if message.error() is None]
                if not messages:
                    continue
                producer.begin_transaction()
                for message in messages:
                    producer.produce(self._target, message.value(), partition=present(message.partition()))
                positions, group = consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
                answered(partial(producer.send_offsets_to_transaction, positions, group, STEP_SECONDS))
                producer.commit_transaction(STEP_SECONDS)
                self.copied += len(messages)
        finally:
            consumer.close()


def read_committed(
    bootstrap_servers: str, topic: str, partitions: int, within_seconds: float = HANG_SECONDS
) -> list[list[str]]:
    """All committed values of each partition, up to its end at the time of the call (I7: it is reached in time)."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    parts = [TopicPartition(topic, number, 0) for number in range(partitions)]
    consumer.assign(parts)
    ends = [consumer.get_watermark_offsets(part, timeout=30)[1] for part in parts]
    values: list[list[str]] = [[] for _ in parts]
    positions: dict[int, int] = {}
    deadline = time.monotonic() + within_seconds
    try:
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                values[present(message.partition())].append(present(message.value()).decode())
                continue
            positions = {part.partition: part.offset for part in consumer.position(parts)}
            if all(positions[number] >= end for number, end in enumerate(ends)):
                return values
    finally:
        consumer.close()
    raise AssertionError(f"the end {ends} was not reached: {positions}")
