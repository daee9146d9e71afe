"""`Producer` against real brokers, and over connections that are cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest
from support.client_reading import read_all
from support.cutting_proxy import CuttingProxy, running_proxy
from support.processes import HANG_SECONDS, free_port

from tidelog import Broker
from tidelog.client.admin import Admin
from tidelog.client.errors import (
    ApiTimeout,
    BufferExhausted,
    DeliveryFailed,
    DeliveryTimedOut,
    ProducerClosed,
    RecordTooLarge,
    WrongUse,
)
from tidelog.client.producer.partitioner import partition_for_key
from tidelog.client.producer.producer import Delivery, Producer
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import LATEST
from tidelog.records.record import encode_batch

PRODUCE = 0
INIT_PRODUCER_ID = 22


async def test_a_delivery_says_where_the_record_is(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=3)
    async with Producer(servers) as producer:
        delivery = await producer.send(
            unique, "väl", key=b"key", headers={"text": "yes", "nothing": None}, timestamp_ms=1_700_000_000_123
        )
        stored = await delivery
    assert stored == (unique, partition_for_key(b"key", 3), 0, 1_700_000_000_123)
    (record,) = await read_all(servers, unique)
    assert (record.key, record.value, record.timestamp_ms) == (b"key", "väl".encode(), 1_700_000_000_123)
    assert record.headers == (("text", b"yes"), ("nothing", None))


async def test_deliveries_are_awaited_together_and_with_a_limit(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    async with Producer(servers) as producer:
        first, second, third = [await producer.send(unique, b"x") for _ in range(3)]
        assert [stored.offset for stored in await asyncio.gather(first, second)] == [0, 1]
        assert (await asyncio.wait_for(third, HANG_SECONDS)).offset == 2
        assert (await asyncio.create_task(producer.send(unique, b"x"))).done() is False


async def test_full_batches_leave_while_a_loop_sends(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    async with Producer(
        servers, batch_size=10_000, linger_ms=60_000, max_in_flight_requests_per_connection=5
    ) as producer:
        # Connected, and with a producer id.
        await asyncio.gather(await producer.send(unique, b"x"), producer.flush())
        before = producer.metrics()["request-total"]
        # No batch is full to the last byte: the next record does not fit.
        for _ in range(40):
            await producer.send(unique, bytes(3_000))
        assert producer.metrics()["request-total"] > before


class Number:
    """What other libraries have for numbers."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


async def test_arguments_may_be_of_other_kinds_also_while_the_topic_is_unknown(servers: str, unique: str) -> None:
    async with Producer(servers) as producer:
        for number in range(2):
            headers = ((name, b"1") for name in ("a", "b"))
            partition, timestamp = cast(int, Number(0)), cast(int, Number(7 + number))
            await producer.send(unique, b"x", headers=headers, partition=partition, timestamp_ms=timestamp)
    records = await read_all(servers, unique)
    assert [(record.timestamp_ms, record.headers) for record in records] == [
        (7, (("a", b"1"), ("b", b"1"))),
        (8, (("a", b"1"), ("b", b"1"))),
    ]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["all", "1", "0"])
async def test_every_compression_and_acknowledgement(
    admin: Admin, servers: str, unique: str, compression: str, acks: str
) -> None:
    await admin.create_topic(unique, partitions=1)
    # Without acknowledgements, what comes before the leader is ready is lost.
    partition = TopicPartition(unique, 0)
    Admin.raise_any(await admin.list_offsets({partition: LATEST}))
    async with Producer(servers, compression_type=compression, acks=acks) as producer:
        deliveries = [await producer.send(unique, b"value %d" % number) for number in range(500)]
        stored = [await delivery for delivery in deliveries]
    expected = [-1] * 500 if acks == "0" else list(range(500))
    assert [metadata.offset for metadata in stored] == expected
    if acks != "all":
        # Nobody said that the records have arrived, or that all replicas have them.
        async with asyncio.timeout(HANG_SECONDS):
            while Admin.raise_any(await admin.list_offsets({partition: LATEST}))[partition].offset < 500:
                await asyncio.sleep(0.05)
    assert [record.value for record in await read_all(servers, unique)] == [b"value %d" % n for n in range(500)]


async def test_order_and_keys_are_kept_over_many_batches(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=4)
    async with Producer(servers, batch_size=1000, linger_ms=1) as producer:
        for number in range(5000):
            await producer.send(unique, b"%d" % number, key=b"key-%d" % (number % 13))
    by_key: dict[bytes, list[int]] = {}
    for record in await read_all(servers, unique):
        assert record.key is not None
        assert record.partition == partition_for_key(record.key, 4)
        by_key.setdefault(record.key, []).append(int(record.value or b""))
    assert by_key == {b"key-%d" % key: list(range(key, 5000, 13)) for key in range(13)}


async def test_null_key_and_null_value(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    async with Producer(servers) as producer:
        await producer.send(unique)
        await producer.send(unique, b"", key=b"")
    assert [(record.key, record.value) for record in await read_all(servers, unique)] == [(None, None), (b"", b"")]


async def test_a_partition_can_be_named(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=3)
    async with Producer(servers, max_block_ms=2000) as producer:
        assert (await (await producer.send(unique, b"x", key=b"k", partition=2))).partition == 2
        with pytest.raises(WrongUse, match="has the partitions 0 to 2, not 3"):
            await producer.send(unique, b"x", partition=3)
        with pytest.raises(WrongUse, match="has the partitions 0 to 2, not 4"):
            await producer.publish(unique, 4, encode_batch([(1_700_000_000_000, None, b"x", ())]))
        with pytest.raises(WrongUse, match="has the partitions 0 to 2, not -1"):
            await producer.send(unique, b"x", partition=-1)


@pytest.mark.parametrize(("in_place", "writable"), [(True, True), (True, False), (False, True)])
async def test_published_batch_is_stamped_in_place_only_where_that_is_allowed(
    servers: str, unique: str, in_place: bool, writable: bool
) -> None:
    batch = encode_batch([(1_700_000_000_000, None, b"x", ())])
    given = memoryview(bytearray(batch) if writable else batch)
    async with Producer(servers) as producer:
        stored = await (await producer.publish(unique, 0, given, in_place=in_place))

    assert stored.offset == 0
    assert (bytes(given) != batch) == (in_place and writable)


async def test_a_partition_that_was_added_is_waited_for(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    async with Producer(servers) as producer:
        await (await producer.send(unique, b"x"))
        assert len((await producer.partitions_for(unique)).partitions) == 1
        Admin.raise_any(await admin.create_partitions({unique: 3}))
        assert (await (await producer.send(unique, b"y", partition=2))).partition == 2


async def test_a_missing_topic_is_created_by_sending(servers: str, unique: str) -> None:
    async with Producer(servers) as producer:
        assert (await (await producer.send(unique, b"x"))).offset == 0


async def test_a_topic_that_cannot_exist_is_told_at_once(servers: str) -> None:
    async with Producer(servers) as producer:
        with pytest.raises(ApiError, match="INVALID_TOPIC_EXCEPTION"):
            await producer.send("no/slashes", b"x")


async def test_records_that_are_too_large_for_the_client(servers: str, unique: str) -> None:
    async with Producer(servers, max_request_size=1000) as producer:
        with pytest.raises(RecordTooLarge, match=r"max\.request\.size=1000"):
            await producer.send(unique, b"x" * 1000)


async def test_a_batch_too_large_for_the_broker_is_split(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1, configs={"max.message.bytes": "5000"})
    async with Producer(servers, batch_size=100_000, linger_ms=1000) as producer:
        deliveries = [await producer.send(unique, b"%04d" % number + b"x" * 500) for number in range(60)]
        await producer.flush()
        assert [(await delivery).offset for delivery in deliveries] == list(range(60))
        alone = await producer.send(unique, b"x" * 6000)
        with pytest.raises(DeliveryFailed, match="MESSAGE_TOO_LARGE"):
            await alone
        after = await producer.send(unique, b"goes on")
        assert (await after).offset == 60
    assert [record.value[:4] for record in await read_all(servers, unique) if record.value][:60] == [
        b"%04d" % number for number in range(60)
    ]


async def test_a_record_without_key_is_refused_by_a_compacted_topic(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1, configs={"cleanup.policy": "compact"})
    async with Producer(servers) as producer:
        good = await producer.send(unique, b"v", key=b"k")
        await good
        bad = await producer.send(unique, b"v")
        with pytest.raises(DeliveryFailed) as refused:
            await bad
        assert isinstance(refused.value.cause, ApiError)
        assert refused.value.cause.code == ErrorCode.INVALID_RECORD
        assert (await (await producer.send(unique, b"v", key=b"k"))).offset == 1


async def test_a_failure_that_nobody_awaited_is_raised_by_flush(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1, configs={"cleanup.policy": "compact"})
    async with Producer(servers) as producer:
        await producer.send(unique, b"no key")
        with pytest.raises(DeliveryFailed, match="INVALID_RECORD"):
            await producer.flush()
        await producer.flush()
    with pytest.raises(DeliveryFailed, match="INVALID_RECORD"):
        async with Producer(servers) as producer:
            await producer.send(unique, b"no key")


async def test_a_closed_producer_takes_nothing(servers: str, unique: str) -> None:
    producer = Producer(servers)
    with pytest.raises(ProducerClosed, match="has not been started"):
        await producer.send(unique, b"x")
    await producer.start()
    await producer.close()
    with pytest.raises(ProducerClosed, match="is closed"):
        await producer.send(unique, b"x")


async def test_idempotence_leaves_its_mark_on_the_broker(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    async with Producer(servers) as producer:
        for _ in range(10):
            await (await producer.send(unique, b"x"))
        partition = TopicPartition(unique, 0)
        (state,) = Admin.raise_any(await admin.describe_producers([partition]))[partition]
    assert (state.producer_epoch, state.last_sequence) == (0, 9)


# -- connections that are cut ----------------------------------------------------------------------------------------


@pytest.fixture
async def cut_broker() -> AsyncIterator[tuple[CuttingProxy, str]]:
    """A tidelog broker that is reached through a proxy."""
    async with running_proxy() as (proxy, port):
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        proxy.target = ("127.0.0.1", free_port())
        async with Broker(port=proxy.target[1], properties=advertised):
            yield proxy, f"127.0.0.1:{port}"


def quick(servers: str, **options: object) -> Producer:
    backoff = {"retry_backoff_ms": 10, "retry_backoff_max_ms": 40, "reconnect_backoff_ms": 10}
    return Producer(servers, **backoff, **options)  # type: ignore[arg-type]


async def make_topic(servers: str, name: str, partitions: int = 1) -> None:
    async with Admin(servers) as admin:
        await admin.create_topic(name, partitions=partitions)


async def test_a_lost_acknowledgement_does_not_store_a_record_twice(cut_broker: tuple[CuttingProxy, str]) -> None:
    proxy, servers = cut_broker
    await make_topic(servers, "t")
    proxy.cut_replies[PRODUCE] = 3
    async with quick(servers) as producer:
        stored = await (await producer.send("t", b"once"))
    assert proxy.cuts == 3
    assert stored.offset == 0
    assert [record.value for record in await read_all(servers, "t")] == [b"once"]


async def test_lost_requests_and_replies_neither_lose_nor_repeat_nor_reorder(
    cut_broker: tuple[CuttingProxy, str],
) -> None:
    proxy, servers = cut_broker
    await make_topic(servers, "t", partitions=2)
    deliveries: list[Delivery] = []
    async with quick(servers, batch_size=200, linger_ms=0) as producer:
        for number in range(400):
            if number % 20 == 10:
                proxy.cut_requests[PRODUCE] += 1
            if number % 20 == 0:
                proxy.cut_replies[PRODUCE] += 1
            deliveries.append(await producer.send("t", b"%d" % number, partition=number % 2))
            if number % 5 == 0:
                await asyncio.sleep(0.002)
        await producer.flush()
        for delivery in deliveries:
            await delivery
    assert proxy.cuts >= 10
    records = await read_all(servers, "t")
    for partition in (0, 1):
        values = [int(record.value or b"") for record in records if record.partition == partition]
        assert values == list(range(partition, 400, 2))


async def test_without_idempotence_one_in_flight_keeps_the_order(cut_broker: tuple[CuttingProxy, str]) -> None:
    proxy, servers = cut_broker
    await make_topic(servers, "t")
    options = {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1, "batch_size": 100}
    async with quick(servers, linger_ms=0, **options) as producer:
        for number in range(200):
            if number % 40 == 0:
                proxy.cut_requests[PRODUCE] += 1
            await producer.send("t", b"%d" % number)
    assert proxy.cuts >= 3
    values = [int(record.value or b"") for record in await read_all(servers, "t")]
    assert list(dict.fromkeys(values)) == list(range(200)), "repeated perhaps, but in order and complete"


async def test_delivery_ends_when_its_time_is_over(cut_broker: tuple[CuttingProxy, str]) -> None:
    proxy, servers = cut_broker
    await make_topic(servers, "t")
    proxy.cut_requests[PRODUCE] = 10_000
    async with quick(servers, delivery_timeout_ms=400, request_timeout_ms=300, linger_ms=0) as producer:
        delivery = await producer.send("t", b"never")
        with pytest.raises(
            DeliveryTimedOut, match=r"may or may not be stored after \d+ tries: delivery\.timeout\.ms=400"
        ):
            await delivery
        proxy.cut_requests[PRODUCE] = 0
        assert (await (await producer.send("t", b"later"))).offset == 0
    assert [record.value for record in await read_all(servers, "t")] == [b"later"]


async def test_retries_can_be_few(cut_broker: tuple[CuttingProxy, str]) -> None:
    proxy, servers = cut_broker
    await make_topic(servers, "t")
    proxy.cut_requests[PRODUCE] = 10
    async with quick(servers, retries=2, linger_ms=0) as producer:
        delivery = await producer.send("t", b"x")
        with pytest.raises(DeliveryFailed, match="after 3 tries"):
            await delivery
        proxy.cut_requests[PRODUCE] = 0


async def test_a_full_buffer_makes_senders_wait_and_then_fail(cut_broker: tuple[CuttingProxy, str]) -> None:
    proxy, servers = cut_broker
    await make_topic(servers, "t")
    proxy.cut_requests[PRODUCE] = 100_000
    async with quick(servers, buffer_memory=2000, batch_size=500, max_block_ms=200) as producer:
        for _ in range(5):
            await producer.send("t", b"x" * 300)
        with pytest.raises(BufferExhausted, match=r"max\.block\.ms=200.*buffer\.memory=2000"):
            await producer.send("t", b"x" * 300)
        waiting = asyncio.create_task(producer.send("t", b"x" * 300))
        proxy.cut_requests[PRODUCE] = 0
        delivery = await waiting
        await delivery


async def test_a_producer_id_is_asked_for_until_it_comes(cut_broker: tuple[CuttingProxy, str]) -> None:
    proxy, servers = cut_broker
    await make_topic(servers, "t")
    proxy.cut_replies[INIT_PRODUCER_ID] = 2
    async with quick(servers) as producer:
        assert (await (await producer.send("t", b"x"))).offset == 0
    assert proxy.seen[INIT_PRODUCER_ID] >= 3


async def test_a_topic_that_never_appears_ends_the_wait() -> None:
    async with (
        Broker(properties={"auto.create.topics.enable": "false"}) as broker,
        Producer(broker.bootstrap_servers, max_block_ms=300) as producer,
    ):
        with pytest.raises(ApiTimeout, match=r"finding topic 'missing' did not succeed within 300 ms.*UNKNOWN_TOPIC"):
            await producer.send("missing", b"x")


# -- partitioners ----------------------------------------------------------------------------------------------------


async def spread(servers: str, topic: str, **options: object) -> tuple[list[int], int]:
    """(the partitions of 600 records without key, the number of Produce batches that it took)."""
    batches: set[int] = set()
    async with Producer(servers, batch_size=2000, linger_ms=20, **options) as producer:  # type: ignore[arg-type]
        deliveries = [await producer.send(topic, b"x" * 50) for _ in range(600)]
        for delivery in deliveries:
            await delivery
            batches.add(id(delivery._batch))
        return [(await delivery).partition for delivery in deliveries], len(batches)


async def test_sticky_partitioners_make_fewer_batches_than_round_robin(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=6)
    found = {name: await spread(servers, unique, partitioner=name) for name in ("round-robin", "sticky", None)}
    dealt_out, _ = found["round-robin"]
    assert sorted(map(dealt_out.count, range(6))) == [100] * 6
    assert all(len(set(chosen)) > 1 for chosen, _ in found.values())
    assert found["sticky"][1] <= found["round-robin"][1]
    assert found[None][1] <= found["round-robin"][1]


async def test_users_may_bring_their_own_partitioner(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=3)

    def by_length(topic: str, key: bytes | None, value: bytes | None, count: int) -> int:
        return len(value or b"") % count

    async with Producer(servers, partitioner=by_length) as producer:
        deliveries = [await producer.send(unique, b"x" * length) for length in range(6)]
        assert [(await delivery).partition for delivery in deliveries] == [0, 1, 2, 0, 1, 2]
    async with Producer(servers, partitioner=lambda *_: 7) as producer:
        with pytest.raises(WrongUse, match=r"the partitioner chose 7 for topic .* with 3 partitions"):
            await producer.send(unique, b"x")
