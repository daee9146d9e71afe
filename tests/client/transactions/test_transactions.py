"""Transactions against real brokers, with both protocols: atomic, fenced, and with errors that say what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from support.client_reading import read_all, read_committed
from support.processes import HANG_SECONDS

from tidelog.client.admin import Admin
from tidelog.client.consumer import Consumer
from tidelog.client.errors import (
    AbortableError,
    CommitFailed,
    DeliveryFailed,
    FatalError,
    FencedError,
    WrongTransactionState,
    WrongUse,
)
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.client.producer.producer import Delivery, Producer
from tidelog.client.transactions import transactions
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.records.compression import Compression
from tidelog.records.record import encode_batch


@pytest.fixture(params=["second", "first"])
def protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Brokers serve both. A client that does not know the second one asks for the first."""
    if request.param == "first":
        monkeypatch.setattr(transactions, "SECOND_PROTOCOL", 99)
    return str(request.param)


@pytest.fixture
async def topic(admin: Admin, unique: str) -> str:
    await admin.create_topic(unique, partitions=2)
    return unique


@pytest.fixture
async def producer(servers: str, unique: str, protocol: str) -> AsyncIterator[Producer]:
    async with Producer(servers, transactional_id=unique) as a_producer:
        await a_producer.init_transactions()
        yield a_producer


async def test_a_committed_transaction_is_visible_and_an_aborted_one_is_not(
    producer: Producer, servers: str, topic: str
) -> None:
    for name in ("committed", "aborted", "again"):
        await producer.begin_transaction()
        for partition in (0, 1):
            await producer.send(topic, f"{name} {partition}", partition=partition)
        await producer.flush()
        await (producer.abort_transaction() if name == "aborted" else producer.commit_transaction())
    assert await read_committed(servers, topic) == [b"committed 0", b"again 0", b"committed 1", b"again 1"]
    assert len(await read_all(servers, topic)) == 6


async def test_a_block_commits_or_aborts(producer: Producer, servers: str, topic: str) -> None:
    async with producer.transaction():
        await producer.send(topic, "kept", partition=0)

    async def fails(*, after_delivery: bool) -> None:
        async with producer.transaction():
            delivery = await producer.send(topic, "aborted", partition=0)
            if after_delivery:
                await delivery
            deliveries.append(delivery)
            raise ValueError("what the block raised")

    deliveries: list[Delivery] = []
    for after_delivery in (True, False):
        with pytest.raises(ValueError, match="what the block raised"):
            await fails(after_delivery=after_delivery)
    assert (await deliveries[0]).topic == topic
    with pytest.raises(DeliveryFailed, match="its transaction was aborted"):
        await deliveries[1]
    async with producer.transaction():
        await producer.send(topic, "after", partition=0)
    assert await read_committed(servers, topic) == [b"kept", b"after"]


async def test_transactions_without_anything_in_them_cost_nothing(producer: Producer, servers: str, topic: str) -> None:
    identity = producer._transactions.identity if producer._transactions else None
    async with producer.transaction():
        pass
    with pytest.raises(ValueError, match="nothing"):
        async with producer.transaction():
            raise ValueError("nothing happened")
    assert producer._transactions is not None
    assert producer._transactions.identity == identity
    async with producer.transaction():
        await producer.send(topic, "something", partition=0)
    assert await read_committed(servers, topic) == [b"something"]


async def test_a_cancelled_block_is_aborted(producer: Producer, servers: str, topic: str) -> None:
    sent = asyncio.Event()

    async def work() -> None:
        async with producer.transaction():
            await (await producer.send(topic, "cancelled", partition=0))
            sent.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await sent.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with producer.transaction():
        await producer.send(topic, "next", partition=0)
    assert await read_committed(servers, topic) == [b"next"]


async def test_finished_batches_are_published_in_order(producer: Producer, servers: str, topic: str) -> None:
    def batch(*values: str, compression: Compression = Compression.NONE) -> bytes:
        records = [(1_700_000_000_000 + number, b"key", value.encode(), ()) for number, value in enumerate(values)]
        return encode_batch(records, compression=compression)

    async with producer.transaction():
        first = await producer.publish(topic, 1, batch("a", "b", compression=Compression.ZSTD))
        await producer.send(topic, "c", partition=1)
        second = await producer.publish(topic, 1, memoryview(batch("d", "e", "f", compression=Compression.LZ4)))
        assert (await first)[:4] == (topic, 1, 0, 1_700_000_000_000)
        assert (await second).offset == 3
    await producer.begin_transaction()
    await (await producer.publish(topic, 1, batch("aborted")))
    await producer.abort_transaction()
    async with producer.transaction():
        await producer.publish(topic, 1, batch("g"))
        with pytest.raises(WrongUse, match="not a record batch"):
            await producer.publish(topic, 1, b"x")
    assert await read_committed(servers, topic) == [b"a", b"b", b"c", b"d", b"e", b"f", b"g"]


# Scenario 14.
async def test_zombie_a_second_producer_fences_the_first(
    producer: Producer, servers: str, topic: str, unique: str, protocol: str
) -> None:
    await producer.begin_transaction()
    await (await producer.send(topic, "of the zombie", partition=0))
    async with Producer(servers, transactional_id=unique) as second:
        await second.init_transactions()
        async with second.transaction():
            await second.send(topic, "of the second", partition=0)
        delivery = await producer.send(topic, "late", partition=0)
        with pytest.raises(DeliveryFailed) as refused:
            await delivery
        assert isinstance(refused.value.cause, ApiError)
        assert refused.value.cause.code is ErrorCode.INVALID_PRODUCER_EPOCH
        with pytest.raises(AbortableError, match=r"send is refused, until abort_transaction.*INVALID_PRODUCER_EPOCH"):
            await producer.send(topic, "later")
        with pytest.raises(AbortableError, match="commit_transaction is refused"):
            await producer.commit_transaction()
        with pytest.raises(FencedError, match=r"another producer with this transactional\.id has started since"):
            await producer.abort_transaction()
        for call in (producer.begin_transaction(), producer.send(topic, "x"), producer.abort_transaction()):
            with pytest.raises(FencedError, match="the producer can only be closed"):
                await call
    assert await read_committed(servers, topic) == [b"of the second"]


async def test_zombie_the_first_producers_commits_and_offsets_are_refused(
    servers: str, topic: str, unique: str, protocol: str
) -> None:
    for action in ("commit", "offsets"):
        async with Producer(servers, transactional_id=unique) as first:
            await first.init_transactions()
            await first.begin_transaction()
            await (await first.send(topic, "of the zombie", partition=0))
            async with Producer(servers, transactional_id=unique) as second:
                await second.init_transactions()
            call = (
                first.commit_transaction()
                if action == "commit"
                else first.send_offsets({TopicPartition(topic, 0): 1}, unique)
            )
            with pytest.raises(FencedError):
                await call
    assert await read_committed(servers, topic) == []


# Scenario 15.
async def test_a_hung_transaction_is_aborted_by_the_broker(
    servers: str, topic: str, unique: str, protocol: str
) -> None:
    async with Producer(servers, transactional_id=unique, transaction_timeout_ms=200) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send(topic, "hangs", partition=0))
        assert await read_committed(servers, topic) == [], "read_committed waits for the end of the transaction"
        # The broker has taken the epoch away, so the producer is of no use any more.
        with pytest.raises(FatalError):
            await producer.commit_transaction()


async def test_a_timeout_above_the_brokers_limit_is_refused(servers: str, unique: str) -> None:
    async with Producer(servers, transactional_id=unique, transaction_timeout_ms=2**31 - 1) as producer:
        with pytest.raises(FatalError, match=r"transaction\.timeout\.ms=2147483647 .*transaction\.max\.timeout\.ms"):
            await producer.init_transactions()
        with pytest.raises(WrongTransactionState, match="call init_transactions first"):
            await producer.begin_transaction()


# Scenario 19.
async def test_offsets_appear_with_the_commit_and_never_after_an_abort(
    producer: Producer, admin: Admin, servers: str, topic: str, unique: str
) -> None:
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)

    async def committed() -> dict[TopicPartition, OffsetAndMetadata]:
        async with Consumer(bootstrap_servers=servers, group_id=unique, isolation_level="read_committed") as consumer:
            return await consumer.committed(first, second)

    await producer.begin_transaction()
    await producer.send_offsets({first: OffsetAndMetadata(offset=5, metadata="five"), second: 7}, unique)
    listed = await admin.list_group_offsets(unique)
    assert not listed, "not before the commit"
    await producer.commit_transaction()
    before = {first: OffsetAndMetadata(offset=5, metadata="five"), second: OffsetAndMetadata(offset=7)}
    assert await committed() == before
    await producer.begin_transaction()
    await producer.send_offsets({first: 50}, unique)
    await producer.abort_transaction()
    assert await committed() == before
    async with producer.transaction():
        await producer.send_offsets({first: 6}, unique)
        await producer.send_offsets({first: 8}, unique)
    assert await committed() == {first: OffsetAndMetadata(offset=8), second: OffsetAndMetadata(offset=7)}


# Scenario 21.
async def test_offsets_of_a_stale_generation_are_refused_and_the_transaction_can_be_aborted(
    producer: Producer, servers: str, topic: str, unique: str
) -> None:
    async with Consumer(topic, bootstrap_servers=servers, group_id=unique) as consumer:
        async with asyncio.timeout(HANG_SECONDS):
            while not consumer.assignment():
                await consumer.poll(timeout_ms=100)
        member = consumer.group_metadata()
        stale = ConsumerGroupMetadata(
            group_id=unique, generation_id=member.generation_id + 1, member_id=member.member_id
        )
        stranger = ConsumerGroupMetadata(group_id=unique, generation_id=member.generation_id, member_id="nobody")

        async def write(value: str, group: ConsumerGroupMetadata) -> None:
            async with producer.transaction():
                await producer.send(topic, value, partition=0)
                await producer.send_offsets({TopicPartition(topic, 0): 1}, group)

        for impostor in (stale, stranger):
            with pytest.raises(AbortableError, match="another one") as refused:
                await write("of a zombie", impostor)
            assert isinstance(refused.value.cause, CommitFailed)
        await write("of a member", member)
    assert await read_committed(servers, topic) == [b"of a member"]


async def test_a_failed_transaction_refuses_everything_with_its_cause_until_it_is_aborted(
    producer: Producer, admin: Admin, servers: str, unique: str
) -> None:
    topic = f"{unique}-compacted"
    await admin.create_topic(topic, partitions=1, configs={"cleanup.policy": "compact"})
    await producer.begin_transaction()
    await (await producer.send(topic, "good", key="k"))
    bad = await producer.send(topic, "a record without key")
    with pytest.raises(DeliveryFailed, match="INVALID_RECORD"):
        await bad
    for call in (
        producer.send(topic, "x", key="k"),
        producer.send_offsets({TopicPartition(topic, 0): 1}, unique),
        producer.commit_transaction(),
        producer.begin_transaction(),
        producer.init_transactions(),
    ):
        with pytest.raises(AbortableError, match=r"is refused, until abort_transaction: .*INVALID_RECORD") as refused:
            await call
        assert isinstance(refused.value.cause, DeliveryFailed)
    await producer.abort_transaction()
    async with producer.transaction():
        await producer.send(topic, "next", key="k")
    assert await read_committed(servers, topic) == [b"next"]


async def test_a_failure_that_nobody_awaited_fails_the_commit(
    producer: Producer, admin: Admin, servers: str, unique: str
) -> None:
    topic = f"{unique}-compacted"
    await admin.create_topic(topic, partitions=1, configs={"cleanup.policy": "compact"})
    await producer.begin_transaction()
    await producer.send(topic, "good", key="k")
    await producer.flush()
    await producer.send(topic, "a record without key")
    with pytest.raises(AbortableError, match="INVALID_RECORD"):
        await producer.commit_transaction()
    await producer.abort_transaction()
    assert await read_committed(servers, topic) == []


async def test_a_producer_may_initialize_again_and_gets_a_new_epoch(
    producer: Producer, servers: str, topic: str
) -> None:
    assert producer._transactions is not None
    identities = [producer._transactions.identity]
    for number in range(3):
        async with producer.transaction():
            await producer.send(topic, str(number), partition=0)
        await producer.init_transactions()
        identities.append(producer._transactions.identity)
    assert len({identity.producer_id for identity in identities}) == 1
    assert identities == sorted(set(identities))
    assert await read_committed(servers, topic) == [b"0", b"1", b"2"]


async def test_calls_in_the_wrong_state_name_the_remedy(servers: str, unique: str) -> None:
    async with Producer(servers, transactional_id=unique) as producer:
        with pytest.raises(WrongTransactionState, match="call init_transactions first"):
            await producer.send(unique, "x")
        await producer.init_transactions()
        with pytest.raises(WrongTransactionState, match="call begin_transaction first"):
            await producer.send(unique, "x")
        with pytest.raises(WrongTransactionState, match="call begin_transaction first"):
            await producer.commit_transaction()
        await producer.begin_transaction()
        with pytest.raises(WrongTransactionState, match="end it with commit_transaction or abort_transaction"):
            await producer.begin_transaction()
        await producer.abort_transaction()
    async with Producer(servers) as producer:
        with pytest.raises(WrongUse, match="create it with a transactional_id"):
            await producer.begin_transaction()


async def test_closing_aborts_what_is_open(servers: str, topic: str, unique: str, protocol: str) -> None:
    async with Producer(servers, transactional_id=unique) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send(topic, "open", partition=0))
    assert await read_committed(servers, topic) == []


async def test_records_of_many_transactions_are_visible_once_and_in_order(
    producer: Producer, servers: str, topic: str
) -> None:
    expected: dict[int, list[bytes]] = {0: [], 1: []}
    for number in range(12):
        try:
            async with producer.transaction():
                values = [b"%d-%d" % (number, record) for record in range(50)]
                for record, value in enumerate(values):
                    await producer.send(topic, value, partition=record % 2)
                if number % 3 == 1:
                    raise LookupError
        except LookupError:
            continue
        expected[0] += values[::2]
        expected[1] += values[1::2]
    assert await read_committed(servers, topic) == expected[0] + expected[1]
