"""Scenarios 1, 4, 6 and 7 with real processes, kill -9 and SIGSTOP, and confluent-kafka as the client.

Scenarios 1 to 8 as sequences of single steps are tested in `tests/server/replication`.
"""

from __future__ import annotations

import asyncio
import time

import pytest
from confluent_kafka import KafkaError, Message, Producer
from support.acknowledged import SteadyProducer, check_nothing_lost, read_values
from support.cluster_processes import NUMBERS, SESSION_TIMEOUT_SECONDS, ClusterProcesses, log_bytes
from support.processes import wait_until
from support.raw_client import produce_request, raw_client

from tidelog.model.errors import ErrorCode
from tidelog.records.record import encode_batch

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

# After the session has timed out: the election, the news of it, and the client's next try. About 1.5 s on a quiet
# machine; the rest is for machines that run other things at the same time.
FAIL_OVER_SECONDS = SESSION_TIMEOUT_SECONDS + 12


def produce_one(
    bootstrap_servers: str, topic: str, value: bytes, *, acks: str, timeout_ms: int = 10_000
) -> KafkaError | int:
    """The offset, or why not."""
    outcome: list[KafkaError | int] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        outcome.append(error if error is not None else message.offset() or 0)

    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "acks": acks,
            "message.timeout.ms": timeout_ms,
            "request.timeout.ms": timeout_ms // 2,
            "retries": 0,
        }
    )
    producer.produce(topic, value, partition=0, on_delivery=delivered)
    producer.flush(timeout_ms / 1000 + 5)
    return outcome[0]


def test_producers_go_on_after_kill_9_of_the_leader_and_nothing_acknowledged_is_lost(
    cluster: ClusterProcesses, topic: str
) -> None:
    cluster.create_topic(topic, (1, 2, 3), min_insync_replicas="2")
    with SteadyProducer(cluster.bootstrap_servers, topic) as producer:
        wait_until(lambda: len(producer.acknowledged) > 100, what="the first records")
        killed_at = time.monotonic()
        cluster.kill(1)
        before = len(producer.acknowledged)
        wait_until(lambda: len(producer.acknowledged) > before + 100, what="records after the fail-over")
    assert producer.failures == []
    assert len(producer.acknowledged) == producer.sent
    check_nothing_lost(producer, read_values(cluster.bootstrap_servers, topic))
    assert producer.longest_silence(since=killed_at) < FAIL_OVER_SECONDS


def test_producers_go_on_after_kill_9_of_a_leader_that_is_also_the_active_controller(
    cluster: ClusterProcesses, topic: str
) -> None:
    controller = cluster.active_controller()
    others = [number for number in NUMBERS if number != controller]
    cluster.create_topic(topic, (controller, *others), min_insync_replicas="2")
    with SteadyProducer(cluster.bootstrap_servers, topic) as producer:
        wait_until(lambda: len(producer.acknowledged) > 100, what="the first records")
        killed_at = time.monotonic()
        cluster.kill(controller)
        before = len(producer.acknowledged)
        wait_until(lambda: len(producer.acknowledged) > before + 100, what="records after the fail-over")
    assert producer.failures == []
    assert len(producer.acknowledged) == producer.sent
    check_nothing_lost(producer, read_values(cluster.bootstrap_servers, topic))
    # How long it takes on a quiet machine is measured by `python -m benchmarks cluster_fail_over`.
    assert producer.longest_silence(since=killed_at) < FAIL_OVER_SECONDS
    assert cluster.active_controller() in others


def test_scenario_1_a_follower_that_restarted_takes_over_and_nothing_is_lost(
    cluster: ClusterProcesses, topic: str
) -> None:
    cluster.create_topic(topic, (1, 2))
    with SteadyProducer(cluster.bootstrap_servers, topic, pause_seconds=0.002) as producer:
        wait_until(lambda: len(producer.acknowledged) > 200, what="the first records")
        # Under load the follower has at every moment records whose watermark it has not heard of.
        cluster.kill(2)
        # Until the controller has noticed, the set that it tells still holds the process that is dead.
        cluster.wait_for_in_sync(topic, (1,), at=3)
        cluster.start(2)
        cluster.wait_for_in_sync(topic, (1, 2), at=3)
        cluster.kill(1)
        cluster.wait_for(topic, lambda partition: partition.leader == 2, at=3)
        before = len(producer.acknowledged)
        wait_until(lambda: len(producer.acknowledged) > before + 100, what="records of node 2")
    assert producer.failures == []
    check_nothing_lost(producer, read_values(cluster.bootstrap_servers, topic))
    cluster.heal()
    wait_until(
        lambda: log_bytes(cluster.log_directory(1), topic) == log_bytes(cluster.log_directory(2), topic),
        what="that both replicas hold the same bytes",
    )


def test_scenario_4_an_old_leader_that_is_cut_off_commits_nothing_and_its_own_records_vanish(
    cluster: ClusterProcesses, topic: str
) -> None:
    cluster.create_topic(topic, (1, 2, 3), min_insync_replicas="2")
    assert produce_one(cluster.bootstrap_servers, topic, b"before", acks="all") == 0
    # Seen from node 1 this is a network partition. Its followers' last fetches are answered empty before anything new
    # is written: a fetch that waits would carry the record over to the other side.
    cluster.pause(2, 3)
    time.sleep(1.0)
    assert produce_one(cluster.address(1), topic, b"vanishes", acks="1") == 1
    refused = produce_one(cluster.address(1), topic, b"never committed", acks="all", timeout_ms=4000)
    assert isinstance(refused, KafkaError), refused
    assert read_values(cluster.address(1), topic) == {0: b"before"}
    cluster.pause(1)
    cluster.resume(2, 3)
    new_leader = cluster.wait_for(topic, lambda partition: partition.leader in (2, 3), at=2).leader
    assert new_leader is not None
    others = ",".join(map(cluster.address, (2, 3)))
    assert produce_one(others, topic, b"after", acks="all") == 1
    cluster.resume(1)
    cluster.wait_for_in_sync(topic, (1, 2, 3), at=new_leader)
    assert read_values(cluster.bootstrap_servers, topic) == {0: b"before", 1: b"after"}
    wait_until(
        lambda: len({log_bytes(cluster.log_directory(number), topic) for number in (1, 2, 3)}) == 1,
        what="that all replicas hold the same bytes",
    )
    assert b"vanishes" not in log_bytes(cluster.log_directory(1), topic)


def test_scenario_4_what_waited_at_a_paused_leader_is_not_acknowledged_after_it_wakes(
    cluster: ClusterProcesses, topic: str
) -> None:
    cluster.create_topic(topic, (1, 2, 3), min_insync_replicas="2")

    async def send_to_paused_leader() -> int:
        async with raw_client(cluster.address(1)) as client:
            cluster.pause(1)
            asked = client.send(produce_request(topic, encode_batch([(0, None, b"too late", ())])), 11)
            await asyncio.to_thread(cluster.wait_for, topic, lambda partition: partition.leader in (2, 3), at=2)
            cluster.resume(1)
            reply = await client.receive(asked)
            return int(reply.responses[0].partition_responses[0].error_code)

    assert asyncio.run(send_to_paused_leader()) != ErrorCode.NONE
    cluster.wait_for_in_sync(topic, (1, 2, 3), at=2)
    assert read_values(cluster.bootstrap_servers, topic) == {}


def test_scenario_6_below_min_insync_replicas_nothing_is_half_done(cluster: ClusterProcesses, topic: str) -> None:
    cluster.create_topic(topic, (1, 2), min_insync_replicas="2")
    assert produce_one(cluster.bootstrap_servers, topic, b"both", acks="all") == 0
    cluster.kill(2)
    cluster.wait_for_in_sync(topic, (1,), at=1)
    size = len(log_bytes(cluster.log_directory(1), topic))
    refused = produce_one(cluster.bootstrap_servers, topic, b"one is too few", acks="all")
    assert isinstance(refused, KafkaError)
    assert refused.code() == KafkaError.NOT_ENOUGH_REPLICAS
    assert len(log_bytes(cluster.log_directory(1), topic)) == size
    cluster.start(2)
    cluster.wait_for_in_sync(topic, (1, 2), at=1)
    assert produce_one(cluster.bootstrap_servers, topic, b"both again", acks="all") == 1
    assert read_values(cluster.bootstrap_servers, topic) == {0: b"both", 1: b"both again"}


def test_scenario_6_three_replicas_survive_two_failures(cluster: ClusterProcesses, topic: str) -> None:
    cluster.create_topic(topic, (1, 2, 3), min_insync_replicas="2")
    assert produce_one(cluster.bootstrap_servers, topic, b"three have it", acks="all") == 0
    cluster.kill(1)
    cluster.wait_for(topic, lambda partition: partition.leader == 2 and 1 not in partition.in_sync, at=2)
    assert produce_one(cluster.bootstrap_servers, topic, b"two have it", acks="all") == 1
    cluster.kill(2)
    # Node 1 knows nothing of the second record; with it there is a majority again that can elect node 3.
    cluster.start(1)
    cluster.wait_for(topic, lambda partition: partition.leader == 3, at=3)
    # Alone, node 3 may not raise its watermark; it may have to wait for node 1 with what node 2 had committed.
    assert read_values(cluster.bootstrap_servers, topic, at_least=2) == {0: b"three have it", 1: b"two have it"}
    cluster.wait_for(topic, lambda partition: {1, 3} <= set(partition.in_sync), at=3)
    assert produce_one(cluster.bootstrap_servers, topic, b"two have it again", acks="all") == 2


def test_scenario_7_a_clean_shutdown_moves_leadership_first(cluster: ClusterProcesses, topic: str) -> None:
    cluster.create_topic(topic, (1, 2, 3), min_insync_replicas="2")
    with SteadyProducer(cluster.bootstrap_servers, topic) as producer:
        wait_until(lambda: len(producer.acknowledged) > 100, what="the first records")
        began = time.monotonic()
        assert cluster.shut_down(1) == 0
        before = len(producer.acknowledged)
        wait_until(lambda: len(producer.acknowledged) > before + 100, what="records afterwards")
    assert producer.failures == []
    assert len(producer.acknowledged) == producer.sent
    check_nothing_lost(producer, read_values(cluster.bootstrap_servers, topic))
    # Nobody had to find out by a timeout that the node is gone.
    # Had nobody been told, the silence would have lasted for a whole session.
    assert producer.longest_silence(since=began) < SESSION_TIMEOUT_SECONDS
    assert cluster.wait_for(topic, lambda partition: partition.leader != 1, at=2).leader in (2, 3)
