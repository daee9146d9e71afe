"""A node that is asked to stop at any moment of its start ends in order; nodes that all stop at once do so quickly."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from support.simulated_cluster import SimulatedCluster, play

from tidelog.model.ids import TopicPartition
from tidelog.simulation.machines.filesystem import ProcessFileSystem
from tidelog.simulation.machines.node import SimulatedNode
from tidelog.simulation.machines.process import Process
from tidelog.storage.files.filesystem import File
from tidelog.storage.recovery.clean_shutdown import read_clean_shutdown

# How far apart the moments are, in virtual seconds, and how long it takes a node alone to start.
STEP_SECONDS = 0.0007
KEPT = TopicPartition("kept", 0)
TORN = b"torn" * 10
VALUES = [b"one", b"two", b"three"]


def files(cluster: SimulatedCluster, node: SimulatedNode) -> ProcessFileSystem:
    return ProcessFileSystem(node.disk, Process("looks", node.host), cluster.world.trace)


def somebody_leads(cluster: SimulatedCluster, partition: TopicPartition) -> bool:
    return any(cluster.leads(each, partition) for each in (1, 2, 3))


def clean_epoch(cluster: SimulatedCluster, node: SimulatedNode) -> int | None:
    """What the mark of a clean shutdown on the node's disk holds."""
    return read_clean_shutdown(files(cluster, node), node.properties["log.dirs"])


def segment(cluster: SimulatedCluster, node: SimulatedNode) -> File:
    return files(cluster, node).open(f"{node.properties['log.dirs']}/kept-0/{0:020d}.log")


async def fill(cluster: SimulatedCluster, node: SimulatedNode) -> None:
    await cluster.create_topic(KEPT.topic, [node.node_id])
    async with cluster.producer() as producer:
        await cluster.send(producer, KEPT, *VALUES)


async def stop_during_start(
    cluster: SimulatedCluster, node: SimulatedNode, before: Callable[[], Awaitable[None]]
) -> list[bool]:
    """Start, and ask for the end a little later each time, until the start was complete. Whether each left the mark."""
    marks: list[bool] = []
    while True:
        await before()
        node.start()
        await asyncio.sleep(STEP_SECONDS * len(marks))
        complete = node.running is not None
        gone = node.gone
        node.stop()
        async with asyncio.timeout(10):
            await gone.wait()
        marks.append(clean_epoch(cluster, node) is not None)
        log = segment(cluster, node)
        assert not (marks[-1] and log.read(0, log.size()).endswith(TORN)), "called clean without having been recovered"
        if complete:
            return marks


def test_a_clean_node_stays_clean_whenever_its_next_start_is_interrupted() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        node = cluster.node(1)
        await fill(cluster, node)
        node.stop()
        await node.gone.wait()
        assert clean_epoch(cluster, node) is not None

        async def nothing() -> None:
            return

        marks = await stop_during_start(cluster, node, nothing)
        assert len(marks) > 20
        assert all(marks), marks
        node.start()
        await cluster.until(lambda: cluster.leads(1, KEPT), "it leads again")
        assert cluster.values(1, KEPT) == VALUES

    play(script, nodes=1)


def test_a_node_that_crashed_is_called_clean_only_once_all_its_logs_are_recovered() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        node = cluster.node(1)
        await fill(cluster, node)

        async def crash() -> None:
            node.start()
            await cluster.until(lambda: node.running is not None, "it runs")
            node.kill()
            assert clean_epoch(cluster, node) is None
            # A batch that was being written when the process died.
            torn = segment(cluster, node)
            torn.write(torn.size(), TORN)

        marks = await stop_during_start(cluster, node, crash)
        assert len(marks) > 20
        assert marks[-1]
        assert not all(marks)
        node.start()
        await cluster.until(lambda: cluster.leads(1, KEPT), "it leads again")
        assert cluster.values(1, KEPT) == VALUES

    play(script, nodes=1)


@pytest.mark.parametrize("seed", range(1, 9))
def test_three_nodes_that_stop_at_once_do_not_wait_for_a_quorum_that_is_gone(seed: int) -> None:
    async def script(cluster: SimulatedCluster) -> None:
        for number in (1, 2, 3):
            await cluster.create_topic(f"led-by-{number}", [number, *(each for each in (1, 2, 3) if each != number)])
        began = cluster.world.loop.time()
        nodes = [cluster.node(number) for number in (1, 2, 3)]
        ends = [node.gone for node in nodes]
        for node in nodes:
            node.stop()
        async with asyncio.timeout(30):
            await asyncio.gather(*(end.wait() for end in ends))
        assert cluster.world.loop.time() - began < 2.0
        assert all(clean_epoch(cluster, node) is not None for node in nodes)
        for node in nodes:
            node.start()
        for number in (1, 2, 3):
            partition = TopicPartition(f"led-by-{number}", 0)
            await cluster.until(
                partial(somebody_leads, cluster, partition),
                f"somebody leads {partition}",
            )

    play(script, seed=seed)
