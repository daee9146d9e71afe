"""`Producer`: takes records, and says for each how its delivery went.

Batches and their order live in `tidelog.client.producer.batches` and `tidelog.client.producer.sequences`, sending in
`tidelog.client.producer.sender`, the states and requests of transactions in `tidelog.client.transactions`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from operator import index
from types import TracebackType
from typing import TypeVar

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.metadata import TopicMetadata
from tidelog.client.config import Options, OptionValue, given_options, producer_config
from tidelog.client.errors import (
    ApiTimeout,
    BufferExhausted,
    ClientError,
    FatalError,
    ProducerClosed,
    RecordTooLarge,
    WrongUse,
)
from tidelog.client.offsets.committed import OffsetAndMetadata, as_offsets
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.client.producer.batches import Accumulator, PreencodedBatch, ProducerBatch, size_of_record
from tidelog.client.producer.delivery import Delivery, RecordMetadata, all_done, complete
from tidelog.client.producer.encoded_batches import check_finished
from tidelog.client.producer.intake import Intake
from tidelog.client.producer.partition_choice import KnownTopic, PartitionChoice, named_partition
from tidelog.client.producer.partitioner import Partitioner, PartitionFunction
from tidelog.client.producer.payloads import Headers, Payload, as_bytes, as_headers
from tidelog.client.producer.sender import BatchSender
from tidelog.client.transactions.coordinator_requests import ProducerIdAndEpoch
from tidelog.client.transactions.handover import OpenTransaction
from tidelog.client.transactions.prepared import PreparedTransactionState
from tidelog.client.transactions.states import TransactionPhase
from tidelog.client.transactions.transactions import Drain, Transactions
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Clock, Randomness
from tidelog.network.port import Network
from tidelog.records.batch import HEADER_SIZE, Buffer
from tidelog.records.record import Header

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Producer:
    """`async with Producer(bootstrap_servers=...) as producer: await producer.send("topic", value=b"...")`

    Idempotent unless configured otherwise: a record is stored once, and in the order in which it was sent, also when
    it has to be sent again. With a `transactional_id`, records and offsets become visible together or not at all:

        await producer.init_transactions()
        async with producer.transaction():
            await producer.send("topic", value=b"...")
    """

    def __init__(
        self,
        bootstrap_servers: OptionValue = None,
        *,
        config: Options | None = None,
        partitioner: str | Partitioner | PartitionFunction | None = None,
        network: Network | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
        **options: OptionValue,
    ) -> None:
        given = given_options(bootstrap_servers, config, options)
        if isinstance(partitioner, str):
            given["partitioner"] = partitioner
        self._config = producer_config(given)
        self._cluster = Cluster(self._config, network=network, clock=clock, randomness=randomness)
        self._cluster.allow_auto_create = True
        # A batch that is larger than a request may be could never be sent.
        batch_size = min(self._config.batch_size, self._config.max_request_size)
        self._accumulator = Accumulator(batch_size=batch_size, linger_ms=self._config.linger_ms)
        self._choice = PartitionChoice(partitioner, self._config, self._cluster.randomness, self._accumulator)
        self._buffer_memory = self._config.buffer_memory
        self._intake = Intake(
            self._cluster,
            self._accumulator,
            self._choice,
            largest_record=min(self._config.max_request_size, self._buffer_memory) - HEADER_SIZE,
            buffer_memory=self._buffer_memory,
        )
        # From start to close, if there are no transactions, in which records may be sent or not: asked for each record.
        self._always_open_intake: Intake | None = None
        self._sender: BatchSender | None = None
        self._transactions: Transactions | None = None
        self._unfinished = self._intake.unfinished
        self._first_failure: ProducerBatch | None = None
        self._room: list[asyncio.Future[None]] = []
        self._flushes = 0
        self._closing = False

    @property
    def cluster(self) -> Cluster:
        """For what this package asks brokers beside producing, over the same connections."""
        return self._cluster

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
        self._sender = BatchSender(self._cluster, self._config, self._accumulator, self._batch_done)
        self._transactions = self._sender.transactions
        self._intake.on_work = self._sender.wake
        if self._transactions is None:
            self._always_open_intake = self._intake
        self._sender.start()

    async def close(self, *, flush: bool = True) -> None:
        """Deliver what is waiting (`flush`), then let go of everything. Raises as `flush` does.

        A transaction that is open is aborted; one that is prepared stays prepared.
        """
        self._closing = True
        self._always_open_intake = None
        try:
            if self._transactions is not None:
                await self._leave_transaction(self._transactions)
            elif flush and self._sender is not None:
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

        Waits while the topic or the named partition is not known and while the buffer is full, up to max.block.ms. Text
        is sent as UTF-8.
        """
        header_tuple = as_headers(headers) if headers else ()
        intake = self._always_open_intake or self.open_intake
        delivery = None
        if intake is not None:
            delivery = intake.take(topic, value, key, header_tuple, partition, timestamp_ms)
        if delivery is None:
            delivery = await self._send_after_waiting(topic, value, key, header_tuple, partition, timestamp_ms)
        if self._intake.has_closed_a_batch:
            # A loop of sends has no other moment in which a full batch could leave.
            await asyncio.sleep(0)
        return delivery

    @property
    def open_intake(self) -> Intake | None:
        """Where records go that need not wait; None while `send` would refuse all of them.

        For who has many records at once: it holds until the event loop gets a turn, which it needs after each closed
        batch.
        """
        if self._closing or self._sender is None:
            return None
        transactions = self._transactions
        if transactions is not None and transactions.state is not TransactionPhase.IN_TRANSACTION:
            return None
        return self._intake

    async def publish(self, topic: str, partition: int, batch: Buffer, *, in_place: bool = False) -> Delivery:
        """Send one record batch (format v2) that was encoded elsewhere, without producer id, epoch and sequence.

        They are stamped into a copy, and the CRC is recomputed. The delivery has the offset of the first record.
        Batches are stored in the order in which they are published. With `in_place`, a writable memoryview is stamped
        itself: it belongs to the producer from then on.
        """
        self._ready_sender()
        header = check_finished(batch)
        self._check_size(len(batch))
        found = await self._find_topic(topic, partition)
        target = named_partition(KnownTopic(found), partition)
        while self._accumulator.pending_bytes + len(batch) > self._config.buffer_memory:
            await self._wait_for_room(len(batch))
        sender = self._ready_sender()
        own = batch if in_place and isinstance(batch, memoryview) and not batch.readonly else bytearray(batch)
        encoded = PreencodedBatch(target, self._cluster.clock.monotonic_ms(), own, header)
        self._accumulator.append_encoded(encoded)
        self._unfinished[encoded] = None
        sender.wake()
        await asyncio.sleep(0)
        return Delivery(encoded, 0)

    async def flush(self) -> None:
        """Send all that waits and wait for its outcome.

        Raises the first failed delivery that nobody has awaited: a record must not get lost without anybody knowing.
        """
        await self._drain()
        failed, self._first_failure = self._first_failure, None
        if failed is not None and not failed.observed:
            failed.observed = True
            assert failed.failure is not None
            raise failed.failure

    def metrics(self) -> dict[str, float]:
        """What this producer has measured of itself, by Kafka's names: see `tidelog.client.producer.metrics`."""
        return {} if self._sender is None else self._sender.metrics.snapshot()

    async def partitions_for(self, topic: str) -> TopicMetadata:
        return await self._cluster.topic(topic, timeout_ms=self._config.max_block_ms)

    # -- transactions --------------------------------------------------------------------------------------------

    async def init_transactions(
        self, *, keep_prepared: bool = False, myself: ProducerIdAndEpoch | None = None
    ) -> ProducerIdAndEpoch:
        """Take over the transactional id: whoever had it before is fenced, and its open transaction aborted.

        May be called again while no transaction is open, and after `OutcomeUnknown`: the producer gets a new epoch,
        after the broker has settled what was left. `keep_prepared` leaves a prepared transaction open, to be decided
        with `complete_transaction` (KIP-939).

        With `myself`, which an earlier call has returned, perhaps in another process, it goes on only if nobody has
        taken over the id since, and raises FencedError otherwise (KIP-360).
        """
        transactions = self._need_transactions()
        if keep_prepared and not self._config.transaction_two_phase_commit_enable:
            raise WrongUse("keep_prepared needs transaction.two.phase.commit.enable=true")
        await transactions.initialize(self._drain, keep_prepared=keep_prepared, myself=myself)
        return transactions.identity

    async def begin_transaction(self) -> None:
        self._need_transactions().begin()

    async def commit_transaction(self) -> None:
        """Wait for all deliveries, then make them visible. See the three kinds of `TransactionError`."""
        await self._settle(self._need_transactions().commit)

    async def abort_transaction(self) -> None:
        """Nothing of the transaction will be visible. What has not been sent yet is dropped."""
        await self._settle(self._need_transactions().abort)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Producer]:
        """Begin; at the end of the block commit, or abort if the block raises.

        What the block has raised is raised again. If the abort meets a fatal error, that is raised instead.
        """
        await self.begin_transaction()
        transactions = self._need_transactions()
        try:
            yield self
            if transactions.is_open:
                await self.commit_transaction()
        except BaseException as error:
            if transactions.is_open:
                await self._abort_after(error)
            raise

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group_metadata: ConsumerGroupMetadata | str
    ) -> None:
        """Commit offsets of a consumer group with the transaction: they count when it is committed, else never.

        The offsets are those of the next records to read. `group_metadata` is what `Consumer.group_metadata()` gives;
        a plain group id is for groups without members, in which nobody is fenced.
        """
        group = ConsumerGroupMetadata(group_id=group_metadata) if isinstance(group_metadata, str) else group_metadata
        await self._need_transactions().send_offsets(as_offsets(offsets), group)

    async def prepare_transaction(self) -> PreparedTransactionState:
        """Wait for all deliveries; from then on the transaction can only be committed or aborted (KIP-939).

        Store the result together with the decision of the other system, such as in a database's transaction.
        """
        transactions = self._need_transactions()
        if not self._config.transaction_two_phase_commit_enable:
            raise WrongUse("prepare_transaction needs transaction.two.phase.commit.enable=true")
        return await self._settle(transactions.prepare)

    async def hand_over_transaction(self) -> OpenTransaction:
        """Wait for all deliveries, and leave the transaction open when this producer is closed.

        Another process ends it, with `tidelog.client.transactions.handover.end_transaction`, before
        transaction.timeout.ms is over. This producer can do nothing more but be closed.
        """
        transactions = self._need_transactions()
        await self._settle(transactions.prepare)
        transactional_id = self._config.transactional_id
        assert transactional_id is not None
        return OpenTransaction(
            transactional_id=transactional_id,
            producer_id=transactions.identity.producer_id,
            epoch=transactions.identity.epoch,
            second_protocol=transactions.second_protocol,
        )

    async def complete_transaction(self, prepared: PreparedTransactionState) -> None:
        """Commit if `prepared` is what names the open transaction, else abort it: then the decision was not stored."""
        await self._need_transactions().complete(prepared, self._drain)

    # -- inside --------------------------------------------------------------------------------------------------

    def _ready_sender(self) -> BatchSender:
        sender = self._sender
        if sender is None or self._closing:
            raise ProducerClosed("the producer is closed" if self._closing else "the producer has not been started")
        if self._transactions is not None:
            self._transactions.check_send()
        return sender

    def _need_transactions(self) -> Transactions:
        if self._config.transactional_id is None:
            raise WrongUse("this producer has no transactions: create it with a transactional_id")
        if self._transactions is None or self._closing:
            raise ProducerClosed("the producer is closed" if self._closing else "the producer has not been started")
        return self._transactions

    async def _settle(self, step: Callable[[Drain], Awaitable[T]]) -> T:
        """What has failed in a transaction is reported by its own calls, and not by a later `flush` as well."""
        try:
            return await step(self._drain)
        finally:
            self._first_failure = None

    async def _abort_after(self, error: BaseException) -> None:
        try:
            await self.abort_transaction()
        except FatalError as fatal:
            # More important than what was to be aborted: this producer must not go on.
            raise fatal from error
        except ClientError as problem:
            # The broker will abort it when its time is up, or when somebody initializes the next time.
            logger.warning("the transaction could not be aborted: %s", problem)

    async def _leave_transaction(self, transactions: Transactions) -> None:
        if transactions.is_open:
            try:
                await transactions.abort(self._drain)
            except ClientError as problem:
                logger.warning("the open transaction could not be aborted: %s", problem)

    async def _drain(self) -> None:
        """Send all that waits, without lingering, and wait until every outcome is known."""
        assert self._sender is not None
        self._flushes += 1
        self._accumulator.flushing = True
        self._sender.wake()
        try:
            while pending := list(self._unfinished):
                await all_done(pending)
                # Halves of split batches count as part of what was waiting.
                if not any(batch.children for batch in pending):
                    break
        finally:
            self._flushes -= 1
            self._accumulator.flushing = self._flushes > 0

    def _check_size(self, whole: int) -> None:
        if whole > self._config.max_request_size:
            raise RecordTooLarge(
                f"a record of about {whole} bytes is larger than max.request.size={self._config.max_request_size}"
            )
        if whole > self._config.buffer_memory:
            raise RecordTooLarge(
                f"a record of about {whole} bytes is larger than buffer.memory={self._config.buffer_memory}"
            )

    async def _send_after_waiting(
        self,
        topic: str,
        value: Payload,
        key: Payload,
        headers: tuple[Header, ...],
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Delivery:
        """Raises what is wrong with the record, or waits for what it needs: its topic, its partition, room."""
        self._ready_sender()
        key_bytes, value_bytes = as_bytes("key", key), as_bytes("value", value)
        chosen = None if partition is None else index(partition)
        timestamp = None if timestamp_ms is None else index(timestamp_ms)
        size = size_of_record(key_bytes, value_bytes, headers)
        self._check_size(size + HEADER_SIZE)
        found = self._intake.known_topic(topic)
        if found is None or (chosen is not None and chosen >= len(found.partitions)):
            found = KnownTopic(await self._find_topic(topic, chosen))
        if self._accumulator.pending_bytes + size > self._buffer_memory:
            await self._wait_for_room(size)
        if self._transactions is not None:
            # It may have ended or failed while this record waited.
            self._transactions.check_send()
        if timestamp is None:
            timestamp = self._cluster.clock.now_ms()
        return self._intake.put(found, key_bytes, value_bytes, headers, size, chosen, timestamp)

    async def _find_topic(self, name: str, partition: int | None) -> TopicMetadata:
        """Wait for a topic that is not known yet, or for a partition that may just have been added to it."""
        limit_ms = self._config.max_block_ms
        try:
            return await self._cluster.topic(name, timeout_ms=limit_ms, at_least=max(1, (partition or 0) + 1))
        except ApiTimeout:
            known = self._cluster.metadata.topics.get(name)
            if known is None or not known.partitions:
                raise
            return known

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
            sender.metrics.exhausted()
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
            complete(room)


__all__ = ["Delivery", "Headers", "Payload", "Producer", "RecordMetadata"]
