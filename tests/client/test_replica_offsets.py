"""How far each replica is, and which leader has written what, as tidelog and Apache Kafka tell it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.apache_kafka import running_apache_kafka_nodes
from support.cluster_processes import ClusterProcesses
from support.eventually import eventually
from support.processes import HANG_SECONDS

import tidelog
from tidelog.client.admin import Admin, LeaderEpochRange, NewTopic, ReplicaOffsets
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition

Offsets = dict[int, ReplicaOffsets | ApiError]


async def replicas_of(admin: Admin, partition: TopicPartition) -> Offsets:
    found = (await admin.describe_replica_offsets([partition]))[partition]
    assert not isinstance(found, ApiError), found
    return found


async def produce(servers: str, topic: str, count: int) -> None:
    async with tidelog.Producer(bootstrap_servers=servers) as producer:
        for number in range(count):
            await producer.send(topic, b"%d" % number, partition=0)


def marks(start: int, stable: int, watermark: int, end: int) -> ReplicaOffsets:
    return ReplicaOffsets(
        log_start_offset=start, last_stable_offset=stable, high_watermark=watermark, log_end_offset=end
    )


async def test_the_marks_of_a_log_move_with_what_is_written_and_deleted(
    admin: Admin, servers: str, unique: str
) -> None:
    await admin.create_topic(unique, partitions=2, replication_factor=1)
    partition = TopicPartition(unique, 0)

    async def expect(expected: ReplicaOffsets, of: TopicPartition = partition) -> None:
        async def check() -> None:
            assert list((await replicas_of(admin, of)).values()) == [expected]

        await eventually(check)

    await expect(marks(0, 0, 0, 0))
    await produce(servers, unique, 10)
    await expect(marks(0, 10, 10, 10))
    async with tidelog.Producer(bootstrap_servers=servers, transactional_id=unique) as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await (await producer.send(unique, b"open", partition=0))
            # An open transaction holds the last stable offset back.
            await expect(marks(0, 10, 11, 11))
    # The marker takes an offset, too.
    await expect(marks(0, 12, 12, 12))
    Admin.raise_any(await admin.delete_records({partition: 4}))
    await expect(marks(4, 12, 12, 12))
    await expect(marks(0, 0, 0, 0), TopicPartition(unique, 1))


async def test_what_is_not_there_is_told_apart(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    missing = [TopicPartition(unique, 7), TopicPartition(f"{unique}-missing", 0)]
    there = TopicPartition(unique, 0)

    async def check() -> None:
        found = await admin.describe_replica_offsets([there, *missing])
        assert not isinstance(found[there], ApiError)
        for partition in missing:
            error = found[partition]
            assert isinstance(error, ApiError)
            assert error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    await eventually(check)
    for partition in missing:
        with pytest.raises(ApiError) as raised:
            await admin.describe_leader_epochs(partition)
        assert raised.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_new_log_has_one_epoch_at_most(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    partition = TopicPartition(unique, 0)
    assert await admin.describe_leader_epochs(partition) == []
    await produce(servers, unique, 3)
    assert await admin.describe_leader_epochs(partition) == [LeaderEpochRange(epoch=0, start_offset=0, end_offset=3)]
    Admin.raise_any(await admin.delete_records({partition: 2}))
    assert await admin.describe_leader_epochs(partition) == [LeaderEpochRange(epoch=0, start_offset=2, end_offset=3)]


@pytest.mark.xdist_group("client-cluster")
async def test_each_replica_has_marks_of_its_own_and_each_leader_its_offsets(
    three_nodes: ClusterProcesses, unique: str
) -> None:
    servers = three_nodes.bootstrap_servers
    partition = TopicPartition(unique, 0)
    async with Admin(servers) as admin:
        placed = NewTopic(name=unique, assignment={0: (1, 2, 3)})
        Admin.raise_any(await admin.create_topics([placed]))
        await produce(servers, unique, 5)

        async def all_have_all() -> None:
            # Followers learn the watermark with their next fetch.
            assert await replicas_of(admin, partition) == dict.fromkeys((1, 2, 3), marks(0, 5, 5, 5))

        await eventually(all_have_all)
        before = await admin.describe_leader_epochs(partition)
        assert [(each.start_offset, each.end_offset) for each in before] == [(0, 5)]
        try:
            await asyncio.to_thread(three_nodes.kill, 1)
            await produce(servers, unique, 4)

            async def one_is_silent() -> None:
                found = await replicas_of(admin, partition)
                assert isinstance(found[1], ApiError)
                assert found[1].code in {ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT}
                assert found[2] == found[3] == marks(0, 9, 9, 9)

            await eventually(one_is_silent)
            after = await admin.describe_leader_epochs(partition)
            assert [(each.start_offset, each.end_offset) for each in after] == [(0, 5), (5, 9)]
            assert after[0].epoch == before[0].epoch < after[1].epoch
            assert await admin.describe_leader_epochs(partition, most=1) == after[1:]
        finally:
            await asyncio.to_thread(three_nodes.heal)


@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
@pytest.mark.slow
async def test_followers_of_apache_kafka_tell_theirs(jars: Path, tmp_path: Path, unique: str) -> None:
    with running_apache_kafka_nodes(jars, tmp_path) as nodes:
        servers = ",".join(nodes.values())
        async with Admin(servers) as admin:
            placed = NewTopic(name=unique, assignment={0: tuple(nodes)})
            Admin.raise_any(await admin.create_topics([placed], timeout_ms=HANG_SECONDS * 1000))
            await produce(servers, unique, 5)

            async def all_have_all() -> None:
                assert await replicas_of(admin, TopicPartition(unique, 0)) == dict.fromkeys(nodes, marks(0, 5, 5, 5))

            await eventually(all_have_all)
