"""Scenario 36: a process that may open only 256 files keeps 300 partitions, refuses connections, and fails no disk."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from support.present import present
from support.tidelog_process import TidelogBroker, running_tidelog

DESCRIPTORS = 256
PARTITIONS = 300


def create(broker: TidelogBroker, name: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(60)


def produce_to_all(broker: TidelogBroker, topic: str, value: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": 60_000})
    outcomes: list[object] = []
    for number in range(PARTITIONS):
        producer.produce(
            topic,
            f"{value} {number}".encode(),
            partition=number,
            on_delivery=lambda error, _: outcomes.append(error),
        )
    assert producer.flush(90) == 0
    assert outcomes == [None] * PARTITIONS


def read_all(broker: TidelogBroker, topic: str, count: int) -> dict[int, list[bytes]]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    found: dict[int, list[bytes]] = {}
    deadline = time.monotonic() + 90
    while sum(map(len, found.values())) < count and time.monotonic() < deadline:
        for message in consumer.consume(500, timeout=1):
            assert message.error() is None, message.error()
            found.setdefault(present(message.partition()), []).append(present(message.value()))
    consumer.close()
    return found


def process_of(broker: TidelogBroker) -> psutil.Process:
    port = broker.bootstrap_servers.rpartition(":")[2]
    return next(
        each
        for each in psutil.process_iter(["cmdline"])
        if {"up", port} <= set(each.info["cmdline"] or []) and "ulimit" not in " ".join(each.info["cmdline"])
    )


def connections_refused(broker: TidelogBroker, stack: contextlib.ExitStack) -> int:
    """Open more connections than there are descriptors; how many of them the broker closes at once."""
    host, _, port = broker.bootstrap_servers.partition(":")
    opened = [stack.enter_context(socket.create_connection((host, int(port)), timeout=20)) for _ in range(DESCRIPTORS)]
    refused = 0
    for each in opened:
        each.settimeout(0.05)
        with contextlib.suppress(TimeoutError):
            try:
                refused += each.recv(1) == b""
            except ConnectionError:
                refused += 1
    return refused


@pytest.mark.slow
def test_scenario_36_few_descriptors_refuse_connections_and_fail_no_disk(tmp_path: Path) -> None:
    with running_tidelog(tmp_path, most_descriptors=DESCRIPTORS) as broker:
        create(broker, "many", PARTITIONS)
        produce_to_all(broker, "many", "first")
        process = process_of(broker)
        assert process.rlimit(psutil.RLIMIT_NOFILE) == (DESCRIPTORS, DESCRIPTORS)
        with contextlib.ExitStack() as stack:
            assert connections_refused(broker, stack) > DESCRIPTORS // 4
            create_beside = process.num_fds()
            assert create_beside < DESCRIPTORS
        # The connections are gone, and everything works: old partitions and as many new ones.
        produce_to_all(broker, "many", "second")
        create(broker, "more", PARTITIONS)
        produce_to_all(broker, "more", "first")
        assert read_all(broker, "many", 2 * PARTITIONS) == {
            number: [f"first {number}".encode(), f"second {number}".encode()] for number in range(PARTITIONS)
        }
        assert process.num_fds() < DESCRIPTORS
    log = (tmp_path / "tidelog.log").read_text()
    assert "offline" not in log
    assert "Traceback" not in log
    assert f"may open only {DESCRIPTORS} files" in log
    with running_tidelog(tmp_path, most_descriptors=DESCRIPTORS) as again:
        assert sum(map(len, read_all(again, "more", PARTITIONS).values())) == PARTITIONS
