"""Consume, process, produce: the output equals the input exactly, whatever happens in between (I8, scenario 21)."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

import pytest
from support.client_reading import read_all
from support.cutting_proxy import running_proxy
from support.processes import HANG_SECONDS, free_port

from tidelog import Broker
from tidelog.client.admin import Admin
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.errors import FencedError
from tidelog.client.exactly_once import ExactlyOnceLoop, Process
from tidelog.client.producer.producer import Producer
from tidelog.config.definitions import InvalidConfig
from tidelog.network.port import AsyncioNetwork

END = 26
PARTITIONS = 4


class Topics:
    """An input with numbered records in four partitions, and the output that it is to be copied to."""

    def __init__(self, servers: str, name: str) -> None:
        self.servers = servers
        self.group = name
        self.input = f"{name}-in"
        self.output = f"{name}-out"
        self.count = 0

    async def create(self) -> None:
        async with Admin(self.servers) as admin:
            for topic in (self.input, self.output):
                await admin.create_topic(topic, partitions=PARTITIONS)

    async def fill(self, count: int) -> None:
        async with Producer(self.servers) as producer:
            for number in range(self.count, self.count + count):
                await producer.send(self.input, b"%d" % number, partition=number % PARTITIONS)
        self.count += count

    def loop(self, name: str, process: Process | None = None, **options: Any) -> ExactlyOnceLoop:
        consumer = {"max.poll.records": 25, **{key: value for key, value in options.items() if key != "servers"}}
        return ExactlyOnceLoop(
            self.input,
            bootstrap_servers=str(options.get("servers", self.servers)),
            group_id=self.group,
            transactional_id=f"{self.group}-{name}",
            process=process or self.copy,
            consumer=consumer,
            producer={"retry.backoff.ms": 20, "linger.ms": 0},
        )

    async def copy(self, records: list[ConsumerRecord], producer: Producer) -> None:
        for record in records:
            await producer.send(self.output, record.value, partition=record.partition)

    async def copied(self) -> dict[int, list[int]]:
        found = defaultdict(list)
        for record in await read_all(self.servers, self.output, isolation_level="read_committed"):
            found[record.partition].append(int(record.value or b""))
        return found

    async def is_complete(self) -> bool:
        return sum(map(len, (await self.copied()).values())) >= self.count

    async def wait(self, seconds: float = 90) -> None:
        """Until everything is copied; and then it must be everything, once, and in order."""
        async with asyncio.timeout(seconds):
            while not await self.is_complete():
                await asyncio.sleep(0.1)
        expected = {part: list(range(part, self.count, PARTITIONS)) for part in range(PARTITIONS)}
        assert await self.copied() == expected


@pytest.fixture(params=["classic", "consumer"])
def group_protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def topics(servers: str, unique: str) -> Topics:
    made = Topics(servers, unique)
    await made.create()
    return made


class NoNetwork(AsyncioNetwork):
    async def connect(self, *arguments: object, **options: object) -> NoReturn:
        raise ConnectionRefusedError("the process is dead")


async def stop(loop: ExactlyOnceLoop, task: asyncio.Task[None]) -> None:
    loop.stop()
    await task
    await loop.close()


async def crash(loop: ExactlyOnceLoop, task: asyncio.Task[None]) -> None:
    """As kill -9 does: connections end, and nobody says goodbye."""
    for cluster in (loop.producer._cluster, loop.consumer._cluster):
        cluster._network = NoNetwork()
        for connection in (*cluster._connections.values(), cluster._bootstrap):
            if connection is not None:
                connection.close()
    for ending in (task, asyncio.create_task(loop.close())):
        # Once for what it was doing, and once for the abort that it tries then.
        for _ in range(3):
            ending.cancel()
            await asyncio.wait((ending,), timeout=0.05)


async def test_the_output_equals_the_input(topics: Topics, group_protocol: str) -> None:
    await topics.fill(300)
    options: dict[str, Any] = {"group.protocol": group_protocol}
    async with topics.loop("one", **options) as loop:
        committed = 0
        async with asyncio.timeout(HANG_SECONDS):
            while committed < 300:
                committed += await loop.step()
        assert committed == 300
        await topics.wait()


async def test_what_fails_is_read_again(topics: Topics) -> None:
    failures = 0
    draw = random.Random(4)

    async def fails_sometimes(records: list[ConsumerRecord], producer: Producer) -> None:
        nonlocal failures
        await topics.copy(records[: len(records) // 2], producer)
        if draw.random() < 0.4:
            failures += 1
            raise LookupError("the database does not answer")
        await topics.copy(records[len(records) // 2 :], producer)

    await topics.fill(300)
    async with topics.loop("one", fails_sometimes) as loop:
        async with asyncio.timeout(HANG_SECONDS):
            while not await topics.is_complete():
                with suppress(LookupError):
                    await loop.step(timeout_ms=100)
        await topics.wait()
    assert failures > 3


@pytest.mark.slow
async def test_members_come_go_and_crash(topics: Topics) -> None:
    """With the classic protocol, because the other one waits 45 s for a member that is dead, and lets nobody ask."""
    await topics.fill(400)
    options = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200}
    running: dict[str, tuple[ExactlyOnceLoop, asyncio.Task[None]]] = {}

    async def slowly(records: list[ConsumerRecord], producer: Producer) -> None:
        await asyncio.sleep(0.02)
        await topics.copy(records, producer)

    async def start(name: str) -> None:
        loop = topics.loop(name, slowly, **options)
        await loop.start()
        running[name] = (loop, asyncio.create_task(loop.run()))

    await start("a")
    await start("b")
    await asyncio.sleep(0.5)
    await start("c")
    await topics.fill(200)
    await crash(*running.pop("a"))
    await topics.fill(200)
    await start("a")
    await stop(*running.pop("b"))
    await topics.fill(200)
    await topics.wait()
    for loop, task in running.values():
        await stop(loop, task)
    await topics.wait()


async def test_zombie_a_member_that_was_away_too_long_cannot_commit(topics: Topics, group_protocol: str) -> None:
    """Scenario 21: the zombie has written its output, but the group has moved on before it commits the offsets."""
    reached, released = asyncio.Event(), asyncio.Event()

    async def hangs_once(records: list[ConsumerRecord], producer: Producer) -> None:
        await topics.copy(records, producer)
        await producer.flush()
        if not released.is_set():
            reached.set()
            await released.wait()

    await topics.fill(100)
    group: dict[str, Any] = {"group.protocol": group_protocol}
    away: dict[str, Any] = {"max.poll.interval.ms": 300, **group}
    async with topics.loop("zombie", hangs_once, **away) as zombie, topics.loop("other", **group) as other:
        # It never reads again after this, so it is not the one that finishes the work.
        hanging = asyncio.create_task(zombie.step())
        async with asyncio.timeout(HANG_SECONDS):
            while not reached.is_set():
                if hanging.done():
                    hanging = asyncio.create_task(zombie.step())
                await asyncio.sleep(0.01)
        task = asyncio.create_task(other.run())
        async with asyncio.timeout(HANG_SECONDS):
            while len(other.consumer.assignment()) < PARTITIONS:
                await asyncio.sleep(0.05)
        released.set()
        assert await hanging == 0, "the zombie's transaction is aborted"
        await topics.wait()
        other.stop()
        await task


async def test_the_same_transactional_id_twice_stops_the_first(topics: Topics) -> None:
    await topics.fill(100)
    async with topics.loop("same") as first:
        async with asyncio.timeout(HANG_SECONDS):
            while not await first.step():
                pass
        async with topics.loop("same") as second:
            with pytest.raises(FencedError):
                await asyncio.wait_for(first.run(), HANG_SECONDS)
            await first.consumer.close()
            task = asyncio.create_task(second.run())
            await topics.wait()
            second.stop()
            await task


@pytest.fixture
async def cut_topics(unique: str) -> AsyncIterator[tuple[Topics, str, object]]:
    async with running_proxy() as (proxy, port):
        proxy.target = ("127.0.0.1", free_port())
        async with Broker(port=proxy.target[1], properties={"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}):
            topics = Topics(f"127.0.0.1:{port}", unique)
            await topics.create()
            yield topics, f"127.0.0.1:{port}", proxy


@pytest.mark.parametrize("carried_out", [True, False], ids=["it was committed", "it was not"])
async def test_after_a_commit_without_an_answer_the_offsets_tell(
    cut_topics: tuple[Topics, str, object], carried_out: bool
) -> None:
    topics, _, proxy = cut_topics
    await topics.fill(200)
    async with topics.loop("one") as loop:
        async with asyncio.timeout(HANG_SECONDS):
            while not await loop.step():
                pass
        transactions = loop.producer._transactions
        assert transactions is not None
        patient = transactions._coordinator._config
        transactions._coordinator._config = replace(patient, max_block_ms=400)
        cuts = proxy.cut_replies if carried_out else proxy.cut_requests  # type: ignore[attr-defined]
        cuts[END] = 100_000
        async with asyncio.timeout(HANG_SECONDS):
            while not loop._outcome_unknown:
                await loop.step()
        cuts[END] = 0
        transactions._coordinator._config = patient
        task = asyncio.create_task(loop.run())
        await topics.wait()
        loop.stop()
        await task


def test_offsets_are_never_committed_outside_of_the_transaction() -> None:
    async def nothing(records: list[ConsumerRecord], producer: Producer) -> None:
        pass

    with pytest.raises(InvalidConfig, match="outside of the transaction"):
        ExactlyOnceLoop(
            "t",
            bootstrap_servers="127.0.0.1:9092",
            group_id="g",
            transactional_id="x",
            process=nothing,
            consumer={"enable_auto_commit": True},
        )
