"""Tasks that send by themselves: a producer on an event loop of its own, beside the thread that encodes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

import uvloop

from tidelog.client.producer.producer import Producer
from tidelog.spark.sink.modes import Messages, SinkMode, encode_rows, finish_batch
from tidelog.spark.sink.options import SinkOptions
from tidelog.spark.sink.plan import SinkPlan, TaskMessage, TaskPlace
from tidelog.spark.sink.publish_errors import explained

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


class TaskProducer:
    """A producer for code that does not run on an event loop. Encoding and sending go on at the same time."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self._config = config
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.producer: Producer

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.producer = self.call(self._start())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call(self.producer.close(flush=False))
        finally:
            self._stop()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def emit(self, topic: str, partition: int, count: int, content: bytes) -> None:
        """Waits while the producer's buffer is full, and not for the delivery."""
        self.call(self.producer.publish(topic, partition, content))

    async def _start(self) -> Producer:
        producer = Producer(config=self._config)
        await producer.start()
        return producer

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class AtLeastOnceMode(SinkMode):
    """Rows are stored when their task ends. What is run again, is stored again."""

    def run_task(self, plan: SinkPlan, place: TaskPlace, rows: Iterator[pa.RecordBatch]) -> TaskMessage:
        with explained(str(place), plan.options), TaskProducer(plan.options.without_transactions()) as sender:
            written = encode_rows(plan, place, rows, sender.emit)
            sender.call(sender.producer.flush())
        return TaskMessage(written=written)

    def commit(self, options: SinkOptions, messages: Messages, batch: int) -> None:
        """Everything is stored."""
        tasks = [message for message in messages if isinstance(message, TaskMessage)]
        if tasks:
            finish_batch(batch, tasks)

    def abort(self, options: SinkOptions, messages: Messages, plan: SinkPlan | None) -> None:
        """What is stored stays."""
