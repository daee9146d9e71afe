"""A broker whose process is gone is replaced at once; one that is alive never is, whatever it looks like."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest
from support.simulated_cluster import SimulatedCluster, play

from tidelog.model.ids import TopicPartition

# Kafka's defaults: what is found out before nine seconds have passed was not found out by a session that ended.
DEFAULTS = {"broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "2000"}
SESSION_SECONDS = 9.0
LEADER_SECONDS = 2.0
LEADER_AND_CONTROLLER_SECONDS = 3.0
OFF = {**DEFAULTS, "tidelog.broker.refusal.timeout.ms": "-1"}


async def topic_led_by(cluster: SimulatedCluster, leader: int) -> TopicPartition:
    others = [number for number in (1, 2, 3) if number != leader]
    return await cluster.create_topic("t", [leader, *others])


async def seconds_until_led_by_another(cluster: SimulatedCluster, partition: TopicPartition, dead: int) -> float:
    began = cluster.world.loop.time()
    others = [number for number in (1, 2, 3) if number != dead]
    await cluster.until(lambda: any(cluster.leads(each, partition) for each in others), "another leads")
    return cluster.world.loop.time() - began


def found_gone(cluster: SimulatedCluster) -> int:
    return cluster.world.trace.counts["broker-found-gone"]


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_killed_leader_is_replaced_within_two_seconds(seed: int) -> None:
    async def script(cluster: SimulatedCluster) -> None:
        await cluster.create_topic("first", [1, 2, 3])
        victim = next(number for number in (1, 2, 3) if number != cluster.controller())
        partition = await topic_led_by(cluster, victim)
        async with cluster.producer() as producer:
            await cluster.send(producer, partition, b"before")
            cluster.node(victim).kill()
            began = cluster.world.loop.time()
            await cluster.send(producer, partition, b"after")
            assert cluster.world.loop.time() - began < LEADER_SECONDS
        assert found_gone(cluster) == 1

    play(script, seed=seed, properties=DEFAULTS)


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_killed_leader_that_is_the_active_controller_is_replaced_within_three_seconds(seed: int) -> None:
    async def script(cluster: SimulatedCluster) -> None:
        await cluster.create_topic("first", [1, 2, 3])
        victim = cluster.controller()
        partition = await topic_led_by(cluster, victim)
        async with cluster.producer() as producer:
            await cluster.send(producer, partition, b"before")
            cluster.node(victim).kill()
            began = cluster.world.loop.time()
            await cluster.send(producer, partition, b"after")
            assert cluster.world.loop.time() - began < LEADER_AND_CONTROLLER_SECONDS

    play(script, seed=seed, properties=DEFAULTS)


def test_a_broker_that_is_killed_and_started_at_once_does_not_wait_for_its_old_session() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        await cluster.create_topic("first", [1, 2, 3])
        victim = next(number for number in (1, 2, 3) if number != cluster.controller())
        partition = await topic_led_by(cluster, victim)
        cluster.node(victim).kill()
        began = cluster.world.loop.time()
        cluster.node(victim).start()
        await cluster.until(lambda: cluster.node(victim).running is not None, "it serves again")
        assert cluster.world.loop.time() - began < LEADER_SECONDS
        await cluster.converged([1, 2, 3], partition)

    play(script, properties=DEFAULTS)


def check_keeps_its_session(
    harm: Callable[[SimulatedCluster, int], None], *, seed: int = 1, properties: Mapping[str, str]
) -> None:
    """Whatever is done to a leader: another one leads only when the session is over."""

    async def script(cluster: SimulatedCluster) -> None:
        await cluster.create_topic("first", [1, 2, 3])
        victim = next(number for number in (1, 2, 3) if number != cluster.controller())
        partition = await topic_led_by(cluster, victim)
        harm(cluster, victim)
        # The last heartbeat may have come an interval ago.
        assert await seconds_until_led_by_another(cluster, partition, victim) > SESSION_SECONDS - 2.5
        assert found_gone(cluster) == 0

    play(script, seed=seed, properties=properties)


def test_the_property_turns_it_off() -> None:
    check_keeps_its_session(lambda cluster, victim: cluster.node(victim).kill(), properties=OFF)


@pytest.mark.parametrize("seed", range(1, 3))
def test_a_paused_broker_keeps_its_session(seed: int) -> None:
    def pause(cluster: SimulatedCluster, victim: int) -> None:
        process = cluster.node(victim).process
        assert process is not None
        cluster.world.loop.pause(process)
        # Connections that break meanwhile are no evidence: the kernel still accepts others for it.
        cluster.world.fabric.break_connections(f"node-{victim}", share=1.0)

    check_keeps_its_session(pause, seed=seed, properties=DEFAULTS)


def test_a_broker_that_is_cut_off_keeps_its_session() -> None:
    def cut_off(cluster: SimulatedCluster, victim: int) -> None:
        cluster.world.fabric.break_connections(f"node-{victim}", share=1.0)
        cluster.cut(victim, *(number for number in (1, 2, 3) if number != victim))

    check_keeps_its_session(cut_off, properties=DEFAULTS)


def test_a_machine_without_power_keeps_the_session_of_its_broker() -> None:
    check_keeps_its_session(lambda cluster, victim: cluster.node(victim).lose_power(), properties=DEFAULTS)


@pytest.mark.parametrize("seed", range(1, 5))
def test_a_live_broker_behind_a_firewall_that_refuses_in_its_name_is_not_fenced(seed: int) -> None:
    async def script(cluster: SimulatedCluster) -> None:
        await cluster.create_topic("first", [1, 2, 3])
        controller = cluster.controller()
        victim = next(number for number in (1, 2, 3) if number != controller)
        partition = await topic_led_by(cluster, victim)
        cluster.world.fabric.link(f"node-{controller}", f"node-{victim}").rejects = True
        for _ in range(20):
            # Again and again its connections break. It is heard of over the next one before anybody is certain.
            cluster.world.fabric.break_connections(f"node-{victim}", share=1.0)
            await asyncio.sleep(1.0)
        assert found_gone(cluster) == 0
        assert cluster.leads(victim, partition)

    play(script, seed=seed, properties=DEFAULTS)


@pytest.mark.parametrize("seed", range(1, 5))
def test_a_voter_that_alone_is_refused_by_the_leader_does_not_disturb_the_others(seed: int) -> None:
    async def script(cluster: SimulatedCluster) -> None:
        await cluster.create_topic("first", [1, 2, 3])
        controller = cluster.controller()
        lonely = next(number for number in (1, 2, 3) if number != controller)
        running = cluster.node(controller).running
        assert running is not None
        epoch = running.node.control.quorum.replica.epoch
        cluster.world.fabric.link(f"node-{lonely}", f"node-{controller}").rejects = True
        cluster.world.fabric.break_connections(f"node-{lonely}", share=1.0)
        await asyncio.sleep(5.0)
        assert cluster.controller() == controller
        assert running.node.control.quorum.replica.epoch == epoch

    play(script, seed=seed, properties=DEFAULTS)
