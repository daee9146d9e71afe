"""Who may read what: consumers from leaders and followers, followers from leaders, and nobody who only pretends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.raw_client import RawClient
from support.replica_cluster import ReplicaCluster, fetch, replica_cluster, values

from tidelog.metadata.image import BrokerImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.partition.progress import PartitionProgress
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from tidelog.server.fetching.nearby import THE_LEADER, nearby_replica

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
NEARBY = {"replica_selector_class": SELECTOR, "replica_fetch_wait_max_ms": "50"}


def claims(cluster: ReplicaCluster, broker: int, epoch: int | None = None) -> ReplicaState:
    known = cluster.image.brokers[broker].epoch
    return ReplicaState(replica_id=broker, replica_epoch=known if epoch is None else epoch)


async def with_uncommitted_record(cluster: ReplicaCluster, client: RawClient) -> None:
    """ "a" is committed, "b" is not: the follower cannot get it."""
    assert (await client.produce("t", b"a")).error_code == 0
    cluster.cut(follower=2, leader=1)
    assert (await client.produce("t", b"b", acks=1)).error_code == 0
    assert cluster.watermark(1) == 1


async def test_only_followers_read_what_is_not_committed(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            await with_uncommitted_record(cluster, client)
            epoch: dict[str, Any] = {"current_leader_epoch": 0}
            assert values(await fetch(client, cluster)) == [b"a"]
            follower = await fetch(client, cluster, replica_state=claims(cluster, 2), **epoch)
            assert values(follower) == [b"a", b"b"]


@pytest.mark.parametrize(
    ("broker", "epoch", "leader_epoch", "expected"),
    [
        # Epochs that are wrong, or unknown here.
        (2, 10_000, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (2, 0, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (2, -1, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        # A broker that has no replica of the partition, with and without a leader epoch.
        (3, None, 0, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (3, None, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        # The leader itself does not follow.
        (1, None, 0, ErrorCode.UNKNOWN_LEADER_EPOCH),
        # Leader epochs of yesterday and of tomorrow.
        (2, None, 7, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
async def test_nobody_else_reads_as_a_follower(
    tmp_path: Path, broker: int, epoch: int | None, leader_epoch: int, expected: ErrorCode
) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            await with_uncommitted_record(cluster, client)
            progress = cluster.replica(1).progress
            assert progress is not None
            before = repr(progress.follower(2))
            refused = await fetch(
                client, cluster, 2, replica_state=claims(cluster, broker, epoch), current_leader_epoch=leader_epoch
            )
            assert (refused.error_code, bytes(refused.records)) == (expected, b"")
            # And nothing is believed about the progress of anybody.
            assert (repr(progress.follower(2)), cluster.watermark(1)) == (before, 1)


async def test_a_broker_that_is_not_registered_and_versions_without_epochs_are_refused(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            await with_uncommitted_record(cluster, client)
            unknown = await fetch(client, cluster, 1, replica_state=ReplicaState(replica_id=77, replica_epoch=5))
            assert unknown.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            for version in (4, 11, 12, 14):
                old = await fetch(client, cluster, 1, version=version, replica_id=2)
                assert old.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_followers_wait_for_the_end_of_the_log_and_consumers_for_the_watermark(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2])
        async with (
            cluster.client(1) as producer,
            cluster.client(1) as consumer,
            cluster.client(1) as follower,
        ):
            cluster.cut(follower=2, leader=1)
            reading = asyncio.create_task(fetch(consumer, cluster, max_wait_ms=10_000))
            following = asyncio.create_task(
                fetch(follower, cluster, replica_state=claims(cluster, 2), current_leader_epoch=0, max_wait_ms=10_000)
            )
            replica = cluster.replica(1)
            await cluster.until(lambda: len(replica.fetch_waits) == len(replica.follower_waits) == 1, "both waits")
            assert (await producer.produce("t", b"a", acks=1)).error_code == 0
            assert values(await following) == [b"a"]
            assert not reading.done()
            # The next fetch tells that the follower has it.
            again = await fetch(follower, cluster, 1, replica_state=claims(cluster, 2), current_leader_epoch=0)
            assert (again.high_watermark, bytes(again.records)) == (1, b"")
            assert values(await reading) == [b"a"]


async def test_consumers_are_sent_to_the_replica_in_their_rack(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3, racks=("left", "middle", "right"), **NEARBY) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            assert values(await fetch(client, cluster)) == [b"a"]
            assert values(await fetch(client, cluster, rack_id="left")) == [b"a"]
            assert values(await fetch(client, cluster, rack_id="elsewhere")) == [b"a"]
            sent_away = await fetch(client, cluster, rack_id="right")
            assert (sent_away.error_code, sent_away.preferred_read_replica) == (0, 3)
            assert (bytes(sent_away.records), sent_away.high_watermark) == (b"", 1)
        await cluster.until(lambda: cluster.watermark(3) == 1, "the watermark at the follower")
        async with cluster.client(3) as client:
            nearby = await fetch(client, cluster, rack_id="right", current_leader_epoch=0)
            assert (values(nearby), nearby.preferred_read_replica) == ([b"a"], -1)
            # Before version 11 there are no racks, and only the leader is read from.
            old = await fetch(client, cluster, version=10)
            assert old.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        cluster.fence(3)
        async with cluster.client(1) as client:
            assert values(await fetch(client, cluster, rack_id="right")) == [b"a"]


async def test_without_a_selector_everybody_reads_from_the_leader(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2, racks=("left", "right")) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            assert values(await fetch(client, cluster, rack_id="right")) == [b"a"]


async def test_a_consumer_at_a_follower_sees_what_the_follower_knows_to_be_committed(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as producer, cluster.client(2) as consumer:
            assert (await producer.produce("t", b"a")).error_code == 0
            assert (cluster.end(2), cluster.watermark(2)) == (1, 0)
            assert values(await fetch(consumer, cluster)) == []
            # Above its own end it cannot say anything; the consumer goes back to the leader with this error.
            beyond = await fetch(consumer, cluster, 5)
            assert beyond.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            waiting = asyncio.create_task(fetch(consumer, cluster, max_wait_ms=10_000))
            await cluster.until(lambda: len(cluster.replica(2).fetch_waits) == 1, "the wait at the follower")
            assert (await producer.produce("t", b"b")).error_code == 0
            # With the next records comes the watermark of those before.
            assert values(await waiting) == [b"a"]
            fenced = await fetch(consumer, cluster, current_leader_epoch=9)
            assert fenced.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_followers_can_use_sessions(tmp_path: Path) -> None:
    """Ours do not, but the protocol allows it, and the progress must be read from such fetches too."""
    async with replica_cluster(tmp_path, 2) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            cluster.cut(follower=2, leader=1)
            assert (await client.produce("t", b"b", acks=1)).error_code == 0
            first = await client.ask(_session_fetch(cluster, 0, 0, offset=1))
            assert first.session_id > 0
            assert cluster.watermark(1) == 1
            await client.ask(_session_fetch(cluster, first.session_id, 1, offset=2))
            assert cluster.watermark(1) == 2


def _session_fetch(cluster: ReplicaCluster, session_id: int, session_epoch: int, offset: int) -> FetchRequest:
    wanted = FetchPartition(
        partition=0, current_leader_epoch=0, fetch_offset=offset, last_fetched_epoch=0, partition_max_bytes=1 << 20
    )
    return FetchRequest(
        replica_state=claims(cluster, 2),
        min_bytes=1,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[FetchTopic(topic_id=cluster.image.topics["t"].id, partitions=[wanted])],
    )


def follower_at(progress: PartitionProgress, broker: int, end: int, start: int = 0, at_ms: int = 5) -> None:
    progress.record_fetch(broker, fetch_offset=end, log_start_offset=start, now_ms=at_ms)


def choose(rack: str, offset: int = 5, **changes: Any) -> int:
    progress = PartitionProgress(
        local_id=1, replicas=(1, 2, 3, 4), in_sync=(1, 2, 3), log_end_offset=10, high_watermark=5, now_ms=0
    )
    follower_at(progress, 2, changes.get("end_of_2", 10), changes.get("start_of_2", 0))
    follower_at(progress, 3, changes.get("end_of_3", 10))
    follower_at(progress, 4, 10)
    racks = {1: "left", 2: "right", 3: "right", 4: "far"}
    fenced = changes.get("fenced", ())

    def broker(number: int) -> BrokerImage:
        return BrokerImage(
            id=number, epoch=1, incarnation_id=Uuid(bytes(16)), rack=racks[number], fenced=number in fenced
        )

    return nearby_replica(progress, leader_rack="left", reader_rack=rack, fetch_offset=offset, broker=broker)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (choose("left"), THE_LEADER),
        (choose("nowhere"), THE_LEADER),
        (choose(""), THE_LEADER),
        # Not in sync.
        (choose("far"), THE_LEADER),
        # Equal ones: the smaller number; otherwise the one that is further.
        (choose("right"), 2),
        (choose("right", end_of_2=9), 3),
        (choose("right", fenced=(2,)), 3),
        (choose("right", fenced=(2, 3)), THE_LEADER),
        # Those that do not have the offset, any more or yet.
        (choose("right", offset=5, start_of_2=6), 3),
        (choose("right", offset=10, end_of_2=9, end_of_3=9), THE_LEADER),
    ],
)
def test_the_nearby_replica(chosen: int, expected: int) -> None:
    assert chosen == expected
