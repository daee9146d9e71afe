"""What happened to clients in simulated runs, played again step by step."""

from __future__ import annotations

import asyncio

from support.simulated_cluster import SimulatedCluster, play

from tidelog.simulation.checks.history import Isolation
from tidelog.simulation.workloads.workload import new_consumer


def test_an_answer_of_the_old_leader_that_comes_late_is_not_read_again() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2, 3])
        servers = cluster.world.bootstrap_servers
        reader = cluster.world.add_client("reader")
        options = {"metadata.max.age.ms": "500", "fetch.max.wait.ms": "20000", "request.timeout.ms": "30000"}
        read: list[bytes] = []

        async def read_on() -> None:
            async with new_consumer(reader, servers, Isolation.UNCOMMITTED, options) as consumer:
                consumer.assign([partition])
                consumer.seek(partition, 0)
                while True:
                    read.extend(record.value or b"" for record in await consumer.poll(timeout_ms=100))

        reading = reader.run(read_on())
        async with cluster.producer() as producer:
            await cluster.send(producer, partition, b"first")
            await cluster.until(lambda: read == [b"first"], "the reader waits for more")
            await asyncio.sleep(1)
            # The answer is on its way when the leader loses its place, and arrives long after that of the next leader.
            cluster.silence(1, "reader")
            await cluster.send(producer, partition, b"second")
            cluster.cut(1, 2, 3)
            await cluster.until(lambda: read == [b"first", b"second"], "the reader has got it from another leader")
            cluster.join()
            await cluster.send(producer, partition, b"third")
            await cluster.until(lambda: b"third" in read, "the reader goes on")
            await asyncio.sleep(5)
        reading.cancel()
        assert read == [b"first", b"second", b"third"]

    play(script)
