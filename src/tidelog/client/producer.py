"""`Producer`: takes records, and says for each how its delivery went.

Batches and their order live in `tidelog.client.batches` and `tidelog.client.sequences`, sending in
`tidelog.client.sender`. Transactions are not here yet: they will number and mark the same batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple

from tidelog.client.batches import Accumulator, ProducerBatch, size_of_record
from tidelog.client.cluster import Cluster
from tidelog.client.config import Options, OptionValue, producer_config
from tidelog.client.errors import BufferExhausted, ProducerClosed, RecordTooLarge, WrongUse
from tidelog.client.metadata import NO_NODE, TopicMetadata
from tidelog.client.partitioner import Partitioner, UniformStickyPartitioner
from tidelog.client.sender import Sender
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Clock, Randomness
from tidelog.network.port import Network
from tidelog.records.batch import HEADER_SIZE
from tidelog.records.record import Header

Payload = bytes | bytearray | memoryview | str | None
Headers = Mapping[str, Payload] | Iterable[tuple[str, Payload]]


class RecordMetadata(NamedTuple):
    """Where a record is stored. The offset is -1 if the broker did not say (acks=0)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class Delivery:
    """The delivery of one record: `await` it for its RecordMetadata, or for the exception that says why not."""

    __slots__ = ("_batch", "_index")

    def __init__(self, batch: ProducerBatch, index: int) -> None:
        self._batch = batch
        self._index = index

    def done(self) -> bool:
        return self._settled_batch().done

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        while True:
            batch = self._settled_batch()
            if batch.done:
                return self._result(batch)
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            batch.observed = True
            batch.when_done(partial(_settle, future))
            yield from future

    def _settled_batch(self) -> ProducerBatch:
        """A batch that was too large for the broker has been split, maybe more than once."""
        while self._batch.children is not None:
            first, second = self._batch.children
            size = len(first.records)
            if self._index < size:
                self._batch = first
            else:
                self._batch, self._index = second, self._index - size
        return self._batch

    def _result(self, batch: ProducerBatch) -> RecordMetadata:
        if batch.failure is not None:
            batch.observed = True
            raise batch.failure
        assert batch.stored is not None
        base_offset, append_time = batch.stored
        return RecordMetadata(
            batch.partition.topic,
            batch.partition.partition,
            base_offset if base_offset < 0 else base_offset + self._index,
            append_time if append_time >= 0 else batch.records[self._index][0],
        )


class Producer:
    """`async with Producer(bootstrap_servers=...) as producer: await producer.send("topic", value=b"...")`

    Idempotent unless configured otherwise: a record is stored once, and in the order in which it was sent, also when
    it has to be sent again.
    """

    def __init__(
        self,
        bootstrap_servers: OptionValue = None,
        *,
        config: Options | None = None,
        partitioner: Partitioner | None = None,
        network: Network | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
        **options: OptionValue,
    ) -> None:
        given = {**(config or {}), **options}
        if bootstrap_servers is not None:
            given["bootstrap.servers"] = bootstrap_servers
        self._config = producer_config(given)
        self._cluster = Cluster(self._config, network=network, clock=clock, randomness=randomness)
        self._cluster.allow_auto_create = True
        self._partitioner: Partitioner = partitioner or UniformStickyPartitioner(
            self._cluster.randomness, self._config.batch_size, ignore_keys=self._config.partitioner_ignore_keys
        )
        self._accumulator = Accumulator(batch_size=self._config.batch_size, linger_ms=self._config.linger_ms)
        self._sender: Sender | None = None
        # Dictionaries of objects keep their order; sets have another one in every run.
        self._unfinished: dict[ProducerBatch, None] = {}
        self._first_failure: ProducerBatch | None = None
        self._room: list[asyncio.Future[None]] = []
        self._flushes = 0
        self._closing = False

    async def __aenter__(self) -> Producer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self.close(flush=kind is None or issubclass(kind, Exception))
        except Exception:
            # What went wrong inside the block is the news; a failed delivery is mostly a consequence of it.
            if error is None:
                raise

    async def start(self) -> None:
        await self._cluster.start()
        self._sender = Sender(self._cluster, self._config, self._accumulator, self._batch_done)
        self._sender.start()

    async def close(self, *, flush: bool = True) -> None:
        """Deliver what is waiting (`flush`), then let go of everything. Raises as `flush` does."""
        self._closing = True
        try:
            if flush and self._sender is not None:
                await self.flush()
        finally:
            if self._sender is not None:
                await self._sender.close()
            await self._cluster.close()
            self._wake_waiting_for_room()

    async def send(
        self,
        topic: str,
        value: Payload = None,
        *,
        key: Payload = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery:
        """Put a record into its batch; await the result to know that it is stored.

        Waits while the topic is not known and while the buffer is full, up to max.block.ms. Text is sent as UTF-8.
        """
        sender = self._sender
        if sender is None or self._closing:
            raise ProducerClosed("the producer is closed" if self._closing else "the producer has not been started")
        key_bytes, value_bytes = _as_bytes("key", key), _as_bytes("value", value)
        header_list = _as_headers(headers) if headers else ()
        size = size_of_record(key_bytes, value_bytes, header_list)
        self._check_size(size)
        found = self._cluster.metadata.topics.get(topic)
        if found is None or not found.partitions:
            found = await self._cluster.topic(topic, timeout_ms=self._config.max_block_ms)
        if self._accumulator.pending_bytes + size > self._config.buffer_memory:
            await self._wait_for_room(size)
        target = TopicPartition(topic, self._choose_partition(found, partition, key_bytes, size))
        clock = self._cluster.clock
        timestamp = clock.now_ms() if timestamp_ms is None else timestamp_ms
        record = (timestamp, key_bytes, value_bytes, header_list)
        batch, index = self._accumulator.append(target, record, size, clock.monotonic_ms())
        if index == 0:
            self._unfinished[batch] = None
            sender.wake()
        if not batch.open:
            sender.wake()
            # A loop of sends has no other moment in which a full batch could leave.
            await asyncio.sleep(0)
        return Delivery(batch, index)

    async def flush(self) -> None:
        """Send all that waits and wait for its outcome.

        Raises the first failed delivery that nobody has awaited: a record must not get lost without anybody knowing.
        """
        assert self._sender is not None
        self._flushes += 1
        self._accumulator.flushing = True
        self._sender.wake()
        try:
            while pending := list(self._unfinished):
                await _all_done(pending)
                # Halves of split batches count as part of what was waiting.
                if not any(batch.children for batch in pending):
                    break
        finally:
            self._flushes -= 1
            self._accumulator.flushing = self._flushes > 0
        failed, self._first_failure = self._first_failure, None
        if failed is not None and not failed.observed:
            failed.observed = True
            assert failed.failure is not None
            raise failed.failure

    async def partitions_for(self, topic: str) -> TopicMetadata:
        return await self._cluster.topic(topic, timeout_ms=self._config.max_block_ms)

    # -- inside --------------------------------------------------------------------------------------------------

    def _choose_partition(self, topic: TopicMetadata, partition: int | None, key: bytes | None, size: int) -> int:
        count = len(topic.partitions)
        if partition is not None:
            if not 0 <= partition < count:
                raise WrongUse(f"topic {topic.name!r} has the partitions 0 to {count - 1}, not {partition}")
            return partition
        led: list[int] = []
        if any(entry.leader == NO_NODE for entry in topic.partitions):
            led = [entry.partition for entry in topic.partitions if entry.leader != NO_NODE]
        chosen = self._partitioner.partition(topic.name, key, size, led, count)
        if not 0 <= chosen < count:
            raise WrongUse(f"the partitioner chose {chosen} for topic {topic.name!r} with {count} partitions")
        return chosen

    def _check_size(self, size: int) -> None:
        whole = size + HEADER_SIZE
        if whole > self._config.max_request_size:
            raise RecordTooLarge(
                f"a record of about {whole} bytes is larger than max.request.size={self._config.max_request_size}"
            )
        if whole > self._config.buffer_memory:
            raise RecordTooLarge(
                f"a record of about {whole} bytes is larger than buffer.memory={self._config.buffer_memory}"
            )

    async def _wait_for_room(self, size: int) -> None:
        limit = self._config.max_block_ms
        sender = self._sender
        assert sender is not None
        # Batches that are not full have to go too: there is no other way for room to appear.
        self._flushes += 1
        self._accumulator.flushing = True
        try:
            async with asyncio.timeout(limit / 1000):
                while self._accumulator.pending_bytes + size > self._config.buffer_memory:
                    if self._closing:
                        raise ProducerClosed("the producer was closed while a record waited for room in the buffer")
                    sender.wake()
                    room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._room.append(room)
                    await room
        except TimeoutError as error:
            raise BufferExhausted(
                f"no room for a record within max.block.ms={limit}: {self._accumulator.pending_bytes} bytes of "
                f"buffer.memory={self._config.buffer_memory} wait to be delivered"
            ) from error
        finally:
            self._flushes -= 1
            self._accumulator.flushing = self._flushes > 0

    def _batch_done(self, batch: ProducerBatch) -> None:
        self._unfinished.pop(batch, None)
        if batch.children is not None:
            self._unfinished.update(dict.fromkeys(batch.children))
        told = self._first_failure is None or self._first_failure.observed
        if told and batch.failure is not None and not batch.observed:
            self._first_failure = batch
        self._wake_waiting_for_room()

    def _wake_waiting_for_room(self) -> None:
        waiting, self._room = self._room, []
        for room in waiting:
            _settle(room)


async def _all_done(batches: Iterable[ProducerBatch]) -> None:
    loop = asyncio.get_running_loop()
    for batch in batches:
        if not batch.done:
            future: asyncio.Future[None] = loop.create_future()
            batch.when_done(partial(_settle, future))
            await future


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _as_bytes(what: str, payload: Payload) -> bytes | None:
    if payload is None or type(payload) is bytes:
        return payload
    if isinstance(payload, str):
        return payload.encode()
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload)
    raise TypeError(f"a record's {what} is bytes, str or None, not {type(payload).__name__}")


def _as_headers(headers: Headers) -> tuple[Header, ...]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    listed: list[Header] = []
    for name, value in pairs:
        if not isinstance(name, str):
            raise TypeError(f"the name of a header is str, not {type(name).__name__}")
        listed.append((name, _as_bytes(f"header {name!r}", value)))
    return tuple(listed)
