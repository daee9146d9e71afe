"""Clients that work while everything breaks, and write down what they did and saw.

They are the real clients of `tidelog.client`, each in a process of its own. They never give up before the run is over:
what fails is written down and tried again with a new client.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.client.consumer import Consumer
from tidelog.client.errors import ClientError
from tidelog.client.producer.producer import Delivery, Producer
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import ConnectionProblem
from tidelog.simulation.checks.history import (
    Acknowledged,
    Guarantee,
    History,
    Isolation,
    Positioned,
    Read,
    Refused,
    Sent,
)
from tidelog.simulation.machines.world import SimulatedClient
from tidelog.simulation.workloads.work import Work

# What a client may raise when brokers are away or refuse.
EXPECTED = (ApiError, ClientError, ConnectionProblem, TimeoutError, OSError)

RETRY_SECONDS = 0.5
POLL_MS = 500
# Short enough that a client notices a dead broker several times in a minute of faults.
CLIENT_OPTIONS = {
    "request.timeout.ms": "3000",
    "default.api.timeout.ms": "10000",
    "socket.connection.setup.timeout.ms": "2000",
    "metadata.max.age.ms": "10000",
    "retry.backoff.max.ms": "500",
    "reconnect.backoff.max.ms": "500",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """How one producer works."""

    acks: str
    idempotent: bool
    max_in_flight: int
    linger_ms: int
    # Records per burst at most, and mean seconds between two bursts.
    burst: int
    pause_seconds: float

    @property
    def guarantee(self) -> Guarantee:
        if self.acks != "all":
            return Guarantee.NONE
        return Guarantee.EXACTLY_ONCE if self.idempotent else Guarantee.AT_LEAST_ONCE


class ProducingClient(Work):
    """Sends records with unique values until told to stop, then waits for what is under way."""

    def __init__(
        self,
        client: SimulatedClient,
        history: History,
        servers: str,
        partitions: Sequence[TopicPartition],
        settings: ProducerSettings,
        chance: random.Random,
    ) -> None:
        super().__init__(client, history)
        self._servers = servers
        self._partitions = partitions
        self._settings = settings
        self._chance = chance
        self._numbers: Counter[TopicPartition] = Counter()
        self._waiting: asyncio.Queue[tuple[Sent, Delivery] | None] = asyncio.Queue()

    async def run(self) -> None:
        producer = await self._started()
        outcomes = asyncio.ensure_future(self._note_outcomes())
        while not self.stop.is_set():
            partition = self._chance.choice(self._partitions)
            for _ in range(self._chance.randint(1, self._settings.burst)):
                await self._send(producer, partition)
            await asyncio.sleep(self._chance.expovariate(1 / self._settings.pause_seconds))
        self._waiting.put_nowait(None)
        await outcomes
        await producer.close(flush=False)

    async def _started(self) -> Producer:
        settings = self._settings
        while True:
            producer = Producer(
                self._servers,
                config={
                    **CLIENT_OPTIONS,
                    "client.id": self.name,
                    "acks": settings.acks,
                    "enable.idempotence": settings.idempotent,
                    "max.in.flight.requests.per.connection": settings.max_in_flight,
                    "linger.ms": settings.linger_ms,
                    "delivery.timeout.ms": "30000",
                    "max.block.ms": "15000",
                },
                network=self._client.network,
                clock=self._client.clock,
                randomness=self._client.randomness,
            )
            try:
                await producer.start()
                return producer
            except EXPECTED:
                await asyncio.sleep(RETRY_SECONDS)

    async def _send(self, producer: Producer, partition: TopicPartition) -> None:
        number = self._numbers[partition]
        self._numbers[partition] += 1
        value = f"{self.name}/{partition}/{number}".encode()
        sent = Sent(self._loop.time(), self.name, number, partition, value, self._settings.guarantee)
        self._history.add(sent)
        try:
            delivery = await producer.send(partition.topic, value, partition=partition.partition)
        except EXPECTED as error:
            self._history.add(Refused(self._loop.time(), value, str(error)))
            return
        self._waiting.put_nowait((sent, delivery))

    async def _note_outcomes(self) -> None:
        while (entry := await self._waiting.get()) is not None:
            sent, delivery = entry
            try:
                metadata = await delivery
            except EXPECTED as error:
                self._history.add(Refused(self._loop.time(), sent.value, str(error)))
            else:
                self._history.add(Acknowledged(self._loop.time(), sent.value, sent.partition, metadata.offset))


class ReadingClient(Work):
    """Reads its partitions from the beginning on, and goes on where it was when it has to start again."""

    def __init__(
        self,
        client: SimulatedClient,
        history: History,
        servers: str,
        partitions: Sequence[TopicPartition],
        isolation: Isolation,
    ) -> None:
        super().__init__(client, history)
        self._servers = servers
        self._isolation = isolation
        self.positions = dict.fromkeys(partitions, 0)

    async def run(self) -> None:
        for partition, offset in self.positions.items():
            self._history.add(Positioned(self._loop.time(), self.name, partition, offset, self._isolation))
        while not self.stop.is_set():
            try:
                await self._read()
            except EXPECTED:
                await asyncio.sleep(RETRY_SECONDS)

    async def _read(self) -> None:
        async with new_consumer(self._client, self._servers, self._isolation) as consumer:
            consumer.assign(self.positions)
            for partition, offset in self.positions.items():
                consumer.seek(partition, offset)
            while not self.stop.is_set():
                for record in await consumer.poll(timeout_ms=POLL_MS):
                    assert record.value is not None
                    self._history.add(
                        Read(
                            self._loop.time(),
                            self.name,
                            record.topic_partition,
                            record.offset,
                            record.value,
                            self._isolation,
                        )
                    )
                    # At once: if anything fails from here on, it has been read nevertheless.
                    self.positions[record.topic_partition] = record.offset + 1
                consumer.check_invariants()
                for partition in self.positions:
                    self.positions[partition] = await consumer.position(partition)


class GroupClient(Work):
    """A member of a group, which reads what the others leave to it and commits after reading."""

    def __init__(
        self, client: SimulatedClient, history: History, servers: str, topic: str, group: str, isolation: Isolation
    ) -> None:
        super().__init__(client, history)
        self._servers = servers
        self._topic = topic
        self._group = group
        self._isolation = isolation

    @property
    def name(self) -> str:
        return f"{self._group}/{self._client.name}"

    async def run(self) -> None:
        while not self.stop.is_set():
            try:
                await self._read()
            except EXPECTED:
                await asyncio.sleep(RETRY_SECONDS)

    async def _read(self) -> None:
        options = {
            "group.id": self._group,
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1000",
            "max.poll.interval.ms": "10000",
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
        }
        async with new_consumer(self._client, self._servers, self._isolation, options) as consumer:
            consumer.subscribe([self._topic], on_partitions_assigned=self._assigned)
            while not self.stop.is_set():
                records = await consumer.poll(timeout_ms=POLL_MS)
                consumer.check_invariants()
                for record in records:
                    assert record.value is not None
                    self._history.add(
                        Read(
                            self._loop.time(),
                            self.name,
                            record.topic_partition,
                            record.offset,
                            record.value,
                            self._isolation,
                        )
                    )
                if records:
                    await consumer.commit()

    def _assigned(self, partitions: object) -> None:
        assert isinstance(partitions, frozenset | set | list | tuple)
        for partition in sorted(partitions):
            self._history.add(Positioned(self._loop.time(), self.name, partition, -1, self._isolation))


def new_consumer(
    client: SimulatedClient, servers: str, isolation: Isolation, options: dict[str, str] | None = None
) -> Consumer:
    return Consumer(
        bootstrap_servers=servers,
        config={
            **CLIENT_OPTIONS,
            "client.id": client.name,
            "isolation.level": "read_committed" if isolation is Isolation.COMMITTED else "read_uncommitted",
            "auto.offset.reset": "earliest",
            "fetch.max.wait.ms": "2000",
            **(options or {}),
        },
        network=client.network,
        clock=client.clock,
        randomness=client.randomness,
    )
