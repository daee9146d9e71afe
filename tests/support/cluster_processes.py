"""A cluster of real processes that tests kill, pause, stop and start, one `tidelog server` for each node."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from support.processes import HANG_SECONDS, start_process, stop_process, tail, wait_for_server, wait_until
from support.tidelog_process import tidelog_command

from tidelog.cli.local_cluster.nodes import LocalCluster
from tidelog.cli.local_cluster.start_security import start_security
from tidelog.cli.properties import read_properties
from tidelog.client.admin import Admin, NewTopic, PartitionDescription
from tidelog.client.cluster.cluster import CoordinatorKind
from tidelog.client.errors import ClientError
from tidelog.model.errors import ApiError
from tidelog.network.client_connection import ConnectionProblem

T = TypeVar("T")

NUMBERS = (1, 2, 3)
SESSION_TIMEOUT_SECONDS = 3.0

# Short enough for tests, long enough for a machine that is busy with other things.
QUICK = {
    "broker.session.timeout.ms": str(int(SESSION_TIMEOUT_SECONDS * 1000)),
    "broker.heartbeat.interval.ms": "300",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.backoff.max.ms": "300",
    "replica.lag.time.max.ms": "2000",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}


class ClusterProcesses:
    """Nodes are numbered from 1."""

    def __init__(self, directory: Path, properties: Mapping[str, str] | None = None) -> None:
        self.data_directory = directory / "data"
        self._outputs = directory
        layout = LocalCluster(
            host="127.0.0.1",
            port=0,
            nodes=len(NUMBERS),
            security=start_security(self.data_directory, "127.0.0.1", secure=False),
            properties={**QUICK, **(properties or {})},
        )
        layout.prepare()
        self._config_files = {number: layout.config_file(number) for number in NUMBERS}
        self._ports = {number: _client_port(file) for number, file in self._config_files.items()}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._paused: set[int] = set()
        self._starts: Counter[int] = Counter()

    # -- processes -----------------------------------------------------------------------------------------------

    def begin(self, *numbers: int) -> None:
        """Start processes, and do not wait for them."""
        for number in numbers:
            command = (tidelog_command(), "server", "--config", str(self._config_files[number]))
            self._starts[number] += 1
            self._processes[number] = start_process(command, output=self.output(number))

    def start(self, *numbers: int) -> None:
        self.begin(*(numbers or NUMBERS))
        for number in numbers or NUMBERS:
            wait_for_server(
                self._processes[number],
                self._ports[number],
                output=self.output(number),
            )

    def kill(self, *numbers: int) -> None:
        """As kill -9 does; all at the same moment."""
        for number in numbers:
            self._processes[number].send_signal(signal.SIGKILL)
        for number in numbers:
            self._processes.pop(number).wait(10)
            self._paused.discard(number)

    def pause(self, *numbers: int) -> None:
        for number in numbers:
            self._processes[number].send_signal(signal.SIGSTOP)
            self._paused.add(number)

    def resume(self, *numbers: int) -> None:
        for number in numbers:
            self._processes[number].send_signal(signal.SIGCONT)
            self._paused.discard(number)

    def replace_disk(self, number: int) -> None:
        """Of a node that is not running: an empty directory, formatted as an operator does it."""
        assert number not in self._processes
        other = next(each for each in NUMBERS if each != number)
        cluster_id = read_properties(self.log_directory(other) / "meta.properties")["cluster.id"]
        shutil.rmtree(self.log_directory(number))
        command = (tidelog_command(), "format", "--config", str(self._config_files[number]), "--cluster-id", cluster_id)
        subprocess.run(command, check=True, capture_output=True, timeout=HANG_SECONDS)

    def shut_down(self, number: int) -> int:
        """As an operator ends a node; returns the exit code."""
        return stop_process(self._processes.pop(number))

    def close(self) -> None:
        for process in self._processes.values():
            stop_process(process, hard=True)

    def heal(self) -> None:
        """All nodes are running and every replica is in sync."""
        self.resume(*list(self._paused))
        for number, process in list(self._processes.items()):
            if process.poll() is not None:
                raise AssertionError(f"node {number} ended with {process.returncode}:\n{tail(self.output(number))}")
        missing = [number for number in NUMBERS if number not in self._processes]
        if missing:
            self.start(*missing)
        try:
            wait_until(
                lambda: all(self._sees_everything_in_sync(number) for number in NUMBERS),
                what="that every node sees every replica in sync",
                every_seconds=0.2,
            )
        except TimeoutError as error:
            outputs = "\n\n".join(f"node {number}:\n{tail(self.output(number), 15)}" for number in NUMBERS)
            raise AssertionError(f"{error}\n{outputs}") from error

    def output(self, number: int) -> Path:
        """What the node has said since its last start."""
        return self._outputs / f"node-{number}.{self._starts[number]}.log"

    def outputs(self) -> list[Path]:
        """What all nodes have said since the first start."""
        return list(self._outputs.glob("node-*.log"))

    def log_directory(self, number: int) -> Path:
        return self.data_directory / f"node-{number}"

    # -- what the cluster says -----------------------------------------------------------------------------------

    def address(self, number: int) -> str:
        return f"127.0.0.1:{self._ports[number]}"

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(map(self.address, NUMBERS))

    def ask(self, question: Callable[[Admin], Awaitable[T]], *, at: int | None = None) -> T:
        """Ask one node, or any."""

        async def run() -> T:
            servers = self.bootstrap_servers if at is None else self.address(at)
            options = {"request.timeout.ms": "3000", "default.api.timeout.ms": "10000"}
            async with Admin(servers, config=options) as admin:
                return await question(admin)

        return asyncio.run(run())

    def create_topic(self, name: str, replicas: Sequence[int], **configs: str) -> None:
        """One partition, led by the first of these nodes."""
        topic = NewTopic(
            name=name,
            assignment={0: replicas},
            configs={key.replace("_", "."): value for key, value in configs.items()},
        )
        self.ask(lambda admin: _created(admin, topic))
        for number in NUMBERS:
            self.wait_for(name, lambda partition: partition.leader == replicas[0], at=number)

    def describe(self, topic: str, *, at: int) -> PartitionDescription | None:
        """The topic's first partition as this node knows it; None while it cannot tell."""

        async def question(admin: Admin) -> PartitionDescription | None:
            described = (await admin.describe_topics([topic]))[topic]
            return None if isinstance(described, ApiError) else described.partitions[0]

        try:
            return self.ask(question, at=at)
        except (ClientError, ConnectionProblem, ApiError):
            return None

    def wait_for(
        self,
        topic: str,
        condition: Callable[[PartitionDescription], bool],
        *,
        at: int,
        within_seconds: float = HANG_SECONDS,
    ) -> PartitionDescription:
        def holds() -> PartitionDescription | None:
            partition = self.describe(topic, at=at)
            return partition if partition is not None and condition(partition) else None

        found = wait_until(holds, within_seconds=within_seconds, what=f"the awaited state of {topic}")
        assert found is not None
        return found

    def wait_for_in_sync(self, topic: str, replicas: Collection[int], *, at: int) -> None:
        self.wait_for(topic, lambda partition: set(partition.in_sync) == set(replicas), at=at)

    def active_controller(self) -> int:
        """The node that leads the metadata quorum."""
        leader = self.ask(lambda admin: admin.describe_quorum()).leader
        assert leader is not None
        return leader

    def coordinator(self, kind: CoordinatorKind, key: str) -> int:
        def found() -> int | None:
            # The first question makes the topic, whose partitions need a leader.
            with contextlib.suppress(ApiError):
                return self.ask(lambda admin: admin._cluster.coordinator(kind, key))
            return None

        node = wait_until(found, what=f"that somebody coordinates {key}")
        assert node is not None
        return node

    def _sees_everything_in_sync(self, number: int) -> bool:
        async def question(admin: Admin) -> bool:
            if len((await admin.describe_cluster()).nodes) < len(NUMBERS):
                return False
            names = [topic.name for topic in await admin.list_topics()]
            topics = Admin.raise_any(await admin.describe_topics(names))
            return all(
                len(one.in_sync) == len(one.replicas) and one.leader is not None
                for topic in topics.values()
                for one in topic.partitions
            )

        try:
            return self.ask(question, at=number)
        except (ClientError, ConnectionProblem, ApiError):
            return False


@contextmanager
def running_cluster(directory: Path, properties: Mapping[str, str] | None = None) -> Iterator[ClusterProcesses]:
    cluster = ClusterProcesses(directory, properties)
    try:
        cluster.start()
        # A node listens before it is registered, and a topic with three replicas needs three that are.
        cluster.heal()
        yield cluster
    finally:
        cluster.close()


async def _created(admin: Admin, topic: NewTopic) -> None:
    Admin.raise_any(await admin.create_topics([topic]))


def _client_port(config_file: Path) -> int:
    first = read_properties(config_file)["listeners"].split(",")[0]
    return int(first.rpartition(":")[2])


def log_bytes(directory: Path, topic: str) -> bytes:
    """All segments of the topic's first partition, one after the other."""
    folder = directory / f"{topic}-0"
    return b"".join((folder / name).read_bytes() for name in sorted(os.listdir(folder)) if name.endswith(".log"))
