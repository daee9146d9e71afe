"""Groups and transactions outlive the node that coordinates them: kill -9, and confluent-kafka goes on."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from support.acknowledged import read_values
from support.cluster_processes import NUMBERS, SESSION_TIMEOUT_SECONDS, ClusterProcesses

from tidelog.client.cluster.cluster import CoordinatorKind

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

GO_ON_SECONDS = SESSION_TIMEOUT_SECONDS + 20


def open_consumer(cluster: ClusterProcesses, group: str, protocol: str = "classic") -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 500,
        }
    )


def read(consumer: Consumer, count: int) -> list[bytes]:
    """The next records of a subscribed consumer."""
    values: list[bytes] = []
    deadline = time.monotonic() + GO_ON_SECONDS
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            value = message.value()
            assert value is not None
            values.append(value)
    return values


def produce(cluster: ClusterProcesses, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(GO_ON_SECONDS) == 0


def committed_offset(consumer: Consumer, topic: str) -> int:
    """librdkafka hands on a NOT_COORDINATOR of a node that does not know yet that it is; Java's client asks again."""
    deadline = time.monotonic() + GO_ON_SECONDS
    while True:
        try:
            return int(consumer.committed([TopicPartition(topic, 0)], timeout=GO_ON_SECONDS)[0].offset)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.NOT_COORDINATOR or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_and_its_committed_offsets_survive_the_death_of_their_coordinator(
    cluster: ClusterProcesses, topic: str, protocol: str
) -> None:
    cluster.create_topic(topic, NUMBERS)
    produce(cluster, topic, b"a", b"b", b"c")
    group = f"group-of-{topic}"
    consumer = open_consumer(cluster, group, protocol)
    consumer.subscribe([topic])
    try:
        assert read(consumer, 2) == [b"a", b"b"]
        consumer.commit(offsets=[TopicPartition(topic, 0, 2)], asynchronous=False)
        cluster.kill(cluster.coordinator(CoordinatorKind.GROUP, group))
        produce(cluster, topic, b"d")
        # The member stays, or joins anew, and neither loses its place nor gets records that it has committed.
        values = read(consumer, 2)
        assert values == [b"c", b"d"]
        assert committed_offset(consumer, topic) == 2
        consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    finally:
        consumer.close()
    assert cluster.coordinator(CoordinatorKind.GROUP, group) in NUMBERS
    another = open_consumer(cluster, group, protocol)
    try:
        assert another.committed([TopicPartition(topic, 0)], timeout=GO_ON_SECONDS)[0].offset == 4
    finally:
        another.close()


def test_transactions_survive_the_death_of_their_coordinator(cluster: ClusterProcesses, topic: str) -> None:
    transactional_id = f"transactions-of-{topic}"
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "transactional.id": transactional_id,
            "reconnect.backoff.max.ms": 500,
        }
    )
    producer.init_transactions(GO_ON_SECONDS)
    coordinator = cluster.coordinator(CoordinatorKind.TRANSACTION, transactional_id)
    # The partition's leader stays, so that only the coordinator changes.
    others = [number for number in NUMBERS if number != coordinator]
    cluster.create_topic(topic, (*others, coordinator))
    for value, commits in ((b"committed", True), (b"aborted", False)):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        if commits:
            producer.commit_transaction(GO_ON_SECONDS)
        else:
            producer.abort_transaction(GO_ON_SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"begun before, committed after", partition=0)
    assert producer.flush(GO_ON_SECONDS) == 0
    cluster.kill(coordinator)
    producer.commit_transaction(GO_ON_SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"begun after", partition=0)
    producer.commit_transaction(GO_ON_SECONDS)
    assert list(read_values(cluster.bootstrap_servers, topic, at_least=3).values()) == [
        b"committed",
        b"begun before, committed after",
        b"begun after",
    ]


def test_a_transaction_survives_the_death_of_coordinator_and_partition_leader_at_once(
    cluster: ClusterProcesses, topic: str
) -> None:
    transactional_id = f"transactions-of-{topic}"
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "transactional.id": transactional_id,
            "reconnect.backoff.max.ms": 500,
        }
    )
    producer.init_transactions(GO_ON_SECONDS)
    coordinator = cluster.coordinator(CoordinatorKind.TRANSACTION, transactional_id)
    others = [number for number in NUMBERS if number != coordinator]
    cluster.create_topic(topic, (coordinator, *others))
    producer.begin_transaction()
    producer.produce(topic, b"first", partition=0)
    assert producer.flush(GO_ON_SECONDS) == 0
    cluster.kill(coordinator)
    producer.produce(topic, b"second", partition=0)
    producer.commit_transaction(GO_ON_SECONDS)
    assert list(read_values(cluster.bootstrap_servers, topic, at_least=2).values()) == [b"first", b"second"]
