"""The synchronous `Producer`. Records are handed over to the loop's thread in bulk, so that `send` does not wait."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, TypeVar

from tidelog.client.config import Options, OptionValue, given_options
from tidelog.client.errors import ProducerClosed
from tidelog.client.producer.delivery import Delivery as AsyncDelivery
from tidelog.client.producer.delivery import RecordMetadata, complete
from tidelog.client.producer.partitioner import Partitioner, PartitionFunction
from tidelog.client.producer.payloads import Headers, Payload, as_bytes, as_headers
from tidelog.client.producer.producer import Producer as AsyncProducer
from tidelog.records.record import Header
from tidelog.sync.background import Background, Client, blocking, on_loop

Result = TypeVar("Result")

# Records that wait to be handed over; more than this, and `send` waits. The loop's thread takes them all at once.
MOST_HANDED_OVER: Final = 10_000
_HANDED_OVER_AGAIN: Final = MOST_HANDED_OVER // 2

# Topic, value, key, headers, partition, timestamp.
_Arguments = tuple[str, bytes | None, bytes | None, tuple[Header, ...], int | None, int | None]


@dataclass(slots=True, eq=False, repr=False)
class BlockingDelivery:
    """The delivery of one record: `result()` waits for its RecordMetadata, or raises what says why it is not stored."""

    _producer: Producer
    _delivery: AsyncDelivery | None = None
    _failure: Exception | None = None
    _observed: bool = False
    _waiters: list[asyncio.Future[None]] | None = None

    def done(self) -> bool:
        return self._failure is not None or (self._delivery is not None and self._delivery.done())

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Waits for `timeout` seconds, or for as long as the producer tries (delivery.timeout.ms)."""
        return self._producer._run(self._wait, timeout)

    async def _wait(self) -> RecordMetadata:
        while self._delivery is None:
            self._observed = True
            if self._failure is not None:
                raise self._failure
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters = [*(self._waiters or ()), waiter]
            await waiter
        return await self._delivery

    def _taken(self, delivery: AsyncDelivery | None, failure: Exception | None) -> None:
        self._delivery, self._failure = delivery, failure
        for waiter in self._waiters or ():
            complete(waiter)
        self._waiters = None


class _Handover:
    """Takes records from the user's threads to the loop's, in order."""

    def __init__(self, background: Background, producer: AsyncProducer) -> None:
        self._background = background
        self._producer = producer
        # Appending to and taking from a deque need no lock. The threads agree by the order in which they look: a user's
        # thread appends and then asks whether the loop's is awake; that one falls asleep and then looks once more.
        self._records: deque[tuple[BlockingDelivery, _Arguments]] = deque()
        self._awake = False
        self._task: asyncio.Task[None] | None = None
        self._room = threading.Event()
        self._idle: list[asyncio.Future[None]] = []
        self.first_failure: BlockingDelivery | None = None

    def put(self, delivery: BlockingDelivery, arguments: _Arguments) -> None:
        self._records.append((delivery, arguments))
        if not self._awake:
            self._awake = True
            self._background.loop.call_soon_threadsafe(self._start)
        if len(self._records) >= MOST_HANDED_OVER:
            self._room.clear()
            if len(self._records) >= MOST_HANDED_OVER:
                self._room.wait()

    def _start(self) -> None:
        # Two threads may have found the loop's asleep.
        if self._task is None:
            self._task = self._background.loop.create_task(self._hand_over())

    async def _hand_over(self) -> None:
        while True:
            if not self._records:
                self._awake = False
                self._room.set()
                if not self._records:
                    break
                self._awake = True
            delivery, (topic, value, key, headers, partition, timestamp_ms) = self._records.popleft()
            if len(self._records) == _HANDED_OVER_AGAIN:
                self._room.set()
            try:
                taken = await self._producer.send(
                    topic, value, key=key, headers=headers, partition=partition, timestamp_ms=timestamp_ms
                )
            except Exception as error:
                delivery._taken(None, error)
                if self.first_failure is None or self.first_failure._observed:
                    self.first_failure = delivery
            else:
                delivery._taken(taken, None)
        self._task = None
        waiting, self._idle = self._idle, []
        for waiter in waiting:
            complete(waiter)

    async def empty(self) -> None:
        """Wait until all records so far are in their batches, or have been refused."""
        while self._task is not None or self._records:
            self._start()
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(waiter)
            await waiter


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
        self._handover = _Handover(self._background, self._wrapped)

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
        delivery = BlockingDelivery(self)
        arguments: _Arguments = (
            topic,
            as_bytes("value", value),
            as_bytes("key", key),
            as_headers(headers) if headers else (),
            partition,
            timestamp_ms,
        )
        self._check_process()
        self._handover.put(delivery, arguments)
        return delivery

    def publish(self, topic: str, partition: int, batch: bytes | bytearray | memoryview) -> BlockingDelivery:
        """Send one record batch that was encoded elsewhere; see `tidelog.Producer.publish`."""
        delivery = BlockingDelivery(self)
        delivery._taken(self._run(lambda: self._wrapped.publish(topic, partition, batch)), None)
        return delivery

    def flush(self) -> None:
        """Send all that waits and wait for its outcome. Raises the first failure that nobody has asked about."""
        self._run(self._wrapped.flush)
        self._call(self._raise_refused)

    def _raise_refused(self) -> None:
        refused, self._handover.first_failure = self._handover.first_failure, None
        if refused is not None and not refused._observed:
            refused._observed = True
            assert refused._failure is not None
            raise refused._failure

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

    async def _in_order(self, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """A call comes after the records that were sent before it."""
        if self._started:
            await self._handover.empty()
        return await call()
