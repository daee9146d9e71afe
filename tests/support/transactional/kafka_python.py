"""kafka-python under the transactional contract."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import InvalidProducerEpochError, KafkaError, ProducerFencedError
from kafka.structs import ConsumerGroupMetadata
from support.transactional.contract import STEP_TIMEOUT_SECONDS, Fenced, Refused


class KafkaPythonTransactions:
    name = "kafka-python"
    speaks_second_version = False
    sends_group_metadata = True

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._producers: dict[str, Any] = {}

    def init(self, producer: str, transactional_id: str, *, timeout_ms: int = 60_000) -> None:
        opened = KafkaProducer(
            bootstrap_servers=self._bootstrap_servers,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            max_block_ms=STEP_TIMEOUT_SECONDS * 1000,
        )
        self._producers[producer] = opened
        with _translated():
            opened.init_transactions()

    def begin(self, producer: str) -> None:
        with _translated():
            self._producers[producer].begin_transaction()

    def send(self, producer: str, topic: str, value: str, *, partition: int = 0) -> None:
        with _translated():
            future = self._producers[producer].send(topic, value.encode(), partition=partition)
            future.get(STEP_TIMEOUT_SECONDS)

    def send_offsets(self, producer: str, group: str, topic: str, offset: int, *, partition: int = 0) -> None:
        with _translated():
            self._producers[producer].send_offsets_to_transaction(
                {TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)},
                ConsumerGroupMetadata(group, -1, "", None),
            )

    def commit(self, producer: str) -> None:
        with _translated():
            self._producers[producer].commit_transaction()

    def abort(self, producer: str) -> None:
        with _translated():
            self._producers[producer].abort_transaction()

    def close(self, producer: str) -> None:
        opened = self._producers.pop(producer, None)
        if opened is not None:
            with suppress(KafkaError):
                opened.close(timeout=2)

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
                records: list[ConsumerRecord] = [
                    record for part in consumer.poll(200, max_records=10).values() for record in part
                ]
                if not records:
                    continue
                with _translated():
                    opened.begin_transaction()
                    for record in records:
                        opened.send(target, record.value, partition=record.partition)
                    offsets = {
                        part: OffsetAndMetadata(consumer.position(part), "", -1) for part in consumer.assignment()
                    }
                    opened.send_offsets_to_transaction(offsets, consumer.group_metadata())
                    opened.commit_transaction()
                copied += len(records)
        finally:
            consumer.close()

    def read(self, topic: str, *, committed: bool, count: int, partition: int = 0) -> list[str]:
        consumer = self._consumer(None, committed=committed)
        at = TopicPartition(topic, partition)
        consumer.assign([at])
        consumer.seek_to_beginning(at)
        values: list[str] = []
        deadline = time.monotonic() + STEP_TIMEOUT_SECONDS
        try:
            while len(values) < count:
                if time.monotonic() > deadline:
                    raise Refused(f"only {values} were there")
                for records in consumer.poll(200).values():
                    values += [record.value.decode() for record in records]
        finally:
            consumer.close()
        return values[:count]

    def close_all(self) -> None:
        for producer in list(self._producers):
            self.close(producer)

    def _consumer(self, group: str | None, *, committed: bool) -> Any:
        return KafkaConsumer(
            bootstrap_servers=self._bootstrap_servers,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed" if committed else "read_uncommitted",
        )


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (ProducerFencedError, InvalidProducerEpochError) as problem:
        raise Fenced(str(problem)) from problem
    except KafkaError as problem:
        fenced = isinstance(problem.__cause__, ProducerFencedError | InvalidProducerEpochError)
        raise (Fenced if fenced or "fenced" in repr(problem).lower() else Refused)(repr(problem)) from problem
