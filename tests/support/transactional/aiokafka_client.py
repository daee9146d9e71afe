"""aiokafka under the transactional contract. Its producers live in an event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidProducerEpoch, KafkaError, ProducerFenced
from support.transactional.contract import STEP_TIMEOUT_SECONDS, Fenced, Refused

Result = TypeVar("Result")


class AiokafkaTransactions:
    name = "aiokafka"
    speaks_second_version = False
    sends_group_metadata = False

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._producers: dict[str, AIOKafkaProducer] = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def init(self, producer: str, transactional_id: str, *, timeout_ms: int = 60_000) -> None:
        async def open_one() -> None:
            opened = AIOKafkaProducer(
                bootstrap_servers=self._bootstrap_servers,
                transactional_id=transactional_id,
                transaction_timeout_ms=timeout_ms,
            )
            self._producers[producer] = opened
            await opened.start()

        self._run(open_one())

    def begin(self, producer: str) -> None:
        self._run(self._producers[producer].begin_transaction())

    def send(self, producer: str, topic: str, value: str, *, partition: int = 0) -> None:
        self._run(self._producers[producer].send_and_wait(topic, value.encode(), partition=partition))

    def send_offsets(self, producer: str, group: str, topic: str, offset: int, *, partition: int = 0) -> None:
        offsets = {TopicPartition(topic, partition): offset}
        self._run(self._producers[producer].send_offsets_to_transaction(offsets, group))

    def commit(self, producer: str) -> None:
        self._run(self._producers[producer].commit_transaction())

    def abort(self, producer: str) -> None:
        self._run(self._producers[producer].abort_transaction())

    def close(self, producer: str) -> None:
        opened = self._producers.pop(producer, None)
        if opened is not None:
            with suppress(Fenced, Refused):
                self._run(opened.stop())

    def copy(self, producer: str, group: str, source: str, target: str, *, count: int) -> None:
        opened = self._producers[producer]

        async def copy_all() -> None:
            consumer = self._consumer(source, group=group, committed=True)
            await consumer.start()
            copied = 0
            deadline = time.monotonic() + STEP_TIMEOUT_SECONDS
            try:
                while copied < count:
                    if time.monotonic() > deadline:
                        raise Refused(f"only {copied} of {count} records were there")
                    found = await consumer.getmany(timeout_ms=200, max_records=10)
                    records = [record for part in found.values() for record in part]
                    if not records:
                        continue
                    async with opened.transaction():
                        for record in records:
                            await opened.send(target, record.value, partition=record.partition)
                        offsets = {part: batch[-1].offset + 1 for part, batch in found.items()}
                        await opened.send_offsets_to_transaction(offsets, group)
                    copied += len(records)
            finally:
                await consumer.stop()

        self._run(copy_all())

    def read(self, topic: str, *, committed: bool, count: int, partition: int = 0) -> list[str]:
        async def read_all() -> list[str]:
            consumer = self._consumer(group=None, committed=committed)
            await consumer.start()
            values: list[str] = []
            try:
                at = TopicPartition(topic, partition)
                consumer.assign([at])
                await consumer.seek_to_beginning(at)
                deadline = time.monotonic() + STEP_TIMEOUT_SECONDS
                while len(values) < count:
                    if time.monotonic() > deadline:
                        raise Refused(f"only {values} were there")
                    for records in (await consumer.getmany(timeout_ms=200)).values():
                        values += [record.value.decode() for record in records]
            finally:
                await consumer.stop()
            return values[:count]

        return self._run(read_all())

    def close_all(self) -> None:
        for producer in list(self._producers):
            self.close(producer)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _consumer(self, *topics: str, group: str | None, committed: bool) -> Any:
        return AIOKafkaConsumer(
            *topics,
            bootstrap_servers=self._bootstrap_servers,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed" if committed else "read_uncommitted",
        )

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(STEP_TIMEOUT_SECONDS + 5)
        except (ProducerFenced, InvalidProducerEpoch) as problem:
            raise Fenced(str(problem)) from problem
        except KafkaError as problem:
            raise Refused(repr(problem)) from problem
