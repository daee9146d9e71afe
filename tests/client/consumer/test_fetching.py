"""What is fetched, from whom, and in which form it is handed out."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from pathlib import Path

import confluent_kafka
import pytest
from support.nodes_in_process import Nodes
from support.present import present
from support.processes import HANG_SECONDS, free_port
from support.reading import at_least, fill, poll_until, reader, topic_with, values

from tidelog import Broker
from tidelog.client.admin import Admin, NewTopic
from tidelog.client.cluster.cluster import FETCHING
from tidelog.client.consumer import Consumer
from tidelog.client.errors import WrongUse
from tidelog.client.producer.producer import Producer
from tidelog.config.broker import BrokerConfig
from tidelog.model.ids import TopicPartition

# -- transactions ----------------------------------------------------------------------------------------------------


async def write_transactions(servers: str, topic: str, seed: int) -> tuple[list[int], list[int]]:
    """Three transactional producers and a plain one take turns in one partition: (what is committed, everything)."""
    chance = random.Random(seed)
    everything: list[int] = []
    committed: set[int] = set()
    pending: dict[int, list[int]] = {}
    producers = [Producer(servers, transactional_id=f"{topic}-{number}", linger_ms=0) for number in range(3)]
    async with Producer(servers, linger_ms=0) as plain:
        for producer in producers:
            await producer.start()
            await producer.init_transactions()
        for number in range(40):
            which = chance.randrange(4)
            everything.append(number)
            if which == 3:
                committed.add(number)
                await (await plain.send(topic, b"%d" % number, partition=0))
                continue
            if which not in pending:
                await producers[which].begin_transaction()
                pending[which] = []
            pending[which].append(number)
            await (await producers[which].send(topic, b"%d" % number, partition=0))
            if chance.random() < 0.4:
                await _end(producers[which], pending.pop(which), committed, commit=chance.random() < 0.5)
        for which in list(pending):
            await _end(producers[which], pending.pop(which), committed, commit=which % 2 == 0)
        for producer in producers:
            await producer.close()
    return sorted(committed), everything


async def _end(producer: Producer, numbers: list[int], committed: set[int], *, commit: bool) -> None:
    if commit:
        await producer.commit_transaction()
        committed.update(numbers)
    else:
        await producer.abort_transaction()


async def test_of_several_transactional_producers_only_what_is_committed_is_read(
    admin: Admin, servers: str, unique: str
) -> None:
    await admin.create_topic(unique, partitions=1)
    committed, everything = await write_transactions(servers, unique, seed=7)
    assert 5 < len(committed) < len(everything) - 5
    # Small fetches, so that transactions begin in one reply and end in another.
    small: dict[str, object] = {"max_partition_fetch_bytes": 300, "isolation_level": "read_committed"}
    async with reader(servers, unique, **small) as consumer:
        assert values(await poll_until(consumer, at_least(len(committed)))) == committed
        (partition,) = consumer.assignment()
        end = (await consumer.end_offsets(partition))[partition]
        await poll_until(consumer, lambda _: consumer.lag(partition) == 0)
        assert await consumer.position(partition) == end
        # From anywhere, also from the middle of an aborted transaction.
        for offset in range(1, end, end // 4):
            consumer.seek(partition, offset)
            expected = await asyncio.to_thread(_read_with_librdkafka, servers, partition, offset, end)
            got = await poll_until(consumer, at_least(len(expected))) if expected else []
            assert values(got) == expected
    async with reader(servers, unique) as consumer:
        assert values(await poll_until(consumer, at_least(len(everything)))) == everything


def _read_with_librdkafka(servers: str, partition: TopicPartition, offset: int, end: int) -> list[int]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(partition.topic, partition.partition, offset)])
    found: list[int] = []
    while (message := consumer.poll(20)) is not None and message.error() is None:
        found.append(int(present(message.value())))
    consumer.close()
    assert end >= offset
    return found


# -- forms -----------------------------------------------------------------------------------------------------------


async def test_columns_hold_what_the_records_do(admin: Admin, servers: str, unique: str) -> None:
    pytest.importorskip("pyarrow")
    await admin.create_topic(unique, partitions=2, configs={"retention.ms": "-1"})
    async with Producer(servers, compression_type="zstd") as producer:
        for number in range(200):
            await producer.send(
                unique,
                None if number % 7 == 0 else b"v%d" % number,
                key=None if number % 5 == 0 else b"k%d" % number,
                partition=number % 2,
                headers=[("h", b"%d" % number)] if number % 3 == 0 else [],
                timestamp_ms=number,
            )
    async with reader(servers, unique) as consumer:
        records = await poll_until(consumer, at_least(200))
        consumer.seek_to_beginning()
        rows: list[dict[str, object]] = []
        sizes: list[int] = []
        async with asyncio.timeout(HANG_SECONDS):
            while len(rows) < 200:
                batch = await consumer.fetch_arrow(max_rows=33, timeout_ms=1000)
                rows += batch.to_pylist()
                sizes.append(batch.num_rows)
        empty = await consumer.fetch_arrow(timeout_ms=0)
        assert (empty.num_rows, empty.schema) == (0, batch.schema)
        with pytest.raises(WrongUse, match="max_rows=0"):
            await consumer.fetch_arrow(max_rows=0)
        for partition in consumer.assignment():
            assert await consumer.position(partition) == 100
    assert max(sizes) <= 33
    by_place = {(row["partition"], row["offset"]): row for row in rows}
    assert len(by_place) == 200
    for record in records:
        row = by_place[record.partition, record.offset]
        assert (row["topic"], row["key"], row["value"]) == (record.topic, record.key, record.value)
        assert [(header["key"], header["value"]) for header in row["headers"] or ()] == list(record.headers)  # type: ignore[attr-defined]
        assert row["timestamp"].timestamp() * 1000 == pytest.approx(record.timestamp_ms)  # type: ignore[attr-defined]


async def test_records_come_by_partition(admin: Admin, servers: str, unique: str) -> None:
    first, second = await topic_with(admin, servers, unique, 20, partitions=2)
    async with reader(servers, unique) as consumer:
        found: Counter[TopicPartition] = Counter()
        async with asyncio.timeout(HANG_SECONDS):
            while found[second] < 10:
                for partition, records in (await consumer.getmany(second, timeout_ms=200)).items():
                    assert all(record.topic_partition == partition for record in records)
                    found[partition] += len(records)
            assert found[first] == 0
            while found[first] < 10:
                found.update({part: len(some) for part, some in (await consumer.getmany(max_records=3)).items()})
        assert await consumer.getmany(timeout_ms=0) == {}
        with pytest.raises(WrongUse, match="max_records=0"):
            await consumer.getmany(max_records=0)


async def test_an_iteration_may_pause_what_it_reads(admin: Admin, servers: str, unique: str) -> None:
    first, second = await topic_with(admin, servers, unique, 40, partitions=2)
    seen: list[tuple[int, int]] = []
    async with reader(servers, unique) as consumer, asyncio.timeout(HANG_SECONDS):
        async for record in consumer:
            seen.append((record.partition, record.offset))
            if len(seen) == 5:
                consumer.pause(record.topic_partition)
                assert consumer.paused() == {record.topic_partition}
            if len(seen) == 25:
                assert len({partition for partition, _ in seen[5:]}) == 1
                consumer.resume(first, second)
            if len(seen) == 40:
                break
    for number in (0, 1):
        assert [offset for partition, offset in seen if partition == number] == list(range(20))


async def test_a_record_larger_than_the_limits_is_read_all_the_same(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    async with Producer(servers) as producer:
        for size in (10, 20_000, 30_000, 10):
            await producer.send(unique, b"x" * size, partition=0)
    async with reader(servers, unique, max_partition_fetch_bytes=100, fetch_max_bytes=100) as consumer:
        records = await poll_until(consumer, at_least(4))
    assert [len(record.value or b"") for record in records] == [10, 20_000, 30_000, 10]


async def test_a_reset_goes_back_by_a_duration(admin: Admin, servers: str, unique: str) -> None:
    old, recent = (TopicPartition(unique, number) for number in range(2))
    await admin.create_topic(unique, partitions=2, configs={"retention.ms": "-1"})
    now = int(time.time() * 1000)
    async with Producer(servers) as producer:
        for hours in (5, 3, 1, 0):
            await producer.send(unique, b"%d" % hours, partition=recent.partition, timestamp_ms=now - hours * 3_600_000)
        await producer.send(unique, b"5", partition=old.partition, timestamp_ms=now - 5 * 3_600_000)
    async with reader(servers, unique, auto_offset_reset="by_duration:PT2H") as consumer:
        assert values(await poll_until(consumer, at_least(2))) == [1, 0]
        # Where nothing is that new, it begins with what comes next.
        assert await consumer.position(old) == 1


# -- sessions and replicas -------------------------------------------------------------------------------------------


async def test_sessions_that_push_each_other_out_lose_nothing() -> None:
    """A broker that can remember one session only forgets one with each request of the other reader."""
    port = free_port()
    servers = f"127.0.0.1:{port}"
    async with (
        Broker(port=port, properties={"max.incremental.fetch.session.cache.slots": "1"}),
        Admin(servers) as admin,
    ):
        await topic_with(admin, servers, "t", 400, partitions=4)
        small: dict[str, object] = {"max_partition_fetch_bytes": 500, "max_poll_records": 20, "fetch_max_wait_ms": 10}
        async with reader(servers, "t", **small) as one, reader(servers, "t", **small) as two:
            read = await asyncio.gather(*(poll_until(each, at_least(400)) for each in (one, two)))
    for records in read:
        assert sorted(values(records)) == list(range(400))


class NodesInRacks(Nodes):
    def config(self, number: int) -> BrokerConfig:
        self._properties = {**self._properties, "broker.rack": f"rack-{number}"}
        return super().config(number)


async def test_a_reader_in_a_rack_reads_from_the_replica_there(tmp_path: Path) -> None:
    """KIP-392; when that replica is away, the leader serves it again."""
    properties = {
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "replica.fetch.wait.max.ms": "50",
    }
    cluster = NodesInRacks(tmp_path, {1: "broker,controller", 2: "broker"}, properties)
    await cluster.start()
    try:
        servers = cluster.bootstrap_servers
        async with Admin(servers) as admin:
            Admin.raise_any(await admin.create_topics([NewTopic(name="t", assignment={0: (1, 2)})]))
            await fill(servers, "t", 50)
            async with reader(servers, "t", client_rack="rack-2", metadata_max_age_ms=60_000) as consumer:
                records = await poll_until(consumer, at_least(50))
                await fill(servers, "t", 50, first=50)
                records += await poll_until(consumer, at_least(50))
                assert _fetches_from(consumer) == {1, 2}, "the leader is asked first, and names the other"
                entry = next(iter(consumer._positions))
                assert entry.preferred_replica == 2
                await cluster.kill(2)
                await fill(servers, "t", 20, first=100)
                records += await poll_until(consumer, at_least(20))
                assert entry.preferred_replica is None
    finally:
        await asyncio.gather(*(node.abandon() for node in cluster.running.values()), return_exceptions=True)
    assert values(records) == list(range(120))


def _fetches_from(consumer: Consumer) -> set[int]:
    return {node for node in (1, 2) if consumer._cluster.open_connection_to(node, FETCHING) is not None}
