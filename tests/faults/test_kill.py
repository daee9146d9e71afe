"""kill -9 at any moment under load: after the restart every acknowledged record is there, once and in its place."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from support.present import present
from support.processes import free_port, running_server, wait_until
from support.tidelog_process import tidelog_command

PARTITIONS = 3
ROUNDS = 6
SEED = int(os.environ.get("TIDELOG_KILL_SEED", "7"))


class Load:
    """An idempotent producer that goes on until it is stopped and remembers what was acknowledged."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                # A batch has to fit into the small segments of the topic.
                "batch.size": 50_000,
                "message.timeout.ms": 120_000,
                "retry.backoff.ms": 50,
                "reconnect.backoff.max.ms": 500,
            }
        )
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.acknowledged: dict[bytes, tuple[int, int]] = {}
        self.failed: list[str] = []
        self.sent = 0

    def has_reached(self, count: int) -> bool:
        return len(self.acknowledged) > count

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        self._stop.set()
        self._thread.join(150)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stop.is_set():
            value = f"value-{self.sent}".encode()
            try:
                self._producer.produce(self._topic, value, partition=self.sent % PARTITIONS, on_delivery=self._report)
            except BufferError:
                self._producer.poll(0.05)
                continue
            self.sent += 1
            if self.sent % 50 == 0:
                self._producer.poll(0)
                time.sleep(0.002)
        assert self._producer.flush(120) == 0

    def _report(self, error: object, message: object) -> None:
        if error is not None:
            self.failed.append(str(error))
        else:
            self.acknowledged[message.value()] = (message.partition(), message.offset())  # type: ignore[attr-defined]


def read_all(bootstrap_servers: str, topic: str) -> dict[tuple[int, int], bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "unused"})
    found: dict[tuple[int, int], bytes] = {}
    for partition in range(PARTITIONS):
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=20)
        consumer.assign([TopicPartition(topic, partition, 0)])
        position = 0
        deadline = time.monotonic() + 60
        while position < end:
            assert time.monotonic() < deadline, f"partition {partition} stops at {position} of {end}"
            for message in consumer.consume(5000, timeout=1):
                assert message.error() is None
                offset = present(message.offset())
                found[partition, offset] = present(message.value())
                position = offset + 1
    consumer.close()
    return found


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_acknowledged_records_survive_kill_9_under_load(tmp_path: Path) -> None:
    random = Random(SEED)
    port = free_port()
    topic = "survivors"
    command = (tidelog_command(), "up", "--port", str(port), "--data-dir", str(tmp_path / "data"))
    bootstrap_servers = f"127.0.0.1:{port}"
    load: Load | None = None
    for number in range(ROUNDS):
        output = tmp_path / f"broker-{number}.log"
        with running_server(command, port=port, output=output) as process:
            if load is None:
                admin = AdminClient({"bootstrap.servers": bootstrap_servers})
                # Small segments, so that kills also hit rolling and its snapshots.
                config = {"internal.segment.bytes": "200000", "index.interval.bytes": "512"}
                created = admin.create_topics([NewTopic(topic, PARTITIONS, 1, config=config)])
                created[topic].result(20)
                load = Load(bootstrap_servers, topic)
                load.start()
            wait_until(
                partial(load.has_reached, len(load.acknowledged) + 500),
                what="progress after the restart",
            )
            time.sleep(random.uniform(0, 0.3))
            process.send_signal(signal.SIGKILL)
            process.wait(20)
    assert load is not None
    with running_server(command, port=port, output=tmp_path / "broker-last.log"):
        load.finish()
        found = read_all(bootstrap_servers, topic)
    assert load.failed == []
    assert len(load.acknowledged) == load.sent > ROUNDS * 500
    values = list(found.values())
    assert len(values) == len(set(values)), "a record is there twice"
    for value, place in load.acknowledged.items():
        assert found.get(place) == value, f"{value!r} was acknowledged at {place}, which holds {found.get(place)!r}"
    for partition in range(PARTITIONS):
        in_order = [int(value.split(b"-")[1]) for (at, _), value in sorted(found.items()) if at == partition]
        assert in_order == sorted(in_order), f"the records of partition {partition} have changed their order"
