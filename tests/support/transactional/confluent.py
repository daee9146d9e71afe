"""confluent-kafka (librdkafka) under the transactional contract."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from support.present import present
from support.transactional.contract import STEP_TIMEOUT_SECONDS, Fenced, Refused

_FENCING = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)


class ConfluentTransactions:
    name = "confluent-kafka"
    speaks_second_version = False
    sends_group_metadata = True

    def __init__(self, bootstrap_servers: str) -> None:
        self._settings = {"bootstrap.servers": bootstrap_servers}
        self._producers: dict[str, Producer] = {}

    def init(self, producer: str, transactional_id: str, *, timeout_ms: int = 60_000) -> None:
        opened = Producer(
            {**self._settings, "transactional.id": transactional_id, "transaction.timeout.ms": timeout_ms}
        )
        self._producers[producer] = opened
        with _translated():
            opened.init_transactions(STEP_TIMEOUT_SECONDS)

    def begin(self, producer: str) -> None:
        with _translated():
            self._producers[producer].begin_transaction()

    def send(self, producer: str, topic: str, value: str, *, partition: int = 0) -> None:
        outcomes: list[KafkaError | None] = []
        opened = self._producers[producer]
        with _translated():
            opened.produce(
                topic, value.encode(), partition=partition, on_delivery=lambda error, _: outcomes.append(error)
            )
            opened.flush(STEP_TIMEOUT_SECONDS)
            if not outcomes or outcomes[0] is not None:
                raise KafkaException(outcomes[0] if outcomes else KafkaError(KafkaError._TIMED_OUT))

    def send_offsets(self, producer: str, group: str, topic: str, offset: int, *, partition: int = 0) -> None:
        consumer = Consumer({**self._settings, "group.id": group})
        try:
            with _translated():
                self._producers[producer].send_offsets_to_transaction(
                    [TopicPartition(topic, partition, offset)], consumer.consumer_group_metadata(), STEP_TIMEOUT_SECONDS
                )
        finally:
            consumer.close()

    def commit(self, producer: str) -> None:
        with _translated():
            self._producers[producer].commit_transaction(STEP_TIMEOUT_SECONDS)

    def abort(self, producer: str) -> None:
        with _translated():
            self._producers[producer].abort_transaction(STEP_TIMEOUT_SECONDS)

    def close(self, producer: str) -> None:
        self._producers.pop(producer, None)

    def copy(self, producer: str, group: str, source: str, target: str, *, count: int) -> None:
        opened = self._producers[producer]
        consumer = self._consumer(group, committed=True)
        consumer.subscribe([source])
        copied = 0
        deadline = time.monotonic() + STEP_TIMEOUT_SECONDS
        try:
            while copied < count:
                if time.monotonic() > deadline:
                    raise Refused(f"only {copied} of {count} records were there")
                messages = [message for message in consumer.consume(10, 0.2) if message.error() is None]
                if not messages:
                    continue
                with _translated():
                    opened.begin_transaction()
                    for message in messages:
                        opened.produce(target, message.value(), partition=present(message.partition()))
                    opened.send_offsets_to_transaction(
                        consumer.position(consumer.assignment()),
                        consumer.consumer_group_metadata(),
                        STEP_TIMEOUT_SECONDS,
                    )
                    opened.commit_transaction(STEP_TIMEOUT_SECONDS)
                copied += len(messages)
        finally:
            consumer.close()

    def read(self, topic: str, *, committed: bool, count: int, partition: int = 0) -> list[str]:
        consumer = self._consumer("unused", committed=committed)
        consumer.assign([TopicPartition(topic, partition, 0)])
        values: list[str] = []
        deadline = time.monotonic() + STEP_TIMEOUT_SECONDS
        try:
            while len(values) < count:
                if time.monotonic() > deadline:
                    raise Refused(f"only {values} were there")
                message = consumer.poll(0.2)
                if message is not None and message.error() is None:
                    values.append(present(message.value()).decode())
        finally:
            consumer.close()
        return values

    def close_all(self) -> None:
        self._producers.clear()

    def _consumer(self, group: str, *, committed: bool) -> Consumer:
        settings: dict[str, Any] = {
            **self._settings,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
        return Consumer(settings)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (KafkaException, SystemError) as problem:
        # If a fatal error is served before the failed delivery, confluent-kafka calls our callback with the exception
        # set already, which Python reports as a SystemError that the exception has caused.
        reason = problem.__cause__ if isinstance(problem, SystemError) else problem
        if not isinstance(reason, KafkaException):
            raise
        error = reason.args[0]
        raise (Fenced if error.code() in _FENCING else Refused)(str(error)) from problem
