"""Replicas move to other brokers, and leaderships to other replicas, while producers go on."""

from __future__ import annotations

from pathlib import Path

from support.replica_cluster import ReplicaCluster, read_values, replica_cluster

from tidelog.controller.leader_election import balance_leaders, elect_leaders
from tidelog.controller.reassignment import alter_partition_reassignments
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tidelog.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions


def reassign(cluster: ReplicaCluster, *replicas: int, cancel: bool = False) -> None:
    target = ReassignablePartition(partition_index=0, replicas=None if cancel else replicas)
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=[target])])
    reply = cluster.decide(lambda image: alter_partition_reassignments(image, request, unclean=cluster.unclean(image)))
    assert not reply.responses[0].partitions[0].error_code


async def test_a_partition_moves_to_other_brokers_while_it_is_written_to(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 4) as cluster:
        cluster.create_topic("t", [1, 2])
        expected: list[bytes | None] = []
        async with cluster.client(1) as client:
            for number in range(10):
                assert (await client.produce("t", b"%d" % number)).error_code == 0
                expected.append(b"%d" % number)
            reassign(cluster, 3, 4)
            # The new replicas join one after the other; the last one completes it, and the old ones are gone.
            await cluster.until(lambda: not cluster.partition().reassigning, "the end of the move")
            moved = await client.produce("t", b"too late")
            assert moved.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert moved.current_leader.leader_id == 3
        partition = cluster.partition()
        assert (partition.replicas, set(partition.isr), partition.leader) == ((3, 4), {3, 4}, 3)
        for number in (1, 2):
            assert cluster.members[number].node.replicas.get("t", 0) is None
            directory = tmp_path / f"broker-{number}"
            assert not (directory / "t-0").exists()
        async with cluster.client(3) as client:
            assert (await client.produce("t", b"more")).base_offset == 10
            assert await read_values(client, cluster) == [*expected, b"more"]
        assert cluster.bytes_of(3) == cluster.bytes_of(4)


async def test_a_leader_that_stays_goes_on_through_the_move(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            reassign(cluster, 1, 3)
            await cluster.until(lambda: not cluster.partition().reassigning, "the end of the move")
            partition = cluster.partition()
            assert (partition.replicas, set(partition.isr), partition.leader) == ((1, 3), {1, 3}, 1)
            assert partition.leader_epoch == 1
            assert (await client.produce("t", b"b")).error_code == 0
            progress = cluster.replica(1).progress
            assert progress is not None
            assert progress.replicas == {1, 3}
        assert cluster.end(3) == 2


async def test_a_move_that_is_cancelled_leaves_no_trace(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2])
        cluster.cut(follower=3, leader=1)
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            reassign(cluster, 1, 3)
            assert cluster.members[3].node.replicas.get("t", 0) is not None
            assert (await client.produce("t", b"b")).error_code == 0
            reassign(cluster, cancel=True)
            assert cluster.members[3].node.replicas.get("t", 0) is None
            assert cluster.partition().replicas == (1, 2)
            assert (await client.produce("t", b"c")).error_code == 0
        await cluster.until(lambda: cluster.bytes_of(1) == cluster.bytes_of(2), "agreement")


async def test_a_preferred_leader_takes_over_without_loss(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3, replica_fetch_wait_max_ms="50") as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
        await cluster.kill(1)
        cluster.fence(1)
        async with cluster.client(2) as client:
            assert (await client.produce("t", b"b")).error_code == 0
        await cluster.start(1)
        request = ElectLeadersRequest(election_type=0, topic_partitions=[TopicPartitions(topic="t", partitions=[0])])
        await cluster.until(lambda: set(cluster.partition().isr) == {1, 2, 3}, "the return of the old leader")
        reply = cluster.decide(lambda image: elect_leaders(image, request))
        assert not reply.replica_election_results[0].partition_result[0].error_code
        assert cluster.partition().leader == 1
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"c")).base_offset == 2
            assert await read_values(client, cluster) == [b"a", b"b", b"c"]


async def test_balancing_spreads_leaderships_again(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2], [2, 3], [3, 1])
        await cluster.kill(1)
        cluster.fence(1)
        await cluster.start(1)

        def leaders() -> list[int]:
            return [cluster.partition("t", number).leader for number in (0, 1, 2)]

        assert leaders() == [2, 2, 3]
        assert not cluster.decide(balance_leaders)
        await cluster.until(lambda: 1 in cluster.partition("t", 0).isr, "the return of broker 1")
        assert not cluster.decide(balance_leaders)
        assert leaders() == [1, 2, 3]
        for leader, partition in ((1, 0), (2, 1), (3, 2)):
            async with cluster.client(leader) as client:
                assert (await client.produce("t", b"a", partition=partition)).error_code == 0
