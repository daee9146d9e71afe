"""The synchronous `Producer`. Records are handed over to the loop's thread in bulk, so that `send` does not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from operator import index
from types import TracebackType
from typing import Any, TypeVar

from tidelog.client.config import Options, OptionValue, given_options
from tidelog.client.errors import ProducerClosed
from tidelog.client.producer.delivery import RecordMetadata, complete
from tidelog.client.producer.partitioner import Partitioner, PartitionFunction
from tidelog.client.producer.payloads import Headers, Payload, as_bytes, as_headers
from tidelog.client.producer.producer import Producer as AsyncProducer
from tidelog.sync.background import Client, blocking, on_loop
from tidelog.sync.handover import BlockingDelivery, Handover

Result = TypeVar("Result")


class Producer(Client[AsyncProducer]):
    """`with Producer(bootstrap_servers=...) as producer: producer.send("topic", b"...")`

    As `tidelog.Producer`, with calls that wait. `send` waits only while too much is on its way; what went wrong with a
    record is reported by its delivery, or by `flush` and the end of the block if nobody has asked.
    """

    def __init__(
        self,
        bootstrap_servers: OptionValue = None,
        *,
        config: Options | None = None,
        partitioner: str | Partitioner | PartitionFunction | None = None,
        call_timeout: float | None = None,
        **options: OptionValue,
    ) -> None:
        """`call_timeout`: seconds after which any call gives up with TimeoutError, whatever the options allow."""
        self._started = False
        self._closed = False
        given = given_options(bootstrap_servers, config, options)
        super().__init__(lambda: AsyncProducer(config=given, partitioner=partitioner), call_timeout)
        self._handover = Handover(self, self._wake_loop)
        # What takes records out of the handover, while there are any, and who waits for its end.
        self._task: asyncio.Task[None] | None = None
        self._idle: list[asyncio.Future[None]] = []
        self._first_failure: BlockingDelivery | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close(flush=kind is None or issubclass(kind, Exception))
        except Exception:
            # What went wrong inside the block is the news; a failed delivery is mostly a consequence of it.
            if error is None:
                raise

    def start(self) -> None:
        self._run(self._wrapped.start)
        self._started = True

    def close(self, *, flush: bool = True) -> None:
        """Deliver what is waiting (`flush`), then let go of everything. Raises as `flush` does."""
        self._closed = True
        self._run(lambda: self._wrapped.close(flush=flush))
        if flush:
            self._call(self._raise_refused)

    def send(
        self,
        topic: str,
        value: Payload = None,
        *,
        key: Payload = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> BlockingDelivery:
        """Hand a record over; `result()` of what this returns waits until it is stored. Text is sent as UTF-8."""
        if self._closed or not self._started:
            raise ProducerClosed("the producer is closed" if self._closed else "the producer has not been started")
        self._check_process()
        return self._handover.put(
            topic,
            value if type(value) is bytes else as_bytes("value", value),
            None if key is None else as_bytes("key", key),
            as_headers(headers) if headers else (),
            None if partition is None else index(partition),
            None if timestamp_ms is None else index(timestamp_ms),
        )

    def publish(
        self, topic: str, partition: int, batch: bytes | bytearray | memoryview, *, in_place: bool = False
    ) -> BlockingDelivery:
        """Send one record batch that was encoded elsewhere; see `tidelog.Producer.publish`."""
        delivery = BlockingDelivery(self, None)
        delivery.taken(self._run(lambda: self._wrapped.publish(topic, partition, batch, in_place=in_place)), None)
        return delivery

    def flush(self) -> None:
        """Send all that waits and wait for its outcome. Raises the first failure that nobody has asked about."""
        self._run(self._wrapped.flush)
        self._call(self._raise_refused)

    def _raise_refused(self) -> None:
        refused, self._first_failure = self._first_failure, None
        if refused is not None and not refused.observed:
            refused.observed = True
            assert refused.failure is not None
            raise refused.failure

    @contextmanager
    def transaction(self) -> Iterator[Producer]:
        """Begin; at the end of the block commit, or abort if the block raises. See `tidelog.Producer.transaction`."""
        block = self._wrapped.transaction()
        self._run(block.__aenter__)
        try:
            yield self
            self._call(self._raise_refused)
        except BaseException as error:
            self._run(partial(block.__aexit__, type(error), error, error.__traceback__))
            raise
        self._run(lambda: block.__aexit__(None, None, None))

    metrics = on_loop(AsyncProducer.metrics)
    partitions_for = blocking(AsyncProducer.partitions_for)
    init_transactions = blocking(AsyncProducer.init_transactions)
    begin_transaction = blocking(AsyncProducer.begin_transaction)
    abort_transaction = blocking(AsyncProducer.abort_transaction)
    send_offsets = blocking(AsyncProducer.send_offsets)
    complete_transaction = blocking(AsyncProducer.complete_transaction)

    def commit_transaction(self) -> None:
        """Wait for all deliveries, then make them visible."""
        self._call(self._raise_refused)
        self._run(self._wrapped.commit_transaction)

    prepare_transaction = blocking(AsyncProducer.prepare_transaction)
    hand_over_transaction = blocking(AsyncProducer.hand_over_transaction)

    # -- on the loop's thread ------------------------------------------------------------------------------------

    def _wake_loop(self) -> None:
        self._background.loop.call_soon_threadsafe(self._start_handing_over)

    def _start_handing_over(self) -> None:
        # Two threads may have found the loop's asleep.
        if self._task is None:
            self._task = self._background.loop.create_task(self._hand_over())

    async def _hand_over(self) -> None:
        while not self._handover.fall_asleep():
            waiting = self._handover.take_some(self._wrapped.open_intake)
            if waiting is None:
                # A batch is full, and may leave when the loop gets its turn.
                await asyncio.sleep(0)
            else:
                await self._send(waiting)
        self._task = None
        idle, self._idle = self._idle, []
        for waiter in idle:
            complete(waiter)

    async def _send(self, waiting: BlockingDelivery) -> None:
        """A record that could not be taken at once: wait for what it needs, or learn why it is refused."""
        try:
            if waiting.failure is not None:
                raise waiting.failure
            assert waiting.arguments is not None
            topic, value, key, headers, partition, timestamp_ms = waiting.arguments
            delivery = await self._wrapped.send(
                topic, value, key=key, headers=headers, partition=partition, timestamp_ms=timestamp_ms
            )
        except Exception as error:
            waiting.taken(None, error)
            if self._first_failure is None or self._first_failure.observed:
                self._first_failure = waiting
        else:
            waiting.taken(delivery, None)

    async def _all_handed_over(self) -> None:
        """Wait until all records so far are in their batches, or have been refused."""
        while self._task is not None or not self._handover.is_empty:
            self._start_handing_over()
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(waiter)
            await waiter

    def _result_of(self, delivery: BlockingDelivery, timeout: float | None) -> RecordMetadata:
        async def wait() -> RecordMetadata:
            while delivery.delivery is None:
                delivery.observed = True
                if delivery.failure is not None:
                    raise delivery.failure
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                delivery.waiters = [*(delivery.waiters or ()), waiter]
                await waiter
            return await delivery.delivery

        return self._run(wait, timeout)

    async def _in_order(self, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """A call comes after the records that were sent before it."""
        if self._started:
            await self._all_handed_over()
        return await call()
