"""Replication throttles on simulated clusters, in virtual time (KIP-73)."""

from __future__ import annotations

import asyncio

import pytest
from support.simulated_cluster import SimulatedCluster, play

from tidelog.client.admin import Admin, ConfigAlteration, ConfigResource, ResourceType
from tidelog.model.ids import TopicPartition

RATE = 10_000
RECORDS = 100
RECORD_BYTES = 1_000
# Pieces small against the rate, or the first of them would be the whole.
PROPERTIES = {"replica.fetch.max.bytes": "2000", "replica.fetch.response.max.bytes": "2000"}


async def catch_up_seconds(cluster: SimulatedCluster, follower: int, partition: TopicPartition) -> float:
    """How long a follower that was away takes to have everything."""
    began = cluster.world.loop.time()
    end = cluster.known_replica(1, partition).log.log_end_offset
    while (replica := cluster.replica(follower, partition)) is None or replica.log.log_end_offset < end:
        await asyncio.sleep(0.05)
        assert cluster.world.loop.time() < began + 120
    return cluster.world.loop.time() - began


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_replica_that_catches_up_keeps_to_the_rate_and_those_in_sync_are_not_held_back(side: str) -> None:
    async def script(cluster: SimulatedCluster) -> None:
        throttled = "0:1" if side == "leader" else "0:3"
        partition = await cluster.create_topic("t", [1, 2, 3], **{f"{side}_replication_throttled_replicas": throttled})
        cluster.node(3).kill()
        async with cluster.producer(**{"batch.size": 1, "linger.ms": 0}) as producer:
            began = cluster.world.loop.time()
            await cluster.send(producer, partition, *[bytes(RECORD_BYTES) for _ in range(RECORDS)])
            # Until the dead follower is out of the in-sync set nothing is committed.
            assert cluster.world.loop.time() - began < 5
            await limit(cluster, side)
            cluster.node(3).start()
            seconds = await catch_up_seconds(cluster, 3, partition)
            wanted = RECORDS * RECORD_BYTES / RATE
            assert 0.7 * wanted < seconds < 2 * wanted, f"{seconds:.1f} s for {RECORDS * RECORD_BYTES} bytes"
            # All are in sync now: what producers send does not wait for the throttle.
            while cluster.in_sync(1, partition) != {1, 2, 3}:
                await asyncio.sleep(0.05)
            began = cluster.world.loop.time()
            await cluster.send(producer, partition, *[bytes(RECORD_BYTES) for _ in range(RECORDS)])
            assert cluster.world.loop.time() - began < wanted / 2

    play(script, properties=PROPERTIES)


async def limit(cluster: SimulatedCluster, side: str) -> None:
    resource = ConfigResource(ResourceType.BROKER, "")
    changes = {resource: [ConfigAlteration(name=f"{side}.replication.throttled.rate", value=str(RATE))]}
    async with cluster.admin() as admin:
        Admin.raise_any(await admin.alter_configs(changes))
    name = f"{side}_replication_throttled_rate"
    running = [each.running for each in cluster.world.nodes.values() if each.running is not None]
    while any(getattr(each.node.config, name) != RATE for each in running):
        await asyncio.sleep(0.05)


def test_without_a_rate_a_listed_replica_catches_up_at_once() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2, 3], leader_replication_throttled_replicas="*")
        cluster.node(3).kill()
        async with cluster.producer(**{"batch.size": 1, "linger.ms": 0}) as producer:
            await cluster.send(producer, partition, *[bytes(RECORD_BYTES) for _ in range(RECORDS)])
        cluster.node(3).start()
        assert await catch_up_seconds(cluster, 3, partition) < 0.5 * RECORDS * RECORD_BYTES / RATE

    play(script, properties=PROPERTIES)
