"""Scenarios 17 and 21 on one broker that is killed with SIGKILL again and again while applications use transactions."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from support.foreign_causes import librdkafka_waits_forever
from support.processes import free_port, start_process, stop_process, wait_for_server, wait_until
from support.tidelog_process import tidelog_command
from support.transaction_workload import Copier, Feeder, Writer, read_committed

KILLS = 5
SEED = 20261115


class KilledBroker:
    """The same port and the same directory after every start."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap_servers = f"127.0.0.1:{self._port}"

    def start(self) -> None:
        data = self._directory / "data"
        output = self._directory / "tidelog.log"
        command = (tidelog_command(), "up", "--port", str(self._port), "--data-dir", str(data))
        self._process = start_process(command, output=output)
        wait_for_server(self._process, self._port, output=output)

    def kill(self) -> None:
        assert self._process is not None
        stop_process(self._process, hard=True)
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            stop_process(self._process)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KilledBroker]:
    running = KilledBroker(tmp_path)
    running.start()
    try:
        yield running
    finally:
        running.stop()


def create_topics(broker: KilledBroker, **partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    futures = admin.create_topics(
        [NewTopic(name, num_partitions=count, replication_factor=1) for name, count in partitions.items()]
    )
    for future in futures.values():
        future.result(30)


def kill_again_and_again(broker: KilledBroker) -> None:
    randomness = Random(SEED)
    for _ in range(KILLS):
        # At any moment of what the applications do.
        time.sleep(randomness.uniform(0.5, 2.0))
        broker.kill()
        broker.start()


@pytest.mark.slow
def test_scenario_17_transactions_are_whole_or_not_there_whenever_the_broker_dies(broker: KilledBroker) -> None:
    create_topics(broker, t=3)
    with Writer(broker.bootstrap_servers, "t", 3) as writer:
        wait_until(lambda: len(writer.committed) >= 5, what="the first commits")
        kill_again_and_again(broker)
        done = len(writer.committed)
        wait_until(lambda: len(writer.committed) >= done + 5, what="commits after the last kill")

    writer.check(read_committed(broker.bootstrap_servers, "t", 3))


@pytest.mark.slow
@librdkafka_waits_forever
def test_scenario_21_output_equals_input_whenever_the_broker_dies(broker: KilledBroker) -> None:
    create_topics(broker, source=1, target=1)
    with Copier(broker.bootstrap_servers, "source", "target") as copier:
        with Feeder(broker.bootstrap_servers, "source") as feeder:
            wait_until(lambda: copier.copied > 0, what="the first copies")
            kill_again_and_again(broker)
        wait_until(
            lambda: len(read_committed(broker.bootstrap_servers, "target", 1)[0]) >= feeder.written,
            within_seconds=120,
            what="the last copy",
            every_seconds=1,
        )

    (copies,) = read_committed(broker.bootstrap_servers, "target", 1)
    assert copies == [str(number) for number in range(feeder.written)]
