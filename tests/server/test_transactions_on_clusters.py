"""Transactions where the coordinator, the partitions and the group are on different brokers, some of which die."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.nodes_in_process import Nodes, nodes
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client
from support.raw_transactions import READ_COMMITTED, RawProducer, read
from support.transaction_workload import Writer, read_committed

from tidelog.coordinators.placement import partition_for
from tidelog.model.errors import ErrorCode
from tidelog.model.topics import TRANSACTION_STATE_TOPIC
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest

THREE = dict.fromkeys((1, 2, 3), "broker,controller")
PARTITIONS = 6
# What a broker says that has not heard yet of a topic, or that it leads a partition of it; clients ask again.
NOT_HEARD_YET = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


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


async def until_known(running: Nodes, topic: str) -> None:
    """Until all brokers have heard of the topic, and each leader leads."""

    def is_known() -> bool:
        everyone = {number: each.node for number, each in running.running.items()}
        return all(topic in node.image.topics for node in everyone.values()) and all(
            not isinstance(everyone[leader_of(running, topic, number)].replicas.leader(topic, number), ErrorCode)
            for number in range(len(everyone[1].image.topics[topic].partitions))
        )

    async with asyncio.timeout(HANG_SECONDS):
        while not is_known():
            await asyncio.sleep(0.02)


def coordinator_of(running: Nodes, transactional_id: str) -> int:
    return leader_of(running, TRANSACTION_STATE_TOPIC, partition_for(transactional_id, 3))


async def init(producer: RawProducer) -> None:
    """The broker may hear later than others that it coordinates now."""
    async with asyncio.timeout(HANG_SECONDS):
        while (code := await producer.init()) is ErrorCode.NOT_COORDINATOR:
            await asyncio.sleep(0.05)
    assert code is ErrorCode.NONE


@pytest.mark.parametrize("protocol", [1, 2])
async def test_coordinator_and_partition_leader_are_different_brokers(tmp_path: Path, protocol: int) -> None:
    async with cluster(tmp_path) as running, raw_client(running.address(1)) as any_broker:
        await create_replicated(any_broker, "t")
        await until_known(running, "t")
        await RawProducer(any_broker, "warm-up").init()
        await until_known(running, TRANSACTION_STATE_TOPIC)
        coordinator = coordinator_of(running, "payments")
        others = [number for number in range(PARTITIONS) if leader_of(running, "t", number) != coordinator]
        async with raw_client(running.address(coordinator)) as at_coordinator:
            producer = RawProducer(at_coordinator, "payments", protocol)
            await init(producer)
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


async def test_requests_in_flight_keep_their_order_while_a_distant_coordinator_is_asked(tmp_path: Path) -> None:
    async with cluster(tmp_path) as running, raw_client(running.address(1)) as any_broker:
        await create_replicated(any_broker, "t")
        await until_known(running, "t")
        await RawProducer(any_broker, "warm-up").init()
        await until_known(running, TRANSACTION_STATE_TOPIC)
        coordinator = coordinator_of(running, "payments")
        partition = next(number for number in range(PARTITIONS) if leader_of(running, "t", number) != coordinator)
        async with (
            raw_client(running.address(coordinator)) as at_coordinator,
            raw_client(running.address(leader_of(running, "t", partition))) as at_leader,
        ):
            producer = RawProducer(at_coordinator, "payments", 2)
            await init(producer)
            asked = [
                at_leader.send(producer.produce_request("t", str(number), partition=partition, sequence=number), 12)
                for number in range(5)
            ]
            replies = [await at_leader.receive(each) for each in asked]

            assert [reply.responses[0].partition_responses[0].error_code for reply in replies] == [0] * 5
            assert await producer.end(commit=True) is ErrorCode.NONE
            await until_read(at_leader, partition, ["0", "1", "2", "3", "4"])


async def write(
    producer: RawProducer,
    at_leader: RawClient,
    partition: int,
    value: str,
    sequences: Counter[tuple[int, int, int]],
) -> None:
    topic = "t"
    if producer.protocol == 1:
        while (code := await producer.add(topic, partition)) in (*NOT_HEARD_YET, ErrorCode.CONCURRENT_TRANSACTIONS):
            await asyncio.sleep(0.01)
        assert code is ErrorCode.NONE
    there = producer.copy()
    there.client = at_leader
    key = (producer.producer_id, producer.producer_epoch, partition)
    sequence = sequences[key]
    while (code := await there.produce(topic, value, partition=partition, sequence=sequence)) in (
        *NOT_HEARD_YET,
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
    async with asyncio.timeout(HANG_SECONDS):
        while await again.end(commit=True) is ErrorCode.CONCURRENT_TRANSACTIONS:
            await asyncio.sleep(0.01)


async def until_read(client: RawClient, partition: int, expected: list[str]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while (found := await read(client, "t", isolation=READ_COMMITTED, partition=partition)) != expected:
            assert len(found) <= len(expected)
            await asyncio.sleep(0.02)


# With a real client, and brokers that die.


async def run_with_faults(running: Nodes, writer: Writer, faults: int) -> None:
    await wait_for_commits(writer, 5)
    for round_number in range(faults):
        victim = coordinator_of(running, "writer") if round_number % 2 == 0 else leader_of(running, "t", 0)
        before = len(writer.committed)
        await running.kill(victim)
        await wait_for_commits(writer, before + 5)
        await running.start(victim)
        await wait_for_commits(writer, before + 10)


async def wait_for_commits(writer: Writer, count: int) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while len(writer.committed) < count:
            await asyncio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_scenario_17_brokers_die_and_every_transaction_is_whole_or_not_there(tmp_path: Path) -> None:
    async with cluster(tmp_path) as running:
        async with raw_client(running.address(1)) as client:
            await create_replicated(client, "t")
            await RawProducer(client, "writer").init()
        writer = Writer(running.bootstrap_servers, "t", PARTITIONS)
        writer.start()
        try:
            await run_with_faults(running, writer, faults=4)
        finally:
            writer.stopping = True
            await asyncio.to_thread(writer.join, 120)
        found = await asyncio.to_thread(read_committed, running.bootstrap_servers, "t", PARTITIONS)

    assert writer.failure is None
    writer.check(found)
    assert len(writer.committed) >= 40
