"""What a run consists of, drawn from its seed: how many nodes, which settings, which clients, which faults.

Runs differ a lot on purpose. One with a single partition, tiny segments and nothing but kills finds other mistakes than
one with everything at once.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.simulation.checks.history import Isolation
from tidelog.simulation.faults.plan import FaultKind, choose_kinds
from tidelog.simulation.machines.clock import draw_from
from tidelog.simulation.workloads.administration import AdministratorSettings
from tidelog.simulation.workloads.hostile import HostileSettings
from tidelog.simulation.workloads.transaction_workload import TransactionalSettings
from tidelog.simulation.workloads.workload import ProducerSettings

TOPIC = "records"
# What copiers make of it.
COPIES = "copies"
# In so many runs the steps of tasks come late.
LATE_STEPS = 0.5
# In so many runs there is a client that sends extreme numbers.
HOSTILE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    seed: int
    seconds: float
    nodes: int
    kinds: tuple[FaultKind, ...]
    partitions: int
    # What every broker starts with, and what the topic gets.
    broker_properties: Mapping[str, str]
    topic_properties: Mapping[str, str]
    producers: tuple[ProducerSettings, ...]
    readers: tuple[Isolation, ...]
    group_members: int
    group_isolation: Isolation
    transactional: tuple[TransactionalSettings, ...] = ()
    copiers: tuple[TransactionalSettings, ...] = ()
    administrators: tuple[AdministratorSettings, ...] = ()
    # Each comes with a bystander.
    hostile: tuple[HostileSettings, ...] = ()
    # Whether the steps of tasks come late at random.
    late_steps: bool = False

    @property
    def directories(self) -> tuple[str, ...]:
        """The log directories of every broker; the metadata log is in the first."""
        return ("/data", "/more") if FaultKind.DIRECTORY_ERROR in self.kinds else ("/data",)

    @property
    def topics(self) -> tuple[str, ...]:
        return (TOPIC, COPIES) if self.copiers else (TOPIC,)

    @property
    def topic_partitions(self) -> list[TopicPartition]:
        """Those that producers write to."""
        return [TopicPartition(TOPIC, number) for number in range(self.partitions)]

    @property
    def all_partitions(self) -> list[TopicPartition]:
        return [TopicPartition(topic, number) for topic in self.topics for number in range(self.partitions)]

    @property
    def replication_factor(self) -> int:
        return min(3, self.nodes)


def draw_scenario(seed: int, *, seconds: float, nodes: int, faults: Collection[FaultKind]) -> Scenario:
    chance = draw_from(seed, "scenario")
    kinds = choose_kinds(chance, faults)
    replication = min(3, nodes)
    # Without this a loss of power may take what was acknowledged: Kafka relies on other replicas for that.
    flush = {"flush.messages": "1"} if FaultKind.POWER_LOSS in kinds else {}
    return Scenario(
        seed=seed,
        seconds=seconds,
        nodes=nodes,
        kinds=kinds,
        partitions=chance.choice((1, 2, 3)),
        broker_properties={
            **_broker_properties(chance, replication, durable=bool(flush)),
            **_snapshot_properties(draw_from(seed, "snapshots")),
        },
        topic_properties={
            "internal.segment.bytes": str(chance.choice((2_000, 20_000, 1 << 20))),
            "min.insync.replicas": str(max(1, replication - 1)),
            **flush,
        },
        producers=tuple(_producer(chance, first=number == 0) for number in range(chance.choice((1, 1, 2, 3)))),
        readers=tuple(chance.choice(tuple(Isolation)) for _ in range(chance.choice((1, 1, 2)))),
        group_members=chance.choice((0, 0, 1, 2)),
        group_isolation=chance.choice(tuple(Isolation)),
        transactional=tuple(_transactional(chance) for _ in range(chance.choice((0, 1, 1, 2)))),
        copiers=tuple(_transactional(chance) for _ in range(chance.choice((0, 0, 1, 2)))),
        administrators=_administrators(draw_from(seed, "administrators")),
        hostile=_hostile(draw_from(seed, "hostile")),
        late_steps=draw_from(seed, "late steps").random() < LATE_STEPS,
    )


def _broker_properties(chance: random.Random, replication: int, *, durable: bool) -> dict[str, str]:
    properties = {
        "offsets.topic.num.partitions": str(chance.choice((1, 2))),
        "transaction.state.log.num.partitions": str(chance.choice((1, 2))),
        "offsets.topic.replication.factor": str(replication),
        "transaction.state.log.replication.factor": str(replication),
        "transaction.state.log.min.isr": str(max(1, replication - 1)),
        "group.initial.rebalance.delay.ms": str(chance.choice((0, 500))),
        # Often, so that crashes fall between them and what they describe.
        "replica.high.watermark.checkpoint.interval.ms": str(chance.choice((500, 5_000))),
        "log.flush.offset.checkpoint.interval.ms": str(chance.choice((1_000, 10_000))),
        "log.flush.start.offset.checkpoint.interval.ms": str(chance.choice((1_000, 10_000))),
    }
    if replication > 1:
        session_ms = chance.choice((2_000, 4_000, 9_000))
        properties |= {
            "broker.session.timeout.ms": str(session_ms),
            "broker.heartbeat.interval.ms": str(session_ms // 4),
            "replica.lag.time.max.ms": str(chance.choice((1_500, 4_000, 10_000))),
            # Idle brokers ask each other less often than by default: that is most of what there is to simulate.
            "replica.fetch.wait.max.ms": "1000",
        }
    if durable:
        properties["log.flush.interval.messages"] = "1"
    return properties


def _snapshot_properties(chance: random.Random) -> dict[str, str]:
    """In every other run snapshots of the metadata log, whose old records go: who lags behind has to fetch one."""
    if chance.random() < 0.5:
        return {}
    return {
        "metadata.log.max.record.bytes.between.snapshots": str(chance.choice((500, 2_000, 8_000))),
        "metadata.max.retention.bytes": "1",
    }


def _administrators(chance: random.Random) -> tuple[AdministratorSettings, ...]:
    count = chance.choice((0, 1))
    return tuple(AdministratorSettings(pause_seconds=chance.choice((1.0, 3.0))) for _ in range(count))


def _hostile(chance: random.Random) -> tuple[HostileSettings, ...]:
    return (HostileSettings(pause_seconds=1.0, lot_pause_seconds=2.5),) if chance.random() < HOSTILE else ()


def _producer(chance: random.Random, *, first: bool) -> ProducerSettings:
    # The first one is what most people have; the others are whatever can be configured.
    idempotent = first or chance.random() < 0.6
    return ProducerSettings(
        acks="all" if idempotent else chance.choice(("all", "1", "0")),
        idempotent=idempotent,
        max_in_flight=chance.choice((1, 5)),
        linger_ms=chance.choice((0, 5, 50)),
        burst=chance.choice((1, 4, 12)),
        pause_seconds=chance.choice((0.8, 2.0, 4.0)),
    )


def _transactional(chance: random.Random) -> TransactionalSettings:
    return TransactionalSettings(
        second_protocol=chance.random() < 0.5,
        timeout_ms=chance.choice((3_000, 10_000)),
        batches=chance.choice((1, 3, 5)),
        pause_seconds=chance.choice((1.5, 4.0)),
    )
