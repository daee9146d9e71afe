"""Puts a scenario into a world: brokers with their properties, topics, and clients that have not begun yet."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from tidelog.client.admin import Admin, NewTopic
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid, format_uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.simulation.checks.history import History
from tidelog.simulation.machines.clock import draw_from
from tidelog.simulation.machines.node import NodeFactory
from tidelog.simulation.machines.world import SimulatedClient, World
from tidelog.simulation.scenario import COPIES, TOPIC, Scenario
from tidelog.simulation.workloads.administration import AdministeringClient
from tidelog.simulation.workloads.hostile import BystanderClient, HostileClient
from tidelog.simulation.workloads.transaction_workload import CopyingClient, TransactionalClient
from tidelog.simulation.workloads.work import EXPECTED, RETRY_SECONDS, Work
from tidelog.simulation.workloads.workload import (
    CLIENT_OPTIONS,
    GroupClient,
    ProducingClient,
    ReadingClient,
)

T = TypeVar("T")

GROUP = "group"
COPIERS = "copiers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    producers: Sequence[ProducingClient]
    transactional: Sequence[TransactionalClient]
    copiers: Sequence[CopyingClient]
    readers: Sequence[ReadingClient]
    members: Sequence[GroupClient]
    administrators: Sequence[AdministeringClient]
    hostile: Sequence[HostileClient | BystanderClient]
    world: World

    @property
    def writing(self) -> list[Work]:
        return [*self.producers, *self.transactional, *self.administrators, *self.hostile]

    @property
    def reading(self) -> list[Work]:
        return [*self.readers, *self.members]

    @property
    def hosts(self) -> list[str]:
        return [each.host for each in self.all]

    @property
    def all(self) -> list[Work]:
        return [*self.writing, *self.copiers, *self.reading]

    def start(self) -> dict[str, asyncio.Task[None]]:
        """By name of the client."""
        return {each.name: self.world.clients[each.host].run(each.run()) for each in self.all}


def add_nodes(world: World, scenario: Scenario, factory: NodeFactory) -> None:
    cluster_id = format_uuid(Uuid(draw_from(scenario.seed, "cluster id").randbytes(16)))
    for node_id in range(1, scenario.nodes + 1):
        node = world.add_node(node_id, node_properties(scenario, node_id), factory)
        node.format(cluster_id)


def node_properties(scenario: Scenario, node_id: int) -> dict[str, str]:
    host = f"node-{node_id}"
    properties = {
        "process.roles": "broker,controller",
        "node.id": str(node_id),
        "log.dirs": ",".join(scenario.directories),
        "listeners": f"PLAINTEXT://{host}:9092",
        **scenario.broker_properties,
    }
    if scenario.nodes > 1:
        voters = ",".join(f"{each}@node-{each}:9093" for each in range(1, scenario.nodes + 1))
        properties |= {
            "listeners": f"PLAINTEXT://{host}:9092,CONTROLLER://{host}:9093",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
        }
    return properties


async def create_topics(world: World, scenario: Scenario) -> None:
    """Wait for the cluster, and create what the clients need."""
    client = world.add_client("admin")
    await client.run(_create_topics(world, scenario))


async def _create_topics(world: World, scenario: Scenario) -> None:
    client = world.clients["admin"]
    topics = [
        NewTopic(
            name=name,
            partitions=scenario.partitions,
            replication_factor=scenario.replication_factor,
            configs=dict(scenario.topic_properties),
        )
        for name in scenario.topics
    ]
    while True:
        try:
            admin = Admin(
                world.bootstrap_servers,
                config=CLIENT_OPTIONS,
                network=client.network,
                clock=client.clock,
                randomness=client.randomness,
            )
            async with admin:
                for result in (await admin.create_topics(topics)).values():
                    if isinstance(result, ApiError) and result.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                        raise result
                return
        except EXPECTED:
            await asyncio.sleep(RETRY_SECONDS)


def add_clients(world: World, scenario: Scenario, history: History) -> Clients:
    servers = world.bootstrap_servers
    partitions = scenario.topic_partitions
    positions = dict.fromkeys(scenario.all_partitions, 0)
    nodes = list(world.nodes)

    def hosts(role: str, settings: Iterable[T]) -> Iterator[tuple[SimulatedClient, T, random.Random]]:
        """A process for each client, and its own source of chance."""
        for number, each in enumerate(settings, 1):
            client = world.add_client(f"{role}-{number}")
            yield client, each, draw_from(scenario.seed, client.name, "workload")

    return Clients(
        producers=[
            ProducingClient(client, history, servers, partitions, settings, chance)
            for client, settings, chance in hosts("producer", scenario.producers)
        ],
        transactional=[
            TransactionalClient(client, history, servers, partitions, settings, chance)
            for client, settings, chance in hosts("transactional", scenario.transactional)
        ],
        copiers=[
            CopyingClient(client, history, servers, TOPIC, COPIES, COPIERS, settings, chance)
            for client, settings, chance in hosts("copier", scenario.copiers)
        ],
        readers=[
            ReadingClient(client, history, servers, dict(positions), isolation)
            for client, isolation, _ in hosts("reader", scenario.readers)
        ],
        members=[
            GroupClient(client, history, servers, TOPIC, GROUP, isolation)
            for client, isolation, _ in hosts("member", [scenario.group_isolation] * scenario.group_members)
        ],
        administrators=[
            AdministeringClient(client, history, nodes, settings, chance)
            for client, settings, chance in hosts("administrator", scenario.administrators)
        ],
        hostile=[
            *(
                HostileClient(client, history, nodes, TOPIC, settings.lot_pause_seconds, chance)
                for client, settings, chance in hosts("hostile", scenario.hostile)
            ),
            *(
                BystanderClient(client, history, nodes, TOPIC, settings.pause_seconds, chance)
                for client, settings, chance in hosts("bystander", scenario.hostile)
            ),
        ],
        world=world,
    )
