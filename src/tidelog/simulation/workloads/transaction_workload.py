"""Clients that work in transactions: producers that commit and abort, and copiers that consume, process and produce.

Both open a new session whenever the old one is over, as a program does that is started again under the same
transactional id.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.config import client_config
from tidelog.client.consumer import Consumer
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.simulation.checks.checkers import derive
from tidelog.simulation.checks.history import (
    Acknowledged,
    Ended,
    Ending,
    Guarantee,
    Isolation,
    Outcome,
    Refused,
    Sent,
)
from tidelog.simulation.machines.world import SimulatedClient
from tidelog.simulation.workloads.transactional import SessionOver, TransactionSession
from tidelog.simulation.workloads.work import Work
from tidelog.simulation.workloads.workload import CLIENT_OPTIONS, POLL_MS, new_consumer

# Of transactions, so many end with an abort, and so many are overtaken by a second producer with the same id.
ABORTED = 0.25
OVERTAKEN = 0.08
# Records that a copier takes into one transaction at most; as one batch they have to fit into the smallest segment.
COPIED_AT_ONCE = 30
COPIER_OPTIONS = {
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
    "max.poll.interval.ms": "10000",
    "enable.auto.commit": "false",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalSettings:
    """How one client with transactions works."""

    second_protocol: bool
    timeout_ms: int
    # Batches in a transaction at most, and mean seconds between two transactions.
    batches: int
    pause_seconds: float


def new_cluster(client: SimulatedClient, servers: str) -> Cluster:
    return Cluster(
        client_config({**CLIENT_OPTIONS, "bootstrap.servers": servers, "client.id": client.name}),
        network=client.network,
        clock=client.clock,
        randomness=client.randomness,
    )


async def open_session(
    client: SimulatedClient, cluster: Cluster, settings: TransactionalSettings
) -> TransactionSession:
    session = TransactionSession(cluster, client.name, settings.timeout_ms, settings.second_protocol)
    await session.initialize()
    return session


@dataclass(eq=False, repr=False)
class TransactionalClient(Work):
    """Writes transactions over several partitions until it is stopped."""

    servers: str
    partitions: Sequence[TopicPartition]
    settings: TransactionalSettings
    chance: random.Random
    numbers: Counter[TopicPartition] = field(init=False, default_factory=Counter)
    transactions: int = field(init=False, default=0)

    async def _work(self) -> None:
        async with new_cluster(self.client, self.servers) as cluster:
            await self._write(cluster, await open_session(self.client, cluster, self.settings))

    async def _write(self, cluster: Cluster, session: TransactionSession) -> None:
        while not self.stop.is_set():
            if not await self._write_transaction(cluster, session):
                return
            await asyncio.sleep(self.chance.expovariate(1 / self.settings.pause_seconds))

    async def _write_transaction(self, cluster: Cluster, session: TransactionSession) -> bool:
        """Whether the session can go on."""
        self.transactions += 1
        name = f"{self.name}/{self.transactions}"
        written = False
        try:
            for _ in range(self.chance.randint(1, self.settings.batches)):
                await self._write_batch(session, name)
            written = True
        finally:
            if not written:
                # It was never asked to commit, so whatever was stored of it must not be seen by anybody.
                self._end(name, Outcome.ABORTED)
        commit = self.chance.random() >= ABORTED
        overtaken = self.chance.random() < OVERTAKEN
        # After that the broker must refuse to commit it.
        successor = await self._overtake(cluster, name) if overtaken else None
        self.history.add(Ending(self.loop.time(), name, commit))
        outcome = Outcome.UNKNOWN
        try:
            outcome = await session.end(commit=commit)
        finally:
            self._end(name, outcome)
        return successor is None and outcome is (Outcome.COMMITTED if commit else Outcome.ABORTED)

    async def _overtake(self, cluster: Cluster, name: str) -> TransactionSession:
        try:
            return await open_session(self.client, cluster, self.settings)
        except BaseException:
            self._end(name, Outcome.ABORTED)
            raise

    async def _write_batch(self, session: TransactionSession, name: str) -> None:
        partition = self.chance.choice(self.partitions)
        values = []
        for _ in range(self.chance.randint(1, 3)):
            number = self.numbers[partition]
            self.numbers[partition] += 1
            value = f"{self.name}/{partition}/{number}".encode()
            values.append(value)
            self.history.add(Sent(self.loop.time(), self.name, number, partition, value, Guarantee.EXACTLY_ONCE, name))
        try:
            offset = await session.produce(partition, values)
        except SessionOver as over:
            for value in values:
                self.history.add(Refused(self.loop.time(), value, str(over)))
            raise
        for index, value in enumerate(values):
            self.history.add(Acknowledged(self.loop.time(), value, partition, offset + index))

    def _end(self, name: str, outcome: Outcome) -> None:
        self.history.add(Ended(self.loop.time(), name, outcome))


@dataclass(eq=False, repr=False)
class CopyingClient(Work):
    """A member of a group that copies what is committed in one topic to another one, each record once."""

    servers: str
    source: str
    target: str
    group: str
    settings: TransactionalSettings
    chance: random.Random
    transactions: int = field(init=False, default=0)
    # Where this member has been in each partition, as far as it knows to be committed.
    positions: dict[TopicPartition, int] = field(init=False, default_factory=dict)
    # Whether there is nothing new to come, so that what is left can be copied without pauses.
    hurry: bool = field(init=False, default=False)

    async def _work(self) -> None:
        """Until something fails: then nothing that is in memory counts, and all begins with what is committed."""
        options = {**COPIER_OPTIONS, "group.id": self.group}
        async with new_cluster(self.client, self.servers) as cluster:
            session = await open_session(self.client, cluster, self.settings)
            async with new_consumer(self.client, self.servers, Isolation.COMMITTED, options) as consumer:
                consumer.subscribe([self.source])
                while not self.stop.is_set():
                    if not await self._copy_some(session, consumer):
                        return
                    if not self.hurry:
                        await asyncio.sleep(self.chance.expovariate(1 / self.settings.pause_seconds))

    async def _copy_some(self, session: TransactionSession, consumer: Consumer) -> bool:
        """One transaction; whether the session and the membership can go on."""
        records = await consumer.poll(timeout_ms=POLL_MS, max_records=COPIED_AT_ONCE)
        if not records:
            return True
        values: dict[TopicPartition, list[bytes]] = {}
        offsets: dict[TopicPartition, int] = {}
        for record in records:
            assert record.value is not None
            values.setdefault(record.topic_partition, []).append(derive(record.value))
            offsets[record.topic_partition] = record.offset + 1
        self.transactions += 1
        name = f"{self.name}/{self.transactions}"
        outcome = Outcome.ABORTED
        try:
            for partition, derived in values.items():
                await session.produce(TopicPartition(self.target, partition.partition), derived)
            await session.send_offsets(consumer.group_metadata(), offsets)
            outcome = Outcome.UNKNOWN
            # With an abort the offsets have to be forgotten together with the records.
            commit = self.hurry or self.chance.random() >= ABORTED
            self.history.add(Ending(self.loop.time(), name, commit))
            outcome = await session.end(commit=commit)
        finally:
            self.history.add(Ended(self.loop.time(), name, outcome))
        if outcome is Outcome.COMMITTED:
            self.positions.update(offsets)
        return outcome is Outcome.COMMITTED
