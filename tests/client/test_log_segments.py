"""What tidelog tells of segments and of producers' batches, and that Apache Kafka is asked the same without harm."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.cluster_processes import ClusterProcesses
from support.eventually import eventually

import tidelog
from tidelog.client.admin import (
    Admin,
    LogSegmentDescription,
    NewTopic,
    ProducerBatchDescription,
    ProducerState,
    ReplicaSegments,
    SegmentState,
)
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition

Answer = ReplicaSegments | ApiError | None
# The smallest that Apache Kafka takes.
SEGMENT_BYTES = 1024 * 1024
FIRST_MS = int(time.time() * 1000) - 60_000


async def segments_of(admin: Admin, partition: TopicPartition) -> dict[int, Answer]:
    found = (await admin.describe_log_segments([partition]))[partition]
    assert not isinstance(found, ApiError), found
    return found


async def produce(servers: str, topic: str, count: int, size: int = 1) -> None:
    """Each record is a batch of its own."""
    async with tidelog.Producer(bootstrap_servers=servers, linger_ms=0) as producer:
        for number in range(count):
            await (await producer.send(topic, b"x" * size, partition=0, timestamp_ms=FIRST_MS + number))


def is_apache(request: pytest.FixtureRequest) -> bool:
    return "apache" in request.node.name


async def test_a_log_that_has_rolled_has_several_segments(
    admin: Admin, servers: str, unique: str, request: pytest.FixtureRequest
) -> None:
    await admin.create_topic(unique, partitions=1, replication_factor=1, configs={"segment.bytes": str(SEGMENT_BYTES)})
    await produce(servers, unique, 5, size=400_000)
    (found,) = (await segments_of(admin, TopicPartition(unique, 0))).values()
    if is_apache(request):
        assert found is None
        return
    assert isinstance(found, ReplicaSegments)
    sizes = [segment.size_in_bytes for segment in found.segments]
    assert found == ReplicaSegments(
        segments=tuple(
            LogSegmentDescription(
                base_offset=base, next_offset=end, size_in_bytes=size, largest_timestamp=FIRST_MS + end - 1, state=state
            )
            for (base, end, state), size in zip(
                (
                    (0, 2, SegmentState.NOT_COMPACTED),
                    (2, 4, SegmentState.NOT_COMPACTED),
                    (4, 5, SegmentState.ACTIVE),
                ),
                sizes,
                strict=True,
            )
        )
    )
    assert [size // 400_000 for size in sizes] == [2, 2, 1]


async def test_an_empty_log_has_one_segment(admin: Admin, unique: str, request: pytest.FixtureRequest) -> None:
    await admin.create_topic(unique, partitions=1, replication_factor=1)
    empty = LogSegmentDescription(
        base_offset=0, next_offset=0, size_in_bytes=0, largest_timestamp=None, state=SegmentState.ACTIVE
    )

    async def check() -> None:
        (found,) = (await segments_of(admin, TopicPartition(unique, 0))).values()
        assert found == (None if is_apache(request) else ReplicaSegments(segments=(empty,)))

    await eventually(check)


async def test_partitions_that_are_not_there_have_errors(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=1, replication_factor=1)
    missing = [TopicPartition(unique, 7), TopicPartition(f"{unique}-missing", 0)]

    async def check() -> None:
        # The broker that is asked may be behind the controller that has created the topic.
        found = await admin.describe_log_segments([TopicPartition(unique, 0), *missing])
        assert not isinstance(found[TopicPartition(unique, 0)], ApiError)
        for partition in missing:
            error = found[partition]
            assert isinstance(error, ApiError)
            assert error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    await eventually(check)


async def test_the_last_five_batches_of_an_idempotent_producer(
    admin: Admin, servers: str, unique: str, request: pytest.FixtureRequest
) -> None:
    await admin.create_topic(unique, partitions=1, replication_factor=1)
    partition = TopicPartition(unique, 0)
    await produce(servers, unique, 7)

    async def described(*, include_batches: bool) -> ProducerState:
        found = await admin.describe_producers([partition], include_batches=include_batches)
        (only,) = Admin.raise_any(found)[partition]
        return only

    assert (await described(include_batches=False)).last_batches is None
    with_batches = await described(include_batches=True)
    assert with_batches.last_sequence == 6
    if is_apache(request):
        assert with_batches.last_batches is None
        return
    assert with_batches.last_batches == tuple(
        ProducerBatchDescription(
            base_sequence=number, last_sequence=number, last_offset=number, timestamp=FIRST_MS + number
        )
        for number in range(2, 7)
    )


@pytest.mark.xdist_group("client-cluster")
async def test_each_replica_tells_its_own_segments(three_nodes: ClusterProcesses, unique: str) -> None:
    servers = three_nodes.bootstrap_servers
    partition = TopicPartition(unique, 0)
    async with Admin(servers) as admin:
        Admin.raise_any(await admin.create_topics([NewTopic(name=unique, assignment={0: (1, 2, 3)})]))
        await produce(servers, unique, 5)

        async def all_have_all() -> None:
            found = await segments_of(admin, partition)
            assert set(found) == {1, 2, 3}
            for replica in found.values():
                assert isinstance(replica, ReplicaSegments)
                assert [(each.base_offset, each.next_offset) for each in replica.segments] == [(0, 5)]

        await eventually(all_have_all)
        try:
            await asyncio.to_thread(three_nodes.kill, 1)

            async def one_is_silent() -> None:
                found = await segments_of(admin, partition)
                assert isinstance(found[1], ApiError)
                assert found[1].code in {ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT}
                assert isinstance(found[2], ReplicaSegments)
                assert isinstance(found[3], ReplicaSegments)

            await eventually(one_is_silent)
        finally:
            await asyncio.to_thread(three_nodes.heal)
