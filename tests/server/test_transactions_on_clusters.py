"""Transactions where the coordinator, the partitions and the group are on different brokers, some of which die."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from support.nodes_in_process import Nodes, nodes
from support.raw_client import RawClient, raw_client
from support.raw_transactions import READ_COMMITTED, RawProducer, read

from tidelog.coordinators.placement import partition_for
from tidelog.model.errors import ErrorCode
from tidelog.model.topics import TRANSACTION_STATE_TOPIC
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest

THREE = dict.fromkeys((1, 2, 3), "broker,controller")
PARTITIONS = 6


async def create_replicated(client: RawClient, name: str) -> None:
    topic = CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=3)
    response = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
    assert response.topics[0].error_code == 0, response.topics[0].error_message


@asynccontextmanager
async def cluster(directory: Path, **properties: str) -> AsyncIterator[Nodes]:
    async with nodes(directory, THREE, **{"min.insync.replicas": "2", **properties}) as running:
        yield running


def leader_of(running: Nodes, topic: str, partition: int) -> int:
    image = next(iter(running.running.values())).node.image
    return image.topics[topic].partitions[partition].leader


def coordinator_of(running: Nodes, transactional_id: str) -> int:
    return leader_of(running, TRANSACTION_STATE_TOPIC, partition_for(transactional_id, 3))


@pytest.mark.parametrize("protocol", [1, 2])
async def test_coordinator_and_partition_leader_are_different_brokers(tmp_path: Path, protocol: int) -> None:
    async with cluster(tmp_path) as running, raw_client(running.address(1)) as any_broker:
        await create_replicated(any_broker, "t")
        await RawProducer(any_broker, "warm-up").init()
        coordinator = coordinator_of(running, "payments")
        others = [number for number in range(PARTITIONS) if leader_of(running, "t", number) != coordinator]
        async with raw_client(running.address(coordinator)) as at_coordinator:
            producer = RawProducer(at_coordinator, "payments", protocol)
            assert await producer.init() is ErrorCode.NONE
            sequences: Counter[tuple[int, int, int]] = Counter()
            for commit in (True, False, True):
                for partition in others[:2]:
                    async with raw_client(running.address(leader_of(running, "t", partition))) as at_leader:
                        await write(producer, at_leader, partition, f"{commit}", sequences)
                assert await producer.end(commit=commit) is ErrorCode.NONE
                await until_complete(producer, protocol)
        for partition in others[:2]:
            async with raw_client(running.address(leader_of(running, "t", partition))) as at_leader:
                await until_read(at_leader, partition, ["True", "True"])


async def write(
    producer: RawProducer,
    at_leader: RawClient,
    partition: int,
    value: str,
    sequences: Counter[tuple[int, int, int]],
) -> None:
    topic = "t"
    if producer.protocol == 1:
        while (code := await producer.add(topic, partition)) is ErrorCode.CONCURRENT_TRANSACTIONS:
            await asyncio.sleep(0.01)
        assert code is ErrorCode.NONE
    there = producer.copy()
    there.client = at_leader
    key = (producer.producer_id, producer.producer_epoch, partition)
    sequence = sequences[key]
    while (code := await there.produce(topic, value, partition=partition, sequence=sequence)) in (
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    ):
        await asyncio.sleep(0.01)
    assert code is ErrorCode.NONE
    sequences[key] += 1


async def until_complete(producer: RawProducer, protocol: int) -> None:
    """The first version of the protocol asks for patience: the markers are on their way."""
    if protocol == 2:
        return
    again = producer.copy()
    async with asyncio.timeout(10):
        while await again.end(commit=True) is ErrorCode.CONCURRENT_TRANSACTIONS:
            await asyncio.sleep(0.01)


async def until_read(client: RawClient, partition: int, expected: list[str]) -> None:
    async with asyncio.timeout(10):
        while (found := await read(client, "t", isolation=READ_COMMITTED, partition=partition)) != expected:
            assert len(found) <= len(expected)
            await asyncio.sleep(0.02)


# With a real client, and brokers that die.


def read_committed(bootstrap_servers: str, topic: str, partitions: int, within_seconds: float = 60) -> list[list[str]]:
    """All committed values of each partition, up to its end at the time of the call."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    parts = [TopicPartition(topic, number, 0) for number in range(partitions)]
    consumer.assign(parts)
    ends = [consumer.get_watermark_offsets(part, timeout=30)[1] for part in parts]
    values: list[list[str]] = [[] for _ in parts]
    deadline = time.monotonic() + within_seconds
    try:
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                values[message.partition()].append(message.value().decode())
                continue
            positions = {part.partition: part.offset for part in consumer.position(parts)}
            if all(positions[number] >= end for number, end in enumerate(ends)):
                return values
    finally:
        consumer.close()
    raise AssertionError(f"the end {ends} was not reached: {positions}")


class Writer:
    """Writes each number to all partitions in one transaction, as an application that restarts its producer would."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        self._settings = {
            "bootstrap.servers": bootstrap_servers,
            "transactional.id": "writer",
            "transaction.timeout.ms": 10_000,
            "socket.timeout.ms": 5000,
        }
        self._topic = topic
        self._partitions = partitions
        self.committed: list[str] = []
        self.aborted: list[str] = []
        self.unknown: list[str] = []
        self.stop = False

    def run(self) -> None:
        numbers = itertools.count()
        producer: Producer | None = None
        while not self.stop:
            value = str(next(numbers))
            try:
                if producer is None:
                    producer = Producer(self._settings)
                    producer.init_transactions(60)
                producer.begin_transaction()
                for partition in range(self._partitions):
                    producer.produce(self._topic, value.encode(), partition=partition)
                if int(value) % 5 == 4:
                    self.aborted.append(value)
                    producer.flush(30)
                    producer.abort_transaction(60)
                    continue
                producer.commit_transaction(60)
            except KafkaException:
                # Whether it is committed is not known; what counts is that it is so in all partitions or in none.
                self.unknown.append(value)
                producer = None
            else:
                self.committed.append(value)


def check(found: list[list[str]], writer: Writer) -> None:
    """I2, I3, I4, I6 of the scenarios."""
    first = found[0]
    assert all(values == first for values in found), "a transaction is in some partitions and not in others"
    assert len(first) == len(set(first)), "a record is there twice"
    assert [int(value) for value in first] == sorted(int(value) for value in first)
    assert set(writer.committed) <= set(first), "an acknowledged transaction is lost"
    assert not set(writer.aborted) & set(first), "an aborted transaction is visible"


async def run_with_faults(running: Nodes, faults: int) -> Writer:
    writer = Writer(running.bootstrap_servers, "t", PARTITIONS)
    writing = asyncio.create_task(asyncio.to_thread(writer.run))
    try:
        await wait_for_commits(writer, 5)
        for round_number in range(faults):
            victim = coordinator_of(running, "writer") if round_number % 2 == 0 else leader_of(running, "t", 0)
            before = len(writer.committed)
            await running.kill(victim)
            await wait_for_commits(writer, before + 5)
            await running.start(victim)
            await wait_for_commits(writer, before + 10)
    finally:
        writer.stop = True
        await writing
    return writer


async def wait_for_commits(writer: Writer, count: int) -> None:
    async with asyncio.timeout(90):
        while len(writer.committed) < count:
            await asyncio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_scenario_17_brokers_die_and_every_transaction_is_whole_or_not_there(tmp_path: Path) -> None:
    async with cluster(tmp_path) as running:
        async with raw_client(running.address(1)) as client:
            await create_replicated(client, "t")
            await RawProducer(client, "writer").init()
        writer = await run_with_faults(running, faults=4)
        found = await asyncio.to_thread(read_committed, running.bootstrap_servers, "t", PARTITIONS)

    check(found, writer)
    assert len(writer.committed) >= 40
