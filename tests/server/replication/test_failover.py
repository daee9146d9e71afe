"""Leaders that die, come back or are cut off: nothing that was committed is lost, and all replicas agree in the end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.raw_client import RawClient, produce_request
from support.replica_cluster import ReplicaCluster, fetch, read_values, replica_cluster, values

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.record import encode_batch


def batch(*contents: bytes, sequence: int = -1, producer_id: int = -1) -> bytes:
    epoch = 0 if producer_id >= 0 else -1
    return encode_batch(
        [(1_700_000_000_000, None, value, ()) for value in contents],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


async def produce(client: RawClient, value: bytes, *, acks: int = -1, timeout_ms: int = 10_000) -> Any:
    data = PartitionProduceData(index=0, records=batch(value))
    request = ProduceRequest(
        acks=acks, timeout_ms=timeout_ms, topic_data=[TopicProduceData(name="t", partition_data=[data])]
    )
    response = await client.ask(request, 11)
    return response.responses[0].partition_responses[0]


async def agreed(cluster: ReplicaCluster, *numbers: int) -> bytes:
    """Wait until these replicas have the same records; those records."""

    def same() -> bool:
        return len({cluster.bytes_of(number) for number in numbers}) == 1

    await cluster.until(same, f"agreement of {numbers}")
    return cluster.bytes_of(numbers[0])


@pytest.mark.parametrize("leader_dies", ["while the follower is away", "after the follower is back"])
async def test_scenario_1_a_follower_that_restarts_without_the_raised_watermark_loses_nothing(
    tmp_path: Path, leader_dies: str
) -> None:
    async with replica_cluster(tmp_path, 2) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            assert (await produce(client, b"a")).error_code == 0
        # The leader knows that it is committed; the follower has the record but has not been told.
        assert (cluster.watermark(1), cluster.end(2), cluster.watermark(2)) == (1, 1, 0)
        await cluster.kill(2)
        if leader_dies == "while the follower is away":
            await cluster.kill(1)
            await cluster.restart_unnoticed(2)
        else:
            await cluster.restart_unnoticed(2)
            cluster.cut(follower=2, leader=1)
            await cluster.kill(1)
        assert cluster.end(2) == 1
        cluster.fence(1)
        assert cluster.partition().leader == 2
        async with cluster.client(2) as client:
            assert await read_values(client, cluster) == [b"a"]
            assert (await produce(client, b"b")).base_offset == 1
        await cluster.start(1)
        await agreed(cluster, 1, 2)


async def test_scenario_2_an_old_leader_cuts_exactly_what_the_new_one_never_had(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            for value in (b"a", b"b"):
                assert (await produce(client, value)).error_code == 0
            cluster.cut(follower=2, leader=1)
            cluster.cut(follower=3, leader=1)
            for value in (b"lost 1", b"lost 2", b"lost 3"):
                assert (await produce(client, value, acks=1)).error_code == 0
        shared = cluster.bytes_of(2)
        assert cluster.bytes_of(1)[: len(shared)] == shared
        assert cluster.end(1) == 5
        await cluster.kill(1)
        cluster.fence(1)
        async with cluster.client(2) as client:
            assert (await produce(client, b"c")).base_offset == 2
        await cluster.start(1)
        records = await agreed(cluster, 1, 2, 3)
        assert records[: len(shared)] == shared
        assert b"lost" not in records
        await cluster.until(lambda: set(cluster.partition().isr) == {1, 2, 3}, "the old leader's return")
        async with cluster.client(2) as client:
            assert await read_values(client, cluster) == [b"a", b"b", b"c"]


async def test_scenario_3_two_fast_failovers_in_a_row(tmp_path: Path) -> None:
    """Each leader writes something of its own at the same offset, and only the last one's counts (KIP-279)."""
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            assert (await produce(client, b"a")).error_code == 0
            for follower in (2, 3):
                cluster.cut(follower, leader=1)
            await produce(client, b"first leader", acks=1)
        await cluster.kill(1)
        cluster.cut(follower=3, leader=2)
        cluster.fence(1)
        async with cluster.client(2) as client:
            await produce(client, b"second leader", acks=1)
            await produce(client, b"second leader again", acks=1)
        await cluster.kill(2)
        cluster.fence(2)
        async with cluster.client(3) as client:
            assert (await produce(client, b"b")).base_offset == 1
        # Both come back at once; neither may take the other's records for the leader's.
        await cluster.start(2)
        await cluster.start(1)
        await agreed(cluster, 1, 2, 3)
        async with cluster.client(3) as client:
            assert await read_values(client, cluster) == [b"a", b"b"]
        assert [tuple(entry) for entry in cluster.replica(3).log.leader_epochs.entries] == [(0, 0), (2, 1)]
        for number in (1, 2):
            assert [tuple(entry) for entry in cluster.replica(number).log.leader_epochs.entries] == [(0, 0), (2, 1)]


async def test_scenario_4_a_partitioned_old_leader_commits_nothing(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as old, cluster.client(1) as reader, cluster.client(2) as new:
            assert (await produce(old, b"a")).error_code == 0
            cluster.isolate(1)
            cluster.fence(1)
            assert cluster.partition().leader == 2
            # It goes on in the belief that it leads.
            assert cluster.replica(1).is_leader
            assert (await produce(old, b"alone", acks=1)).error_code == 0
            timed_out = await produce(old, b"alone too", acks=-1, timeout_ms=200)
            assert timed_out.error_code == ErrorCode.REQUEST_TIMED_OUT
            assert await read_values(reader, cluster) == [b"a"]
            assert (await produce(new, b"b")).error_code == 0
            # Somebody still waits there when it is healed.
            waiting = asyncio.create_task(produce(old, b"alone as well", acks=-1))
            await cluster.until(lambda: len(cluster.replica(1).commit_waits) > 0, "a producer that waits")
            assert await read_values(reader, cluster) == [b"a"]
            cluster.heal(1)
            refused = await waiting
            assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (2, 1)
            cluster.unfence(1)
            records = await agreed(cluster, 1, 2, 3)
            assert b"alone" not in records
            assert await read_values(new, cluster) == [b"a", b"b"]


async def test_scenario_6_three_replicas_survive_two_failures(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        expected: list[bytes | None] = []
        for leader in (1, 2, 3):
            async with cluster.client(leader) as client:
                for number in range(3):
                    value = b"%d of %d" % (number, leader)
                    assert (await produce(client, value)).error_code == 0
                    expected.append(value)
                assert await read_values(client, cluster) == expected
            if leader != 3:
                await cluster.kill(leader)
                cluster.fence(leader)
        for number in (1, 2):
            await cluster.start(number)
        await agreed(cluster, 1, 2, 3)


async def test_scenario_6_with_too_few_in_sync_replicas_nothing_is_half_done(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3], min_insync_replicas="2")
        async with cluster.client(1) as client:
            assert (await produce(client, b"a")).error_code == 0
            for number in (2, 3):
                await cluster.kill(number)
                cluster.fence(number)
            refused = await produce(client, b"b")
            assert refused.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
            assert "min.insync.replicas" in refused.error_message
            assert cluster.end(1) == 1
            # Who asks for less gets less: the record is written, and nobody sees it before there are two again.
            assert (await produce(client, b"c", acks=1)).error_code == 0
            assert await read_values(client, cluster) == [b"a"]
            await cluster.start(2)
            await cluster.until(lambda: cluster.watermark(1) == 2, "the commit of the record")
            assert await read_values(client, cluster) == [b"a", b"c"]


async def test_losing_replicas_while_a_producer_waits_is_told_when_its_time_is_up(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2) as cluster:
        cluster.create_topic("t", [1, 2], min_insync_replicas="2")
        async with cluster.client(1) as client:
            assert (await produce(client, b"a")).error_code == 0
            cluster.cut(follower=2, leader=1)
            waiting = asyncio.create_task(produce(client, b"b", timeout_ms=500))
            await cluster.until(lambda: cluster.end(1) == 2, "the append")
            cluster.fence(2)
            assert (await waiting).error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


async def test_scenario_7_a_leader_that_stops_redirects_its_clients(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            assert (await produce(client, b"a")).error_code == 0
            cluster.begin_shutdown(1)
            response = await client.ask(produce_request("t", batch(b"b")), 11)
            answer = response.responses[0].partition_responses[0]
            assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 1)
            (endpoint,) = response.node_endpoints
            assert (endpoint.node_id, f"{endpoint.host}:{endpoint.port}") == (2, cluster.address(2))
            # What it has it still serves, to readers who know the new epoch or none.
            assert await read_values(client, cluster) == [b"a"]
            fenced = await fetch(client, cluster, current_leader_epoch=0)
            assert (fenced.error_code, fenced.current_leader.leader_id) == (ErrorCode.FENCED_LEADER_EPOCH, 2)
        async with cluster.client(2) as client:
            assert (await produce(client, b"b")).base_offset == 1
        # It goes on following until it is gone, but it does not count any more.
        await agreed(cluster, 1, 2, 3)
        assert set(cluster.partition().isr) == {2, 3}


async def test_scenario_8_unclean_elections_are_off_by_default(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2) as cluster:
        cluster.create_topic("t", [1, 2])
        await cluster.kill(2)
        cluster.fence(2)
        async with cluster.client(1) as client:
            assert (await produce(client, b"a")).error_code == 0
        await cluster.kill(1)
        cluster.fence(1)
        await cluster.start(2)
        assert cluster.partition().leader == -1
        async with cluster.client(2) as client:
            assert (await produce(client, b"b")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        await cluster.start(1)
        await agreed(cluster, 1, 2)
        async with cluster.client(1) as client:
            assert await read_values(client, cluster) == [b"a"]


async def test_scenario_8_after_an_unclean_election_producers_and_consumers_are_told(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2) as cluster:
        cluster.create_topic("t", [1, 2], unclean_leader_election_enable="true")
        async with cluster.client(1) as client:
            first = await client.produce_batch("t", batch(b"a", sequence=0, producer_id=7))
            assert (first.error_code, first.base_offset) == (0, 0)
            await cluster.kill(2)
            cluster.fence(2)
            second = await client.produce_batch("t", batch(b"b", sequence=1, producer_id=7))
            assert (second.error_code, second.base_offset) == (0, 1)
        await cluster.kill(1)
        await cluster.start(2)
        cluster.fence(1)
        assert (cluster.partition().leader, cluster.partition().isr) == (2, (2,))
        epoch = cluster.partition().leader_epoch
        async with cluster.client(2) as client:
            gap = await client.produce_batch("t", batch(b"c", sequence=2, producer_id=7))
            assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            # A consumer that has read offset 1 in epoch 0 learns that its history was cut at 1.
            parted = await fetch(client, cluster, 2, current_leader_epoch=epoch, last_fetched_epoch=0)
            assert (parted.diverging_epoch.epoch, parted.diverging_epoch.end_offset) == (0, 1)
            asked = OffsetForLeaderPartition(partition=0, current_leader_epoch=epoch, leader_epoch=0)
            response = await client.ask(
                OffsetForLeaderEpochRequest(replica_id=-1, topics=[OffsetForLeaderTopic(topic="t", partitions=[asked])])
            )
            (end,) = response.topics[0].partitions
            assert (end.leader_epoch, end.end_offset) == (0, 1)
            assert (await client.produce_batch("t", batch(b"d"))).base_offset == 1
        await cluster.start(1)
        records = await agreed(cluster, 1, 2)
        assert b"d" in records


@pytest.mark.parametrize("restarted", [False, True])
async def test_scenario_10_and_12_a_retry_at_the_new_leader_is_stored_once(tmp_path: Path, restarted: bool) -> None:
    async with replica_cluster(tmp_path, 2) as cluster:
        cluster.create_topic("t", [1, 2])
        sent = batch(b"a", b"b", sequence=0, producer_id=7)
        async with cluster.client(1) as client:
            assert (await client.produce_batch("t", sent)).base_offset == 0
        if restarted:
            await cluster.kill(2)
            await cluster.restart_unnoticed(2)
        await cluster.kill(1)
        cluster.fence(1)
        async with cluster.client(2) as client:
            again = await client.produce_batch("t", sent)
            assert (again.error_code, again.base_offset) == (0, 0)
            assert cluster.end(2) == 2
            following = await client.produce_batch("t", batch(b"c", sequence=2, producer_id=7))
            assert (following.error_code, following.base_offset) == (0, 2)
            assert await read_values(client, cluster) == [b"a", b"b", b"c"]


async def test_a_leader_that_is_elected_again_keeps_its_waiting_producers(tmp_path: Path) -> None:
    """A reassignment that ends bumps the leader epoch; nobody has lost anything by that."""
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            cluster.cut(follower=2, leader=1)
            waiting = asyncio.create_task(produce(client, b"a"))
            await cluster.until(lambda: cluster.end(3) == 1, "the fetch of the other follower")
            cluster.fence(2)
            assert (await waiting).error_code == 0
            assert values(await fetch(client, cluster)) == [b"a"]
