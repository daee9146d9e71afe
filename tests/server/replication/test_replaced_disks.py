"""Nodes whose disks are replaced, and brokers with several log directories, under a real metadata quorum (KIP-858)."""

from __future__ import annotations

import errno
import shutil
from functools import partial
from pathlib import Path

import pytest
from support.bad_disk import BadDisk
from support.nodes_in_process import CLUSTER_ID, Nodes, nodes
from support.raw_client import raw_client

from tidelog.metadata.image import NO_LEADER, PartitionImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tidelog.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tidelog.server.startup import RunningNode

BOTH = "broker,controller"
# The controller stays; brokers come and go.
ROLES = {1: BOTH, 2: "broker", 3: "broker"}


def partition(cluster: Nodes, number: int = 0) -> PartitionImage:
    found = cluster.running[1].node.image.partition("t", number)
    assert found is not None
    return found


async def create(cluster: Nodes, *assignments: tuple[int, ...]) -> None:
    topic = CreatableTopic(
        name="t",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=replicas)
            for number, replicas in enumerate(assignments)
        ],
    )
    async with raw_client(cluster.address(1)) as client:
        response = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
    assert not response.topics[0].error_code, response.topics[0].error_message


async def until_led_by(cluster: Nodes, leader: int, *in_sync: int, number: int = 0) -> None:
    def as_wanted() -> bool:
        found = partition(cluster, number)
        leads = cluster.running[leader].node.replicas.leader("t", number)
        return found.leader == leader and set(found.isr) == set(in_sync) and not isinstance(leads, ErrorCode)

    await cluster.until(as_wanted, f"that {leader} leads {number} with {in_sync}")


async def produce(cluster: Nodes, leader: int, value: bytes, number: int = 0) -> None:
    async with raw_client(cluster.address(leader)) as client:
        answer = await client.produce("t", value, partition=number)
        assert answer.error_code == 0, ErrorCode(answer.error_code).name


async def elect(cluster: Nodes, election_type: int, number: int = 0) -> int:
    asked = [TopicPartitions(topic="t", partitions=[number])]
    async with raw_client(cluster.address(1)) as client:
        response = await client.ask(
            ElectLeadersRequest(election_type=election_type, topic_partitions=asked, timeout_ms=10_000)
        )
    return int(response.replica_election_results[0].partition_result[0].error_code)


def replace_disk(cluster: Nodes, number: int) -> None:
    shutil.rmtree(cluster.log_directory(number))
    cluster.format(number, CLUSTER_ID)


def directory_ids(running: RunningNode) -> list[Uuid | None]:
    return [None if each.meta is None else each.meta.directory_id for each in running.node.replicas.directories]


def end_offset(cluster: Nodes, broker: int, number: int = 0) -> int:
    replica = cluster.running[broker].node.replicas.get("t", number)
    return -1 if replica is None else replica.log.log_end_offset


def in_sync(cluster: Nodes, broker: int, number: int) -> bool:
    return broker in partition(cluster, number).isr


@pytest.mark.slow
async def test_nodes_with_replaced_disks_lead_again_one_after_another(tmp_path: Path) -> None:
    """Scenario 34."""
    async with nodes(tmp_path, ROLES, auto_leader_rebalance_enable="false") as cluster:
        await create(cluster, (2, 3))
        await until_led_by(cluster, 2, 2, 3)
        await produce(cluster, 2, b"a")
        for replaced, other in ((2, 3), (3, 2)):
            await cluster.kill(replaced)
            replace_disk(cluster, replaced)
            await cluster.start(replaced)
            await until_led_by(cluster, other, 2, 3)
            (own,) = directory_ids(cluster.running[replaced])
            assert partition(cluster).directory_of(replaced) == own
            await produce(cluster, other, b"b")
        # Both disks are new ones: whoever is preferred can lead.
        if partition(cluster).leader != 2:
            assert await elect(cluster, 0) == ErrorCode.NONE
        await until_led_by(cluster, 2, 2, 3)
        await produce(cluster, 2, b"c")
        await cluster.until(lambda: end_offset(cluster, 2) == end_offset(cluster, 3) == 4, "agreement")


@pytest.mark.slow
async def test_the_only_copy_is_not_replaced_by_an_empty_one_unless_somebody_says_so(tmp_path: Path) -> None:
    async with nodes(tmp_path, ROLES) as cluster:
        await create(cluster, (2,))
        await until_led_by(cluster, 2, 2)
        await produce(cluster, 2, b"a")
        await cluster.kill(2)
        aside = tmp_path / "the old disk"
        cluster.log_directory(2).rename(aside)
        cluster.format(2, CLUSTER_ID)
        await cluster.start(2)
        await cluster.until(lambda: end_offset(cluster, 2) == 0, "an empty replica")
        assert partition(cluster).leader == NO_LEADER
        # The old disk is found again: everything is as before.
        await cluster.kill(2)
        shutil.rmtree(cluster.log_directory(2))
        aside.rename(cluster.log_directory(2))
        await cluster.start(2)
        await until_led_by(cluster, 2, 2)
        assert end_offset(cluster, 2) == 1
        # It is lost for good: somebody accepts that.
        await cluster.kill(2)
        replace_disk(cluster, 2)
        await cluster.start(2)
        await cluster.until(lambda: end_offset(cluster, 2) == 0, "an empty replica")
        assert partition(cluster).leader == NO_LEADER
        assert await elect(cluster, 1) == ErrorCode.NONE
        await until_led_by(cluster, 2, 2)
        await produce(cluster, 2, b"b")
        (own,) = directory_ids(cluster.running[2])
        await cluster.until(lambda: partition(cluster).directory_of(2) == own, "that the metadata names the new disk")


async def test_replicas_are_spread_over_directories_and_the_metadata_names_them(tmp_path: Path) -> None:
    cluster = Nodes(tmp_path, ROLES)
    cluster.more_directories[2] = [tmp_path / "second"]
    try:
        await cluster.start()
        await create(cluster, (2,), (2,), (2,), (2,))
        ids = directory_ids(cluster.running[2])
        assert len(set(ids)) == 2

        def spread() -> bool:
            found = [partition(cluster, number).directory_of(2) for number in range(4)]
            return all(found.count(each) == 2 for each in ids if each is not None)

        await cluster.until(spread, "two replicas in each directory")
    finally:
        await cluster.close()


@pytest.mark.slow
async def test_one_of_two_directories_fails_and_others_lead_what_was_in_there(tmp_path: Path) -> None:
    cluster = Nodes(tmp_path, ROLES)
    cluster.more_directories[2] = [tmp_path / "second"]
    bad = cluster.filesystems[2] = BadDisk(tmp_path / "second")
    try:
        await cluster.start()
        await create(cluster, *((2, 3) for _ in range(4)))
        for number in range(4):
            await until_led_by(cluster, 2, 2, 3, number=number)
            await produce(cluster, 2, b"a", number)
        replicas = cluster.running[2].node.replicas
        first, second = replicas.directories
        await cluster.until(
            lambda: {partition(cluster, n).directory_of(2) for n in range(4)} == set(directory_ids(cluster.running[2])),
            "that the metadata names the directories",
        )
        lost = [each.topic_partition.partition for each in replicas.in_directory(second)]
        kept = [each.topic_partition.partition for each in replicas.in_directory(first)]
        assert len(lost) == len(kept) == 2
        bad.fail(errno.EIO, "write", "sync", "read", "create", "open", "rename", "make_directory")
        async with raw_client(cluster.address(2)) as client:
            answer = await client.produce("t", b"not taken", partition=lost[0])
            assert answer.error_code in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for number in lost:
            await until_led_by(cluster, 3, 3, number=number)
            await produce(cluster, 3, b"b", number)
        for number in kept:
            await until_led_by(cluster, 2, 2, 3, number=number)
        # The disk is replaced: all is as before.
        await cluster.kill(2)
        bad.error = None
        shutil.rmtree(second.path)
        await cluster.start(2)
        for number in lost:
            await cluster.until(partial(in_sync, cluster, 2, number), f"that partition {number} is in sync")
            assert await elect(cluster, 0, number) in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
            await until_led_by(cluster, 2, 2, 3, number=number)
            assert end_offset(cluster, 2, number) == 2
    finally:
        await cluster.close()
