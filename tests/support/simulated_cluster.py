"""A simulated cluster that a test directs step by step: who is cut off, who dies, and who comes back when.

Time is virtual, so a test may wait as long as it likes, and may look at the replicas between any two events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from tidelog.client.admin import Admin, NewTopic
from tidelog.client.producer.producer import Producer
from tidelog.model.ids import TopicPartition
from tidelog.server.replicas.replica import Replica
from tidelog.simulation.checks.history import Isolation
from tidelog.simulation.checks.trace import Trace
from tidelog.simulation.ending import read_replica
from tidelog.simulation.machines.loop import new_loop
from tidelog.simulation.machines.node import SimulatedNode, real_node
from tidelog.simulation.machines.world import SimulatedClient, World
from tidelog.simulation.run import bury
from tidelog.simulation.scenario import Scenario
from tidelog.simulation.setup import add_nodes
from tidelog.simulation.workloads.workload import CLIENT_OPTIONS, new_consumer

SESSION_MS = 2_000
LAG_MS = 1_500
BROKER_PROPERTIES = {
    "broker.session.timeout.ms": str(SESSION_MS),
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": str(LAG_MS),
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
# Virtual seconds after which something that has not happened will not happen.
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.0001

Script = Callable[["SimulatedCluster"], Awaitable[None]]


def play(script: Script, *, nodes: int = 3, seed: int = 1, properties: Mapping[str, str] | None = None) -> None:
    """Start a cluster, let the script direct it, and fail if anything in it fails that the script does not handle."""
    loop = new_loop()
    world = World(seed, loop, Trace())
    scenario = Scenario(
        seed=seed,
        seconds=0,
        nodes=nodes,
        kinds=(),
        partitions=1,
        broker_properties={**BROKER_PROPERTIES, **(properties or {})},
        topic_properties={},
        producers=(),
        readers=(),
        group_members=0,
        group_isolation=Isolation.UNCOMMITTED,
    )

    async def main() -> None:
        add_nodes(world, scenario, real_node)
        cluster = SimulatedCluster(world)
        for node in world.nodes.values():
            node.start()
        await script(cluster)

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
        bury(world)
    assert loop.failures == []
    assert world.wrong_verdicts == []


class SimulatedCluster:
    """Nodes are named by their numbers, as in assignments of replicas."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.client: SimulatedClient = world.add_client("client")

    # -- directing -----------------------------------------------------------------------------------------------

    def node(self, number: int) -> SimulatedNode:
        return self.world.nodes[f"node-{number}"]

    def cut(self, one: int | str, *others: int | str) -> None:
        """Nothing gets from one to the others, nor back."""
        for other in others:
            self.silence(one, other)
            self.silence(other, one)

    def silence(self, source: int | str, target: int | str) -> None:
        """Nothing gets from the source to the target any more."""
        self.world.fabric.block(_host(source), _host(target))

    def join(self) -> None:
        """End everything that was cut or silenced."""
        self.world.fabric.heal()

    async def until(self, condition: Callable[[], object], what: str, *, seconds: float = PATIENCE_SECONDS) -> None:
        loop = self.world.loop
        deadline = loop.time() + seconds
        while not condition():
            assert loop.time() < deadline, f"{what}: not within {seconds:g} virtual seconds"
            await asyncio.sleep(LOOK_SECONDS)

    # -- looking in ----------------------------------------------------------------------------------------------

    def replica(self, number: int, partition: TopicPartition) -> Replica | None:
        running = self.node(number).running
        if running is None:
            return None
        return next((each for each in running.node.replicas if each.topic_partition == partition), None)

    def known_replica(self, number: int, partition: TopicPartition) -> Replica:
        found = self.replica(number, partition)
        assert found is not None, f"node {number} has no replica of {partition}"
        return found

    def leads(self, number: int, partition: TopicPartition) -> bool:
        """Whether it believes so; an old leader that is cut off does."""
        found = self.replica(number, partition)
        return found is not None and found.is_leader

    def in_sync(self, number: int, partition: TopicPartition) -> set[int]:
        """As the leader sees them."""
        progress = self.known_replica(number, partition).progress
        return set() if progress is None else set(progress.in_sync)

    def values(self, number: int, partition: TopicPartition) -> list[bytes]:
        log = read_replica(f"node-{number}", self.known_replica(number, partition).log)
        return [record.value or b"" for record in log.records]

    def controller(self) -> int:
        """The active one; there is one as long as a majority can talk."""
        for number, node in enumerate(self.world.nodes.values(), 1):
            if node.running is not None and node.running.is_active_controller:
                return number
        raise AssertionError("no node is the active controller")

    async def converged(self, numbers: Sequence[int], partition: TopicPartition) -> list[bytes]:
        """What all of these replicas hold, once they hold the same."""

        def same() -> bool:
            replicas = [self.replica(number, partition) for number in numbers]
            ends = {(each.log.log_end_offset, each.log.high_watermark) for each in replicas if each is not None}
            led = any(each.is_leader for each in replicas if each is not None)
            return None not in replicas and len(ends) == 1 and led

        await self.until(same, f"the replicas of {partition} on {numbers} converge")
        contents = [self.values(number, partition) for number in numbers]
        assert contents.count(contents[0]) == len(contents)
        return contents[0]

    # -- clients -------------------------------------------------------------------------------------------------

    def admin(self) -> Admin:
        client = self.client
        return Admin(
            self.world.bootstrap_servers,
            config=CLIENT_OPTIONS,
            network=client.network,
            clock=client.clock,
            randomness=client.randomness,
        )

    def producer(self, **options: str | int | bool) -> Producer:
        """acks=all and idempotent, unless told otherwise."""
        client = self.client
        return Producer(
            self.world.bootstrap_servers,
            config={**CLIENT_OPTIONS, "delivery.timeout.ms": "60000", "max.block.ms": "60000", **options},
            network=client.network,
            clock=client.clock,
            randomness=client.randomness,
        )

    async def create_topic(self, name: str, replicas: Sequence[int], **configs: str) -> TopicPartition:
        """One partition on these nodes, led by the first of them, all of them in sync."""
        partition = TopicPartition(name, 0)
        topic = NewTopic(
            name=name,
            assignment={0: list(replicas)},
            configs={key.replace("_", "."): value for key, value in configs.items()},
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    async with self.admin() as admin:
                        Admin.raise_any(await admin.create_topics([topic]))
                    break
                except Exception as error:
                    # Brokers are still starting.
                    self.world.trace.event(self.world.loop.time(), "not-created", str(error))
                    await asyncio.sleep(0.5)
        leader = replicas[0]
        await self.until(lambda: self.leads(leader, partition), f"node {leader} leads {partition}")
        await self.until(lambda: self.in_sync(leader, partition) == set(replicas), "all are in sync")
        return partition

    async def send(self, producer: Producer, partition: TopicPartition, *values: bytes) -> list[int]:
        """The offsets at which they are stored."""
        deliveries = [await producer.send(partition.topic, value, partition=partition.partition) for value in values]
        return [(await delivery).offset for delivery in deliveries]

    async def read(self, partition: TopicPartition, count: int) -> list[bytes]:
        """The first records, as a consumer gets them."""
        found: list[bytes] = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            consumer = new_consumer(self.client, self.world.bootstrap_servers, Isolation.COMMITTED)
            async with consumer:
                consumer.assign([partition])
                consumer.seek(partition, 0)
                while len(found) < count:
                    found += [record.value or b"" for record in await consumer.poll(timeout_ms=500)]
        return found


def _host(name: int | str) -> str:
    return name if isinstance(name, str) else f"node-{name}"
