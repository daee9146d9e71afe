"""The named scenarios of replication, each played step by step on a simulated cluster of real brokers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest
from support.simulated_cluster import LAG_MS, SESSION_MS, SimulatedCluster, play

from tidelog.client.admin import Admin, ConfigAlteration, ConfigResource, ResourceType
from tidelog.client.errors import DeliveryFailed
from tidelog.client.producer.producer import Producer
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.protocol.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse
from tidelog.server.startup import RunningNode
from tidelog.simulation.workloads.transaction_workload import new_cluster

SESSION_SECONDS = SESSION_MS / 1000
LAG_SECONDS = LAG_MS / 1000


def numbered(prefix: str, count: int) -> list[bytes]:
    return [f"{prefix}{number}".encode() for number in range(count)]


async def has_watermark(cluster: SimulatedCluster, node: int, partition: TopicPartition, offset: int) -> None:
    await cluster.until(
        lambda: cluster.known_replica(node, partition).log.high_watermark == offset,
        f"node {node} has the high watermark {offset}",
    )


async def leave_follower_behind(cluster: SimulatedCluster, partition: TopicPartition) -> None:
    """Node 1 leads and has committed three records; node 2 has all of them, and knows only that two are committed."""
    async with cluster.producer() as producer:
        await cluster.send(producer, partition, *numbered("v", 2))
        await has_watermark(cluster, 2, partition, 2)
        sending = asyncio.ensure_future(cluster.send(producer, partition, b"v2"))
        # Its fetch has told the leader that it has the record; the answer with the watermark does not get through.
        await has_watermark(cluster, 1, partition, 3)
        cluster.silence(1, 2)
        assert await sending == [2]
    follower = cluster.known_replica(2, partition).log
    assert (follower.log_end_offset, follower.high_watermark) == (3, 2)


def test_scenario_1_a_follower_that_knows_a_lower_watermark_restarts_and_the_leader_dies() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2])
        await leave_follower_behind(cluster, partition)
        cluster.node(2).kill()
        cluster.node(1).kill()
        cluster.join()
        cluster.node(2).start()
        await asyncio.sleep(2 * SESSION_SECONDS)
        cluster.node(1).start()
        assert await cluster.converged([1, 2], partition) == numbered("v", 3)
        assert await cluster.read(partition, 3) == numbered("v", 3)

    play(script)


def test_scenario_1_a_follower_that_knows_a_lower_watermark_becomes_leader() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2])
        await leave_follower_behind(cluster, partition)
        cluster.node(1).kill()
        await cluster.until(lambda: cluster.leads(2, partition), "node 2 leads")
        assert cluster.values(2, partition) == numbered("v", 3)
        cluster.join()
        cluster.node(1).start()
        assert await cluster.converged([1, 2], partition) == numbered("v", 3)

    play(script)


async def isolate_leader(cluster: SimulatedCluster, leader: int, partition: TopicPartition, *extra: bytes) -> None:
    """Cut a leader off from all other nodes, and let it take records that only it has."""
    others = [number for number in range(1, len(cluster.world.nodes) + 1) if number != leader]
    async with cluster.producer(acks="1", **{"enable.idempotence": False}) as producer:
        # Before the cut it must know where to send to.
        await producer.start()
        await cluster.send(producer, partition, extra[0])
        cluster.cut(leader, *others)
        await cluster.send(producer, partition, *extra[1:])


def test_scenario_2_an_old_leader_cuts_exactly_what_the_new_one_never_had() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2, 3])
        async with cluster.producer() as producer:
            await cluster.send(producer, partition, *numbered("v", 5))
        await isolate_leader(cluster, 1, partition, b"v5", *numbered("lost", 3))
        assert cluster.values(1, partition) == [*numbered("v", 6), *numbered("lost", 3)]
        await cluster.until(lambda: cluster.leads(2, partition) or cluster.leads(3, partition), "somebody else leads")
        cluster.cut("client", 1)
        async with cluster.producer() as producer:
            await cluster.send(producer, partition, *numbered("new", 2))
        kept = [*numbered("v", 6), *numbered("new", 2)]
        assert await cluster.read(partition, 8) == kept
        cluster.join()
        assert await cluster.converged([1, 2, 3], partition) == kept

    play(script)


def test_scenario_3_two_fast_failovers_in_a_row() -> None:
    """KIP-279: two old leaders come back, each with records of an epoch that the last leader has never seen."""

    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2, 3])
        async with cluster.producer() as producer:
            await cluster.send(producer, partition, *numbered("v", 3))
        await isolate_leader(cluster, 1, partition, b"v3", *numbered("first", 2))
        await cluster.until(lambda: cluster.leads(2, partition), "node 2 leads")
        cluster.cut("client", 1)
        await cluster.until(lambda: cluster.in_sync(2, partition) == {2, 3}, "node 1 is out of sync")
        await isolate_leader(cluster, 2, partition, b"v4", *numbered("second", 3))
        await cluster.until(lambda: cluster.leads(3, partition), "node 3 leads")
        cluster.cut("client", 2)
        async with cluster.producer() as producer:
            await cluster.send(producer, partition, *numbered("third", 2))
        kept = [*numbered("v", 5), *numbered("third", 2)]
        assert await cluster.read(partition, 7) == kept
        assert cluster.values(1, partition)[4:] == numbered("first", 2)
        assert cluster.values(2, partition)[5:] == numbered("second", 3)
        cluster.join()
        assert await cluster.converged([1, 2, 3], partition) == kept

    play(script, nodes=5)


def test_scenario_4_a_partitioned_old_leader_goes_on_accepting_writes() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2, 3], min_insync_replicas="2")
        settings = {"delivery.timeout.ms": "20000", "request.timeout.ms": "3000"}
        async with (
            cluster.producer(**settings) as safe,
            cluster.producer(acks="1", **{"enable.idempotence": False}) as hasty,
        ):
            await cluster.send(safe, partition, b"v0")
            await cluster.send(hasty, partition, b"v1")
            await has_watermark(cluster, 3, partition, 2)
            cluster.cut(1, 2, 3)
            # The clients only reach the old leader.
            cluster.cut("client", 2, 3)
            await cluster.send(hasty, partition, *numbered("gone", 3))
            refused = asyncio.ensure_future(cluster.send(safe, partition, b"refused"))
            seen = asyncio.ensure_future(cluster.read(partition, 2))
            with pytest.raises(DeliveryFailed):
                await refused
            assert await seen == numbered("v", 2), "what is above the watermark is not for readers"
            assert cluster.values(1, partition)[2:5] == numbered("gone", 3)
        cluster.join()
        assert await cluster.converged([1, 2, 3], partition) == numbered("v", 2)
        assert await cluster.read(partition, 2) == numbered("v", 2)

    play(script)


def test_scenario_5_the_in_sync_set_shrinks_and_grows_back() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2, 3])
        async with cluster.producer() as producer:
            await cluster.send(producer, partition, b"v0")
            # It still sends heartbeats to a controller that is somebody else, or its own.
            cluster.silence(3, 1)
            began = cluster.world.loop.time()
            await cluster.send(producer, partition, b"v1")
            waited = cluster.world.loop.time() - began
            assert LAG_SECONDS * 0.5 <= waited <= LAG_SECONDS * 3 + 2 * SESSION_SECONDS
            assert cluster.in_sync(1, partition) == {1, 2}
            cluster.join()
            await cluster.until(lambda: cluster.in_sync(1, partition) == {1, 2, 3}, "node 3 is back")
            assert await cluster.converged([1, 2, 3], partition) == numbered("v", 2)

    play(script)


def test_scenario_5_a_lost_reply_of_the_controller_does_not_make_the_leader_commit_too_early() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        leader, follower = await beside_the_controller(cluster)
        controller = cluster.controller()
        partition = await cluster.create_topic("t", [leader, follower])
        async with cluster.producer() as producer:
            await cluster.send(producer, partition, b"v0")
            cluster.cut(leader, follower)
            sending = asyncio.ensure_future(cluster.send(producer, partition, b"v1"))
            replica = cluster.known_replica(leader, partition)
            await cluster.until(lambda: replica.proposal is not None, "the leader proposes a smaller set")
            # That is on its way to the controller; what becomes of it the leader does not hear.
            cluster.silence(controller, leader)
            deciding = cluster.node(controller).running
            assert deciding is not None
            await cluster.until(
                lambda: deciding.node.image.topics["t"].partitions[0].isr == (leader,),
                "the controller has recorded the smaller set",
            )
            await asyncio.sleep(2 * LAG_SECONDS)
            assert replica.log.high_watermark == 1
            assert cluster.in_sync(leader, partition) == {leader, follower}
            assert not sending.done()
            cluster.join()
            assert await sending == [1]
        assert await cluster.converged([leader, follower], partition) == numbered("v", 2)

    # Nobody is to be fenced while the controller cannot be heard.
    play(script, properties={"broker.session.timeout.ms": "30000"})


def test_scenario_6_n_replicas_survive_n_minus_1_failures() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2, 3])
        sent: list[bytes] = []
        async with cluster.producer() as producer:
            for victim in (1, 2):
                values = numbered(f"before-{victim}-", 3)
                await cluster.send(producer, partition, *values)
                sent += values
                cluster.node(victim).kill()
            values = numbered("after-", 3)
            await cluster.send(producer, partition, *values)
            sent += values
        assert await cluster.read(partition, 9) == sent
        for victim in (1, 2):
            cluster.node(victim).start()
        assert await cluster.converged([1, 2, 3], partition) == sent

    play(script, nodes=5)


def test_scenario_6_with_too_few_replicas_acks_all_is_refused_and_nothing_is_half_done() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2, 3], min_insync_replicas="2")
        async with cluster.producer(retries=0, **{"enable.idempotence": False}) as producer:
            await cluster.send(producer, partition, b"v0")
            for victim in (2, 3):
                cluster.node(victim).kill()
            await cluster.until(lambda: cluster.in_sync(1, partition) == {1}, "node 1 is alone")
            end = cluster.known_replica(1, partition).log.log_end_offset
            with pytest.raises(DeliveryFailed, match="NOT_ENOUGH_REPLICAS"):
                await cluster.send(producer, partition, b"refused")
            assert cluster.known_replica(1, partition).log.log_end_offset == end
            for victim in (2, 3):
                cluster.node(victim).start()
            await cluster.until(lambda: len(cluster.in_sync(1, partition)) > 1, "somebody is back")
            await cluster.send(producer, partition, b"v1")
        assert await cluster.converged([1, 2, 3], partition) == numbered("v", 2)

    play(script, nodes=5)


def test_scenario_7_a_clean_shutdown_moves_leadership_first() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        partition = await cluster.create_topic("t", [1, 2, 3])
        brokers = [node.running for node in cluster.world.nodes.values() if node.running is not None]
        sent: list[bytes] = []

        async def send_until(stop: asyncio.Event, producer: Producer) -> None:
            while not stop.is_set():
                value = b"%d" % len(sent)
                sent.append(value)
                await cluster.send(producer, partition, value)

        stop = asyncio.Event()
        async with cluster.producer() as producer:
            sending = asyncio.ensure_future(send_until(stop, producer))
            await cluster.until(lambda: len(sent) > 20, "records flow")
            gone = cluster.node(1).gone
            before = errors_told(brokers)
            cluster.node(1).stop()
            await cluster.until(lambda: not cluster.leads(1, partition), "node 1 has given up leading")
            assert not gone.is_set()
            await gone.wait()
            count = len(sent)
            await cluster.until(lambda: len(sent) > count + 20, "records flow again")
            stop.set()
            await sending
        assert cluster.world.trace.counts["node-stopped"] == 1, "the shutdown was not cut short"
        told = errors_told(brokers) - before
        assert set(told) <= {"NOT_LEADER_OR_FOLLOWER"}, "a redirect is all that clients see"
        cluster.node(1).start()
        assert await cluster.converged([1, 2, 3], partition) == sent

    play(script)


def errors_told(brokers: Sequence[RunningNode]) -> Counter[str]:
    """How often these brokers have answered with each error."""
    told: Counter[str] = Counter()
    for broker in brokers:
        for metric in broker.node.metrics.registry().collect():
            for sample in metric.samples:
                if sample.name == "tidelog_errors_total":
                    told[sample.labels["error"]] += int(sample.value)
    del told["NONE"]
    return told


async def beside_the_controller(cluster: SimulatedCluster) -> tuple[int, int]:
    """Two of three nodes. What is cut between them leaves their ways to the controller as they are."""
    await cluster.create_topic("first", [1, 2, 3])
    one, other = (number for number in (1, 2, 3) if number != cluster.controller())
    return one, other


async def lose_the_only_one_in_sync(
    cluster: SimulatedCluster, leader: int, follower: int, producer: Producer
) -> TopicPartition:
    """The leader has five committed records and dies; the follower was out of sync by then and has fewer."""
    partition = await cluster.create_topic("t", [leader, follower])
    await cluster.send(producer, partition, *numbered("v", 2))
    await has_watermark(cluster, follower, partition, 2)
    cluster.cut(follower, leader)
    await cluster.send(producer, partition, b"v2", b"v3")
    await cluster.send(producer, partition, b"v4")
    assert cluster.in_sync(leader, partition) == {leader}
    cluster.node(leader).kill()
    cluster.join()
    await asyncio.sleep(3 * SESSION_SECONDS)
    return partition


def test_scenario_8_without_permission_nobody_leads_who_was_not_in_sync() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        leader, follower = await beside_the_controller(cluster)
        async with cluster.producer() as producer:
            partition = await lose_the_only_one_in_sync(cluster, leader, follower, producer)
        assert not cluster.leads(follower, partition)
        cluster.node(leader).start()
        assert await cluster.converged([leader, follower], partition) == numbered("v", 5)

    play(script)


async def end_of_epoch(cluster: SimulatedCluster, node: int, partition: TopicPartition, epoch: int) -> int:
    """What a reader asks whose position was in that epoch."""
    request = OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[
            OffsetForLeaderTopic(
                topic=partition.topic,
                partitions=[OffsetForLeaderPartition(partition=partition.partition, leader_epoch=epoch)],
            )
        ],
    )
    async with new_cluster(cluster.client, cluster.world.bootstrap_servers) as raw:
        reply = await raw.ask_node(node, request, OffsetForLeaderEpochResponse)
    (answer,) = reply.topics[0].partitions
    assert answer.error_code == ErrorCode.NONE
    return answer.end_offset


def test_scenario_8_an_unclean_election_is_reported_to_producers_and_consumers() -> None:
    async def script(cluster: SimulatedCluster) -> None:
        leader, follower = await beside_the_controller(cluster)
        async with cluster.producer() as producer:
            partition = await lose_the_only_one_in_sync(cluster, leader, follower, producer)
            epoch_before = cluster.known_replica(follower, partition).log.latest_epoch
            async with cluster.admin() as admin:
                allowed = ConfigAlteration(name="unclean.leader.election.enable", value="true")
                Admin.raise_any(await admin.alter_configs({ConfigResource(ResourceType.TOPIC, "t"): [allowed]}))
            await cluster.until(lambda: cluster.leads(follower, partition), "the follower leads all the same")
            left = cluster.values(follower, partition)
            assert left == numbered("v", len(left))
            assert len(left) < 5, "what only the old leader had is lost"
            # The producer's next sequence number does not follow what the new leader has.
            with pytest.raises(DeliveryFailed, match="data was lost there"):
                await cluster.send(producer, partition, b"v5")
        # A reader that had got to offset 5 learns that its epoch ended earlier.
        assert await end_of_epoch(cluster, follower, partition, epoch_before) == len(left)
        cluster.node(leader).start()
        assert await cluster.converged([leader, follower], partition) == left

    play(script, properties={"unclean.leader.election.interval.ms": "1000"})


def test_followers_that_flush_every_record_do_not_hold_up_producers() -> None:
    """A partition that was just flushed must not wait until the leader has answered for the others."""

    async def script(cluster: SimulatedCluster) -> None:
        partitions = [await cluster.create_topic(name, [1, 2, 3], flush_messages="1") for name in ("one", "two")]
        async with cluster.producer() as producer:
            for partition in partitions:
                await cluster.send(producer, partition, b"first")
            began = cluster.world.loop.time()
            for number in range(20):
                await cluster.send(producer, partitions[number % 2], b"%d" % number)
            # About 30 ms each: some round trips and syncs. Waiting for a fetch to time out would be 500 ms.
            assert cluster.world.loop.time() - began < 20 * 0.2

    play(script)
