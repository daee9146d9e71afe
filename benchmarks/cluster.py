"""What replication costs: bytes per second into three nodes, replication factor 3, acks=all, next to a single node.

All of it runs on one machine: the cluster does three times the work there, and passes it twice over the network. So
the bound is a part of what the single node takes in the same run.

The bytes per second of both depend on what else the machine does: where cores are scarce, three processes get more of
them than one does. The CPU per gigabyte does not, so it is shown as well.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.broker_process import MeasuredBroker, broker

RECORD = b"x" * 1024
RECORDS = 200_000
WARM_UP_RECORDS = 20_000
ROUNDS = 2
PARTITIONS = 3
NODES = 3
LEAST_PART = 0.25

Row = tuple[str, str, str]


def run() -> Iterator[Row]:
    singles, clusters = [], []
    for _ in range(ROUNDS):
        with broker() as target:
            singles.append(_measure(target, replication_factor=1))
        with broker(None, "--nodes", str(NODES)) as target:
            wait_for_nodes(target)
            clusters.append(_measure(target, replication_factor=NODES))
    single = max(each.megabytes_per_second for each in singles)
    cluster = max(each.megabytes_per_second for each in clusters)
    single_cpu = min(each.cpu_seconds_per_gigabyte for each in singles)
    cluster_cpu = min(each.cpu_seconds_per_gigabyte for each in clusters)
    yield ("produce to one node, acks=all", f"{single:,.0f} MB/s", "")
    yield (f"produce to {NODES} nodes, replication factor {NODES}, acks=all", f"{cluster:,.0f} MB/s", "")
    yield ("three nodes next to one", f"{cluster / single:.0%}", f"at least {LEAST_PART:.0%}")
    yield ("CPU of one node per GB", f"{single_cpu:.2f} s", "")
    yield ("CPU of three nodes together per GB", f"{cluster_cpu:.2f} s", "")


class Measured(NamedTuple):
    megabytes_per_second: float
    cpu_seconds_per_gigabyte: float


def wait_for_nodes(target: MeasuredBroker) -> None:
    """Until every broker is registered."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    deadline = time.monotonic() + 60
    while len(admin.list_topics(timeout=30).brokers) < NODES:
        if time.monotonic() > deadline:
            raise TimeoutError("the nodes have not found each other within 60 s")
        time.sleep(0.1)


def _measure(target: MeasuredBroker, *, replication_factor: int) -> Measured:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    topic = f"cluster-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    # Every acknowledgement then means that all replicas have the record: a replica that falls behind and leaves the
    # in-sync set stops the producer instead of making it faster.
    configs = {"min.insync.replicas": str(replication_factor)}
    created = admin.create_topics([NewTopic(topic, PARTITIONS, replication_factor, config=configs)])
    created[topic].result(60)
    producer = Producer(
        {
            "bootstrap.servers": target.bootstrap_servers,
            "linger.ms": 5,
            "batch.size": 1_000_000,
            "message.max.bytes": 1_000_000,
            "queue.buffering.max.messages": 100_000,
            "acks": "all",
        }
    )
    # Connections, files and replication are there before the clock runs.
    _send(producer, topic, WARM_UP_RECORDS)
    cpu_before, started = target.cpu_seconds(), time.perf_counter()
    _send(producer, topic, RECORDS)
    seconds, cpu_seconds = time.perf_counter() - started, target.cpu_seconds() - cpu_before
    _check_replicas(target, topic, replication_factor)
    size = RECORDS * len(RECORD)
    return Measured(size / 1e6 / seconds, cpu_seconds / (size / 1e9))


def _check_replicas(target: MeasuredBroker, topic: str, replication_factor: int) -> None:
    """As many copies lie on the disk as were asked for. What was measured would otherwise not be replication."""
    expected = (RECORDS + WARM_UP_RECORDS) * len(RECORD) * replication_factor
    size = sum(file.stat().st_size for file in target.data_dir.rglob(f"{topic}-*/*.log"))
    if size < expected:
        raise RuntimeError(f"{size:,} bytes are stored, but {replication_factor} copies need {expected:,}")


def _send(producer: object, topic: str, count: int) -> None:
    from confluent_kafka import Producer

    assert isinstance(producer, Producer)
    failed: list[str] = []
    delivered = 0

    def report(error: object, _: object) -> None:
        nonlocal delivered
        if error is not None:
            failed.append(str(error))
        delivered += 1

    for _ in range(count):
        while True:
            try:
                producer.produce(topic, RECORD, on_delivery=report)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    producer.flush(120)
    if failed or delivered != count:
        raise RuntimeError(f"{delivered} of {count} delivered, {len(failed)} failed: {failed[:1]}")
