"""What followers do: begin, catch up, keep up with the start of the log, and go on when one partition is in trouble."""

from __future__ import annotations

import asyncio
import errno
import logging
from pathlib import Path
from typing import Any

import pytest
from support.raw_client import RawClient, produce_request
from support.replica_cluster import ReplicaCluster, read_values, replica_cluster

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.records.record import encode_batch
from tidelog.server.replicas.flusher import ReplicaFlusher
from tidelog.server.replicas.replica import Replica
from tidelog.storage.directories.checkpoints import read_offset_checkpoint
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.files.local_filesystem import LocalFileSystem

KEEPS_FETCHING = {"replica_fetch_wait_max_ms": "50"}


async def delete_records(client: RawClient, offset: int, timeout_ms: int = 5000) -> Any:
    topic = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])
    response = await client.ask(DeleteRecordsRequest(topics=[topic], timeout_ms=timeout_ms))
    (answer,) = response.topics[0].partitions
    return answer


def bounds(cluster: ReplicaCluster, number: int) -> tuple[int, int, int]:
    log = cluster.replica(number).log
    return log.log_start_offset, log.high_watermark, log.log_end_offset


async def test_followers_hear_of_the_start_of_the_log(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2, **KEEPS_FETCHING) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            for number in range(5):
                assert (await client.produce("t", b"%d" % number)).error_code == 0
            deleted = await delete_records(client, 3)
            assert (deleted.error_code, deleted.low_watermark) == (0, 3)
            # Who was told that they are gone may rely on it, whoever leads next.
            assert bounds(cluster, 2) == (3, 5, 5)
        await cluster.kill(1)
        cluster.fence(1)
        async with cluster.client(2) as client:
            answer = await delete_records(client, 4)
            assert (answer.error_code, answer.low_watermark) == (0, 4)


async def test_deleting_records_waits_for_all_that_are_in_sync_and_not_longer_than_allowed(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2, **KEEPS_FETCHING) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            for number in range(5):
                assert (await client.produce("t", b"%d" % number)).error_code == 0
            cluster.cut(follower=2, leader=1)
            late = await delete_records(client, 2, timeout_ms=100)
            assert (late.error_code, late.low_watermark) == (ErrorCode.REQUEST_TIMED_OUT, -1)
            waiting = asyncio.create_task(delete_records(client, 3))
            await cluster.until(lambda: len(cluster.replica(1).deletion_waits) > 0, "the wait")
            cluster.fence(2)
            answer = await waiting
            assert (answer.error_code, answer.low_watermark) == (0, 3)


@pytest.mark.parametrize("start", [4, 5], ids=["between two batches", "inside of a batch"])
async def test_a_follower_that_was_away_too_long_begins_where_the_leader_does(tmp_path: Path, start: int) -> None:
    async with replica_cluster(tmp_path, 2, **KEEPS_FETCHING) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"0")).error_code == 0
            await cluster.kill(2)
            cluster.fence(2)
            for _ in range(3):
                assert (await client.produce("t", b"x", b"y", b"z")).error_code == 0
            assert (await delete_records(client, start)).error_code == 0
            assert bounds(cluster, 1) == (start, 10, 10)
            await cluster.start(2)
            await cluster.until(lambda: bounds(cluster, 2) == (start, 10, 10), "the rest of the log")
            await cluster.until(lambda: set(cluster.partition().isr) == {1, 2}, "the return of the follower")
            assert (await client.produce("t", b"more")).error_code == 0
        await cluster.kill(1)
        cluster.fence(1)
        assert cluster.partition().leader == 2
        assert cluster.end(2) == 11


async def test_a_follower_gets_more_than_fits_into_one_answer(tmp_path: Path) -> None:
    async with replica_cluster(
        tmp_path, 2, replica_fetch_max_bytes="1000", replica_fetch_response_max_bytes="1500", **KEEPS_FETCHING
    ) as cluster:
        cluster.create_topic("t", [1, 2], [1, 2], [1, 2])
        await cluster.kill(2)
        async with cluster.client(1) as client:
            for partition in (0, 1, 2):
                for number in range(10):
                    # One of them is larger than everything that is allowed.
                    size = 5000 if number == 5 else 300
                    answer = await client.produce("t", b"%d" % number * size, partition=partition, acks=1)
                    assert answer.error_code == 0
        await cluster.restart_unnoticed(2)

        def complete() -> bool:
            return all(cluster.replica(2, "t", number).log.log_end_offset == 10 for number in (0, 1, 2))

        await cluster.until(complete, "all records of all partitions")
        for partition in (0, 1, 2):
            assert cluster.bytes_of(1, "t", partition) == cluster.bytes_of(2, "t", partition)


async def test_one_partition_in_trouble_does_not_stop_the_others(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2, **KEEPS_FETCHING) as cluster:
        cluster.create_topic("t", [1, 2])
        # The follower knows of the topic "u" and asks for it; its leader has not heard of it yet.
        cluster.members[1].hold_metadata()
        cluster.create_topic("u", [1, 2])
        async with cluster.client(1) as client:
            for number in range(3):
                assert (await client.produce("t", b"%d" % number)).error_code == 0
            assert cluster.end(2, "t") == 3
            cluster.members[1].release_metadata()
            assert (await client.produce("u", b"a")).error_code == 0
            assert cluster.end(2, "u") == 1


async def test_records_that_were_damaged_on_the_way_are_not_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with replica_cluster(tmp_path, 2, **KEEPS_FETCHING) as cluster:
        cluster.create_topic("t", [1, 2], [1, 2])
        await cluster.kill(2)
        async with cluster.client(1) as client:
            for partition in (0, 1):
                assert (await client.produce("t", b"payload", partition=partition, acks=1)).error_code == 0
        (segment,) = cluster.replica(1).log.segments
        path = next(path for path in segment.paths if path.endswith(".log"))
        intact = Path(path).read_bytes()
        Path(path).write_bytes(intact.replace(b"payload", b"Payload"))
        with caplog.at_level(logging.ERROR):
            await cluster.restart_unnoticed(2)
            await cluster.until(lambda: cluster.replica(2, "t", 1).log.log_end_offset == 1, "the other partition")
            await cluster.until(lambda: "ignoring an answer" in caplog.text, "a line in the log")
        assert cluster.replica(2, "t", 0).log.log_end_offset == 0
        Path(path).write_bytes(intact)
        await cluster.until(lambda: cluster.replica(2, "t", 0).log.log_end_offset == 1, "the intact record")


async def test_a_deleted_topic_goes_from_all_brokers_and_can_come_back(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"of the first")).error_code == 0
            waiting = client.send(produce_request("t", encode_batch([(0, None, b"too late", ())])), 11)
            cluster.delete_topic("t")
            for member in cluster.members.values():
                assert member.node.replicas.get("t", 0) is None
                assert not len(member.node.replication.fetchers)
            answer = (await client.receive(waiting)).responses[0].partition_responses[0]
            assert answer.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            cluster.create_topic("t", [1, 2, 3])
            assert (await client.produce("t", b"of the second")).base_offset == 0
            assert await read_values(client, cluster) == [b"of the second"]


async def test_followers_write_down_and_recover_their_watermark(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2, **KEEPS_FETCHING) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            for number in range(4):
                assert (await client.produce("t", b"%d" % number)).error_code == 0
        await cluster.until(lambda: cluster.watermark(2) == 4, "the watermark at the follower")
        (directory,) = cluster.members[2].node.replicas.directories
        directory.checkpoints.write_high_watermarks()
        path = f"{directory.path}/replication-offset-checkpoint"
        assert read_offset_checkpoint(LocalFileSystem(), path) == {TopicPartition("t", 0): 4}
        await cluster.kill(2)
        await cluster.kill(1)
        await cluster.restart_unnoticed(2)
        assert bounds(cluster, 2) == (0, 4, 4)


async def test_what_flush_messages_asks_for_is_on_the_device_before_the_leader_counts_on_it(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2, **KEEPS_FETCHING) as cluster:
        cluster.create_topic("t", [1, 2], flush_messages="1")
        async with cluster.client(1) as client:
            for number in range(3):
                assert (await client.produce("t", b"%d" % number)).error_code == 0
                assert cluster.replica(2).log.recovery_point == number + 1


async def test_a_flush_that_lacked_descriptors_is_repeated_before_the_leader_counts_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_short = True
    failures = 0
    flush = ReplicaFlusher.flush

    async def scarce_flush(self: ReplicaFlusher, replica: Replica, *, everything: bool = True) -> None:
        nonlocal failures
        if is_short and replica is follower:
            failures += 1
            raise StorageFailure("log of t-0", OSError(errno.EMFILE, "Too many open files"))
        await flush(self, replica, everything=everything)

    async with replica_cluster(tmp_path, 2, **KEEPS_FETCHING) as cluster:
        cluster.create_topic("t", [1, 2], flush_messages="1")
        follower = cluster.replica(2)
        monkeypatch.setattr(ReplicaFlusher, "flush", scarce_flush)
        async with cluster.client(1) as client:
            sent = asyncio.create_task(client.produce("t", b"a"))
            await cluster.until(lambda: failures > 2, "flushes that are tried again")
            assert follower.log.log_end_offset == 1
            assert bounds(cluster, 1) == (0, 0, 1), "a power failure of the follower would lose a committed record"
            is_short = False
            assert (await sent).error_code == 0
        assert follower.log.recovery_point == 1


async def test_a_fetcher_ends_when_there_is_nobody_left_to_follow(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        fetchers = {number: member.node.replication.fetchers for number, member in cluster.members.items()}
        assert [len(fetchers[number]) for number in (1, 2, 3)] == [0, 1, 1]
        await cluster.kill(1)
        cluster.fence(1)
        assert [len(fetchers[number]) for number in (2, 3)] == [0, 1]
        cluster.fence(2)
        cluster.fence(3)
        assert [len(fetchers[number]) for number in (2, 3)] == [0, 0]


async def test_a_leader_that_restarts_on_another_address_is_found_again(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2, **KEEPS_FETCHING) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
        await cluster.kill(1)
        cluster.move(1)
        await cluster.start(1)
        # Its restart cost it the leadership.
        assert cluster.partition().leader == 2
        await cluster.until(lambda: set(cluster.partition().isr) == {1, 2}, "the return of the old leader")
        await cluster.kill(2)
        cluster.move(2)
        await cluster.start(2)
        assert cluster.partition().leader == 1
        await cluster.until(lambda: set(cluster.partition().isr) == {1, 2}, "the return of the other one")
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"b")).error_code == 0
