"""The control plane of several real nodes: elections, fail-over, registration, fencing, roles, cluster ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.conftest import create_topic
from support.nodes_in_process import Nodes, nodes
from support.raw_client import raw_client

from tidelog.metadata.draft import BrokenMetadata
from tidelog.model.errors import ApiError
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord
from tidelog.server.failures import StartFailure

BOTH = "broker,controller"
THREE = {1: BOTH, 2: BOTH, 3: BOTH}


def topics_everywhere(cluster: Nodes, *names: str) -> bool:
    return all(set(names) <= set(node.node.image.topics) for node in cluster.running.values() if node.is_broker)


async def test_three_nodes_agree_on_one_controller_and_on_topics(tmp_path: Path) -> None:
    async with nodes(tmp_path, THREE) as cluster:
        await cluster.until(lambda: cluster.controller() is not None, "an election")
        for number in THREE:
            async with raw_client(cluster.address(number)) as client:
                await create_topic(client, f"made-by-{number}")
        await cluster.until(lambda: topics_everywhere(cluster, "made-by-1", "made-by-2", "made-by-3"), "replication")


async def test_a_new_controller_takes_over_when_the_old_one_dies(tmp_path: Path) -> None:
    async with nodes(tmp_path, THREE) as cluster:
        await cluster.until(lambda: cluster.controller() is not None, "an election")
        old = cluster.controller()
        assert old is not None
        survivors = [number for number in THREE if number != old]
        async with raw_client(cluster.address(survivors[0])) as client:
            await create_topic(client, "before")
            await cluster.kill(old)
            await create_topic(client, "after")
        await cluster.until(lambda: cluster.controller() in survivors, "a new controller")
        await cluster.until(lambda: topics_everywhere(cluster, "before", "after"), "replication")
        await cluster.until(
            lambda: all(cluster.running[number].node.image.brokers[old].fenced for number in survivors),
            "the fencing of the broker that died",
        )
        await cluster.start(old)
        await cluster.until(lambda: topics_everywhere(cluster, "before", "after"), "the return of the old controller")


async def test_everything_is_there_after_all_nodes_were_stopped_and_started(tmp_path: Path) -> None:
    async with nodes(tmp_path, THREE) as cluster:
        async with raw_client(cluster.address(1)) as client:
            await create_topic(client, "kept", partitions=3, retention_ms="777")
        for number in THREE:
            await cluster.kill(number)
        await cluster.start()
        await cluster.until(lambda: topics_everywhere(cluster, "kept"), "the return of the topic")
        assert cluster.running[1].node.image.topic_config("kept") == {"retention.ms": "777"}


async def test_a_stopping_broker_hands_its_leaderships_over_first(tmp_path: Path) -> None:
    async with nodes(tmp_path, THREE) as cluster:
        async with raw_client(cluster.address(1)) as client:
            await create_topic(client, "t", partitions=6, replication_factor=3)
        await cluster.until(lambda: topics_everywhere(cluster, "t"), "replication")
        await cluster.stop(2)

        def nobody_is_led_by_2() -> bool:
            image = cluster.running[1].node.image
            return all(partition.leader in (1, 3) for partition in image.topics["t"].partitions.values())

        await cluster.until(nobody_is_led_by_2, "the hand-over", within_seconds=5)


async def test_brokers_and_controllers_can_be_processes_of_their_own(tmp_path: Path) -> None:
    roles = {1: "controller", 2: "broker", 3: "broker"}
    async with nodes(tmp_path, roles, default_replication_factor="2") as cluster:
        async with raw_client(cluster.address(3)) as client:
            await create_topic(client, "t", replication_factor=2)
        await cluster.until(lambda: topics_everywhere(cluster, "t"), "replication")
        assert cluster.controller() == 1
        assert set(cluster.running[2].node.image.brokers) == {2, 3}


async def test_a_node_of_another_cluster_is_not_let_in(tmp_path: Path) -> None:
    async with nodes(tmp_path, {1: BOTH, 2: BOTH, 3: BOTH}) as cluster:
        await cluster.until(lambda: cluster.controller() is not None, "an election")
        follower = next(number for number in THREE if number != cluster.controller())
        await cluster.stop(follower)
        cluster.format(follower, "BBBBBBBBQBCAAAAAAAAAAA")
        with pytest.raises(StartFailure, match="INCONSISTENT_CLUSTER_ID"):
            await cluster.start(follower)


async def test_the_quorum_is_described(tmp_path: Path) -> None:
    async with nodes(tmp_path, THREE) as cluster:
        topic = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])
        async with raw_client(cluster.address(2)) as client:
            response = await client.ask(DescribeQuorumRequest(topics=[topic]))
        (partition,) = response.topics[0].partitions
        assert partition.error_code == 0
        assert {voter.replica_id for voter in partition.current_voters} == {1, 2, 3}
        assert partition.leader_id == cluster.controller()


async def test_a_node_whose_metadata_contradicts_itself_gives_up(tmp_path: Path) -> None:
    async with nodes(tmp_path, THREE) as cluster:
        await cluster.until(lambda: cluster.controller() is not None, "an election")
        controller = cluster.controller()
        assert controller is not None
        quorum = cluster.running[controller].node.control.quorum
        # No decision of a controller says this. Every node finds out when it applies it.
        nonsense = PartitionChangeRecord(topic_id=b"no such topic id", partition_id=0, isr=[1])
        with pytest.raises(ApiError, match="active controller"):
            await quorum.append([nonsense], quorum.replica.epoch)
        await cluster.until(cluster.running[controller].failed.is_set, "that the node gives up")
        assert isinstance(cluster.running[controller].failure, BrokenMetadata)
