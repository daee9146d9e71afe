"""In-sync sets shrink and grow, and a leader never commits on the strength of an answer that it did not get."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from support.processes import HANG_SECONDS
from support.raw_client import RawClient
from support.replica_cluster import ReplicaCluster, fetch, read_values, replica_cluster, values

from tidelog.controller.decision import Decision
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

QUICK = {"replica_lag_time_max_ms": "400", "replica_fetch_wait_max_ms": "100"}


def change_a_property(cluster: ReplicaCluster) -> None:
    """Something that makes every broker look at the topic again without changing the partition."""
    record = ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="123456789")
    cluster.decide(lambda image: Decision(records=(record,), reply=None))


async def test_scenario_5_a_follower_that_stops_fetching_leaves_and_comes_back(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3, **QUICK) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            cluster.cut(follower=3, leader=1)
            # Committed only once the set is smaller: the producer waits for that.
            assert (await client.produce("t", b"b")).error_code == 0
            assert set(cluster.partition().isr) == {1, 2}
            assert cluster.end(3) == 1
            cluster.mend(follower=3, leader=1)
            await cluster.until(lambda: set(cluster.partition().isr) == {1, 2, 3}, "the return of the follower")
            assert cluster.end(3) == 2
            assert cluster.partition().leader_epoch == 0


async def test_a_follower_that_has_everything_stays_even_if_nobody_produces(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2, **QUICK) as cluster:
        cluster.create_topic("t", [1, 2])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            await cluster.until(lambda: cluster.watermark(2) == 1, "the watermark at the follower")
            cluster.cut(follower=2, leader=1)
            progress = cluster.replica(1).progress
            assert progress is not None
            assert progress.lagging(1 << 60) == frozenset()


async def test_scenario_5_a_lost_reply_to_a_smaller_set_commits_nothing_early(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3, **QUICK) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client, cluster.client(1) as reader:
            assert (await client.produce("t", b"a")).error_code == 0
            leader = cluster.members[1]
            leader.line.lose_replies = True
            leader.hold_metadata()
            cluster.cut(follower=3, leader=1)
            waiting = asyncio.create_task(client.produce("t", b"b"))
            await cluster.until(lambda: set(cluster.partition().isr) == {1, 2}, "the smaller set")
            # The controller has granted it, and the leader asks again and again; but it does not know.
            asked = len(leader.line.asked)
            await cluster.until(lambda: len(leader.line.asked) > asked + 2, "that the leader asks again")
            assert not waiting.done()
            assert (cluster.end(2), cluster.watermark(1)) == (2, 1)
            assert await read_values(reader, cluster) == [b"a"]
            leader.release_metadata()
            assert (await waiting).error_code == 0
            assert cluster.replica(1).proposal is None


async def test_scenario_5_a_lost_reply_to_a_larger_set_binds_the_leader(tmp_path: Path) -> None:
    """The controller may elect the new member at any time, so nothing is committed without it from then on."""
    async with replica_cluster(tmp_path, 3, **QUICK) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        cluster.cut(follower=3, leader=1)
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            assert set(cluster.partition().isr) == {1, 2}
            leader = cluster.members[1]
            leader.line.lose_replies = True
            leader.hold_metadata()
            cluster.mend(follower=3, leader=1)
            await cluster.until(lambda: set(cluster.partition().isr) == {1, 2, 3}, "the larger set")
            progress = cluster.replica(1).progress
            assert progress is not None
            assert (progress.in_sync, progress.maximal_in_sync) == (frozenset({1, 2}), frozenset({1, 2, 3}))
            cluster.cut(follower=3, leader=1)
            waiting = asyncio.create_task(client.produce("t", b"b"))
            await cluster.until(lambda: cluster.end(2) == 2, "the fetch of the other follower")
            # Whatever else makes the leader look at the partition, it may not forget what it has asked for.
            leader.node.image_follower.follow_topics(["t"])
            assert (waiting.done(), cluster.watermark(1)) == (False, 1)
            waiting.cancel()
        for number in (1, 2):
            await cluster.kill(number)
            cluster.fence(number)
        async with cluster.client(3) as client:
            assert await read_values(client, cluster) == [b"a"]


async def test_an_image_of_the_same_partition_epoch_does_not_decide_a_proposal(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3, **QUICK) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        cluster.cut(follower=3, leader=1)
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            leader = cluster.members[1]
            leader.line.lose_requests = True
            cluster.mend(follower=3, leader=1)
            await cluster.until(lambda: cluster.replica(1).proposal is not None, "a proposal")
            change_a_property(cluster)
            progress = cluster.replica(1).progress
            assert progress is not None
            assert progress.maximal_in_sync == {1, 2, 3}
            assert cluster.replica(1).proposal is not None
            leader.line.lose_requests = False
            await cluster.until(lambda: set(cluster.partition().isr) == {1, 2, 3}, "the larger set")


async def test_a_late_reply_does_not_undo_what_came_after_it(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3, **QUICK) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        cluster.cut(follower=3, leader=1)
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            leader = cluster.members[1]
            leader.line.hold_replies()
            cluster.mend(follower=3, leader=1)
            await cluster.until(lambda: set(cluster.partition().isr) == {1, 2, 3}, "the larger set")
            # The image has told already, and now broker 2 dies; then the reply to the first change comes.
            await cluster.kill(2)
            cluster.fence(2)
            leader.line.release_replies()
            assert (await client.produce("t", b"b")).error_code == 0
            progress = cluster.replica(1).progress
            assert progress is not None
            assert (progress.in_sync, set(cluster.partition().isr)) == (frozenset({1, 3}), {1, 3})


async def test_a_dead_follower_holds_nobody_up_once_the_controller_has_fenced_it(tmp_path: Path) -> None:
    # It does not fall behind by itself within any test.
    async with replica_cluster(tmp_path, 3, replica_lag_time_max_ms="3600000") as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
            await cluster.kill(3)
            waiting = asyncio.create_task(client.produce("t", b"b"))
            await cluster.until(lambda: cluster.end(2) == 2, "the fetch of the other follower")
            assert not waiting.done()
            cluster.fence(3)
            assert (await asyncio.wait_for(waiting, HANG_SECONDS)).error_code == 0


async def test_an_ineligible_follower_is_not_proposed(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2, **QUICK) as cluster:
        cluster.create_topic("t", [1, 2])
        cluster.fence(2)
        assert cluster.partition().isr == (1,)
        asked = len(cluster.members[1].line.asked)
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
        # It follows, but as long as it is fenced it does not come in.
        await cluster.until(lambda: cluster.watermark(2) == 1, "that the follower follows")
        assert len(cluster.members[1].line.asked) == asked
        cluster.unfence(2)
        await cluster.until(lambda: set(cluster.partition().isr) == {1, 2}, "the return of the follower")


async def test_a_refusal_for_certain_gives_the_leader_its_old_set_back(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 2, **QUICK) as cluster:
        cluster.create_topic("t", [1, 2])
        cluster.fence(2)
        leader = cluster.members[1]
        # The leader still believes that broker 2 is alive, the controller knows better.
        registration = cluster.image.brokers[2]
        cluster.unfence(2)
        await cluster.until(lambda: set(cluster.partition().isr) == {1, 2}, "the return of the follower")
        cluster.cut(follower=2, leader=1)
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
        assert cluster.partition().isr == (1,)
        leader.hold_metadata()
        stopping = BrokerRegistrationChangeRecord(
            broker_id=2, broker_epoch=registration.epoch, in_controlled_shutdown=1
        )
        cluster.decide(lambda image: Decision(records=(stopping,), reply=None))
        cluster.mend(follower=2, leader=1)
        asked = len(leader.line.asked)
        await cluster.until(lambda: len(leader.line.asked) > asked + 1, "that the leader asks, and asks again")
        assert cluster.partition().isr == (1,)
        # Withdrawn each time: what only the leader has is committed by the leader alone.
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"b")).error_code == 0


async def test_a_new_leader_tells_no_end_before_it_knows_what_was_committed(tmp_path: Path) -> None:
    """KIP-207: the end that a consumer is told never goes back."""
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            assert (await client.produce("t", b"a")).error_code == 0
        await cluster.kill(1)
        cluster.cut(follower=3, leader=2)
        cluster.fence(1)
        # Broker 2 has the record, but has not heard of its commit, and broker 3 does not fetch.
        assert (cluster.end(2), cluster.watermark(2)) == (1, 0)
        async with cluster.client(2) as client:
            for version, expected in ((6, ErrorCode.OFFSET_NOT_AVAILABLE), (4, ErrorCode.LEADER_NOT_AVAILABLE)):
                assert await _latest(client, version) == (expected, -1)
            cluster.mend(follower=3, leader=2)
            await cluster.until(lambda: cluster.watermark(2) == 1, "the commit")
            assert await _latest(client, 6) == (0, 1)


async def _latest(client: RawClient, version: int) -> tuple[int, int]:
    asked = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    response = await client.ask(request, version)
    (answer,) = response.topics[0].partitions
    return answer.error_code, answer.offset


async def test_state_changes_are_logged_as_kafka_logs_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="state.change.logger")
    async with replica_cluster(tmp_path, 3) as cluster:
        cluster.create_topic("my-topic", [1, 3, 2])
        async with cluster.client(1) as client:
            assert (await client.produce("my-topic", b"a")).error_code == 0
        await cluster.kill(1)
        cluster.fence(1)
    lines = [record.getMessage() for record in caplog.records if record.name == "state.change.logger"]
    assert lines == [
        "[Broker id=1] Leader my-topic-0 starts at leader epoch 0 from offset 0 with high watermark 0 ISR [1,3,2] "
        "addingReplicas [] removingReplicas []. Previous leader epoch was -1.",
        "[Broker id=2] Follower my-topic-0 starts at leader epoch 0 from offset 0 with high watermark 0. "
        "Previous leader epoch was -1.",
        "[Broker id=3] Follower my-topic-0 starts at leader epoch 0 from offset 0 with high watermark 0. "
        "Previous leader epoch was -1.",
        "[Broker id=2] Follower my-topic-0 starts at leader epoch 1 from offset 1 with high watermark 0. "
        "Previous leader epoch was 0.",
        "[Broker id=3] Leader my-topic-0 starts at leader epoch 1 from offset 1 with high watermark 0 ISR [3,2] "
        "addingReplicas [] removingReplicas []. Previous leader epoch was 0.",
    ]


async def test_consumers_see_the_same_on_every_replica(tmp_path: Path) -> None:
    async with replica_cluster(tmp_path, 3, replica_fetch_wait_max_ms="50") as cluster:
        cluster.create_topic("t", [1, 2, 3])
        async with cluster.client(1) as client:
            for number in range(20):
                assert (await client.produce("t", b"%d" % number)).error_code == 0
        await cluster.until(lambda: cluster.watermark(2) == cluster.watermark(3) == 20, "the watermark")
        for number in (2, 3):
            async with cluster.client(number) as client:
                assert values(await fetch(client, cluster)) == [b"%d" % each for each in range(20)]
