"""Replication under a real metadata quorum: brokers die and come back, and everything finds its place again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from support.nodes_in_process import Nodes, nodes
from support.raw_client import raw_client

from tidelog.controller.elections import unclean_allowed
from tidelog.metadata.image import PartitionImage
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

BOTH = "broker,controller"
# The controllers stay; brokers come and go.
ROLES = {1: BOTH, 2: "broker", 3: "broker"}


def partition(cluster: Nodes) -> PartitionImage | None:
    return cluster.running[1].node.image.partition("t", 0)


async def create(cluster: Nodes, *replicas: int) -> None:
    topic = CreatableTopic(
        name="t",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)],
    )
    async with raw_client(cluster.address(1)) as client:
        response = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
    assert not response.topics[0].error_code, response.topics[0].error_message


async def led_by(cluster: Nodes, leader: int, *in_sync: int) -> None:
    def as_wanted() -> bool:
        found = partition(cluster)
        knows = cluster.running[leader].node.replicas.leader("t", 0) if leader in cluster.running else ErrorCode.NONE
        return (
            found is not None
            and found.leader == leader
            and set(found.isr) == set(in_sync)
            and not isinstance(knows, ErrorCode)
        )

    await cluster.until(as_wanted, f"that {leader} leads with {in_sync}")


async def produce(cluster: Nodes, leader: int, *values: bytes) -> None:
    async with raw_client(cluster.address(leader)) as client:
        for value in values:
            answer = await client.produce("t", value)
            assert answer.error_code == 0, ErrorCode(answer.error_code).name


async def test_a_preferred_leader_that_comes_back_gets_its_leadership_back_by_itself(tmp_path: Path) -> None:
    async with nodes(tmp_path, ROLES, leader_imbalance_check_interval_seconds="1") as cluster:
        await create(cluster, 2, 3, 1)
        await led_by(cluster, 2, 1, 2, 3)
        await produce(cluster, 2, b"a", b"b")
        await cluster.kill(2)
        await led_by(cluster, 3, 1, 3)
        await produce(cluster, 3, b"c")
        await cluster.start(2)
        await led_by(cluster, 2, 1, 2, 3)
        await produce(cluster, 2, b"d")
        ends = {number: cluster.running[number].node.replicas.get("t", 0) for number in ROLES}
        await cluster.until(
            lambda: {each.log.log_end_offset for each in ends.values() if each is not None} == {4}, "agreement"
        )


async def test_a_broker_that_stops_in_order_hands_over_first(tmp_path: Path) -> None:
    """Scenario 7: clients see no failure but a redirect, and nobody waits for a timeout."""
    async with nodes(tmp_path, ROLES, broker_session_timeout_ms="60000") as cluster:
        await create(cluster, 2, 3, 1)
        await led_by(cluster, 2, 1, 2, 3)
        await produce(cluster, 2, b"a")
        stopping = asyncio.create_task(cluster.stop(2))
        await led_by(cluster, 3, 1, 3)
        await produce(cluster, 3, b"b")
        await stopping


async def test_unclean_elections_can_be_allowed_when_it_is_too_late(tmp_path: Path) -> None:
    async with nodes(
        tmp_path, ROLES, unclean_leader_election_interval_ms="500", replica_lag_time_max_ms="1000"
    ) as cluster:
        await create(cluster, 2, 3)
        await led_by(cluster, 2, 2, 3)
        await produce(cluster, 2, b"a")
        await cluster.kill(3)
        await led_by(cluster, 2, 2)
        await produce(cluster, 2, b"only here")
        await cluster.kill(2)

        def leaderless() -> bool:
            found = partition(cluster)
            return found is not None and found.leader == -1

        await cluster.until(leaderless, "that nobody leads")
        await cluster.start(3)
        assert leaderless()
        name = "unclean.leader.election.enable"
        resource = AlterConfigsResource(
            resource_type=4, resource_name="", configs=[AlterableConfig(name=name, config_operation=0, value="true")]
        )
        async with raw_client(cluster.address(1)) as client:
            response = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
        assert not response.responses[0].error_code, response.responses[0].error_message
        await led_by(cluster, 3, 3)
        await produce(cluster, 3, b"b")
        config = cluster.running[1].node.config.topic_defaults()
        assert unclean_allowed(cluster.running[1].node.image, config)("t")
