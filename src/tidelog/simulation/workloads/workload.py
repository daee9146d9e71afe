"""Clients that work while everything breaks, and write down what they did and saw.

They are the real clients of `tidelog.client`, each in a process of its own. They never give up before the run is over:
what fails is written down and tried again with a new client.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from tidelog.client.consumer import Consumer
from tidelog.client.producer.producer import Delivery, Producer
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.simulation.checks.history import (
    Acknowledged,
    Guarantee,
    Isolation,
    Positioned,
    Refused,
    Sent,
)
from tidelog.simulation.machines.world import SimulatedClient
from tidelog.simulation.workloads.work import EXPECTED, RETRY_SECONDS, Work

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


@dataclass(eq=False, repr=False)
class ProducingClient(Work):
    """Sends records with unique values until it is stopped, then waits for what is under way."""

    servers: str
    partitions: Sequence[TopicPartition]
    settings: ProducerSettings
    chance: random.Random
    numbers: Counter[TopicPartition] = field(init=False, default_factory=Counter)
    waiting: asyncio.Queue[tuple[Sent, Delivery] | None] = field(init=False, default_factory=asyncio.Queue)

    async def run(self) -> None:
        producer = await self._started()
        outcomes = asyncio.ensure_future(self._note_outcomes())
        while not self.stop.is_set():
            partition = self.chance.choice(self.partitions)
            for _ in range(self.chance.randint(1, self.settings.burst)):
                await self._send(producer, partition)
            await asyncio.sleep(self.chance.expovariate(1 / self.settings.pause_seconds))
        self.waiting.put_nowait(None)
        await outcomes
        await producer.close(flush=False)

    async def _started(self) -> Producer:
        settings = self.settings
        while True:
            producer = Producer(
                self.servers,
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
                network=self.client.network,
                clock=self.client.clock,
                randomness=self.client.randomness,
            )
            try:
                await producer.start()
                return producer
            except EXPECTED:
                await asyncio.sleep(RETRY_SECONDS)

    async def _send(self, producer: Producer, partition: TopicPartition) -> None:
        number = self.numbers[partition]
        self.numbers[partition] += 1
        value = f"{self.name}/{partition}/{number}".encode()
        sent = Sent(self.loop.time(), self.name, number, partition, value, self.settings.guarantee)
        self.history.add(sent)
        try:
            delivery = await producer.send(partition.topic, value, partition=partition.partition)
        except EXPECTED as error:
            self.history.add(Refused(self.loop.time(), value, str(error)))
            return
        self.waiting.put_nowait((sent, delivery))

    async def _note_outcomes(self) -> None:
        while (entry := await self.waiting.get()) is not None:
            sent, delivery = entry
            try:
                metadata = await delivery
            except EXPECTED as error:
                self.history.add(Refused(self.loop.time(), sent.value, str(error)))
            else:
                self.history.add(Acknowledged(self.loop.time(), sent.value, sent.partition, metadata.offset))


@dataclass(eq=False, repr=False)
class ReadingClient(Work):
    """Reads its partitions from the beginning on, and goes on where it was when it has to start again."""

    servers: str
    # Where it is in each partition.
    positions: dict[TopicPartition, int]
    isolation: Isolation

    async def run(self) -> None:
        for partition, offset in self.positions.items():
            self.history.add(Positioned(self.loop.time(), self.name, partition, offset, self.isolation))
        await super().run()

    async def _work(self) -> None:
        async with new_consumer(self.client, self.servers, self.isolation) as consumer:
            consumer.assign(self.positions)
            for partition, offset in self.positions.items():
                consumer.seek(partition, offset)
            while not self.stop.is_set():
                for record in await consumer.poll(timeout_ms=POLL_MS):
                    self._note_read(record, self.isolation)
                    # At once: if anything fails from here on, it has been read nevertheless.
                    self.positions[record.topic_partition] = record.offset + 1
                consumer._check_invariants()
                for partition in self.positions:
                    self.positions[partition] = await consumer.position(partition)


@dataclass(eq=False, repr=False)
class GroupClient(Work):
    """A member of a group, which reads what the others leave to it and commits after reading."""

    servers: str
    topic: str
    group: str
    isolation: Isolation

    @property
    def name(self) -> str:
        return f"{self.group}/{self.client.name}"

    async def _work(self) -> None:
        options = {
            "group.id": self.group,
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1000",
            "max.poll.interval.ms": "10000",
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
        }
        async with new_consumer(self.client, self.servers, self.isolation, options) as consumer:
            consumer.subscribe([self.topic], on_partitions_assigned=self._assigned)
            while not self.stop.is_set():
                records = await consumer.poll(timeout_ms=POLL_MS)
                consumer._check_invariants()
                for record in records:
                    self._note_read(record, self.isolation)
                if records:
                    await consumer.commit()

    def _assigned(self, partitions: object) -> None:
        assert isinstance(partitions, frozenset | set | list | tuple)
        for partition in sorted(partitions):
            self.history.add(Positioned(self.loop.time(), self.name, partition, -1, self.isolation))


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
