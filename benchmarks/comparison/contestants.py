"""What is compared: how each one is started, what it has used, and how it is killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import psutil

from benchmarks.broker_process import free_port, wait_for_port
from benchmarks.comparison.figures import APACHE_KAFKA, EMPTY, PLAIN, TIDELOG
from tidelog.records.implementation import SWITCH

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from support.apache_kafka import CLUSTER_ID, KAFKA_VERSION, kafka_jars, run_tool
from support.download_cache import Unavailable

__all__ = ["KAFKA_VERSION", "ApacheKafka", "Contestant", "EmptyServer", "Server", "Tidelog", "Unavailable"]

NODES_IN_A_CLUSTER = 3
# What issue trackers and guides recommend for a small node. Three nodes share the memory of the machine.
HEAP = {1: "1g", NODES_IN_A_CLUSTER: "512m"}
STOP_SECONDS = 60
_QUIET_LOG = "status = off\nrootLogger.level = off\n"


@dataclass(slots=True, kw_only=True)
class Server:
    """A running node or cluster."""

    bootstrap_servers: str
    # One for each node, in the order of their numbers.
    nodes: list[psutil.Process]
    directories: list[Path]
    started_at: float
    # How many copies topics have: as many as there are nodes, unless they only share the work.
    copies: int = 1
    # What librdkafka needs to connect besides the address.
    client: Mapping[str, str] = field(default_factory=dict)

    def cpu_seconds(self) -> float:
        used = [node.cpu_times() for node in self.nodes if node.is_running()]
        return float(sum(each.user + each.system for each in used))

    def memory_megabytes(self) -> float:
        return sum(node.memory_info().rss for node in self.nodes if node.is_running()) / 1e6

    def kill(self, number: int) -> None:
        """kill -9 of one node; numbers begin at 1."""
        self.nodes[number - 1].kill()


class Contestant(Protocol):
    """One side of the comparison."""

    @property
    def name(self) -> str: ...

    def running(
        self,
        *,
        nodes: int = 1,
        cores: int = 1,
        properties: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> contextlib.AbstractContextManager[Server]:
        """Started until the block ends; `directory` is kept, and may have been used before.

        `cores` is how many of them one node is to use, for those who have to be told.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidelog:
    """`tidelog up`, with its compiled parts or without."""

    name: str = TIDELOG
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def without_compiled_parts(cls) -> Tidelog:
        """What users get without a C compiler or a prebuilt wheel."""
        return cls(name=PLAIN, environment={SWITCH: "1"})

    @contextlib.contextmanager
    def running(
        self,
        *,
        nodes: int = 1,
        cores: int = 1,
        properties: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> Iterator[Server]:
        with _directory(directory) as data:
            port = free_port()
            command = [sys.executable, "-m", "tidelog.cli.main", "up", "--port", str(port), "--data-dir", str(data)]
            # Either is a number of processes, with a folder and a properties file for each.
            kind, count = ("node", nodes) if nodes > 1 else ("core", cores)
            if count > 1:
                command += [f"--{kind}s", str(count)]
            for name, value in (properties or {}).items():
                command += ["--override", f"{name}={value}"]
            started_at = time.perf_counter()
            with _process(command, {**os.environ, **self.environment}) as process:
                wait_for_port(process, port)
                observed = [psutil.Process(process.pid)]
                directories = [data]
                if count > 1:
                    observed = _by_configuration_file(observed[0], data, kind, count)
                    directories = [data / f"{kind}-{number}" for number in range(1, count + 1)]
                servers = ",".join(f"127.0.0.1:{port + number}" for number in range(nodes))
                yield Server(
                    bootstrap_servers=servers,
                    nodes=observed,
                    directories=directories,
                    started_at=started_at,
                    copies=nodes,
                )


def _by_configuration_file(parent: psutil.Process, data: Path, kind: str, count: int) -> list[psutil.Process]:
    children = parent.children(recursive=True)
    found = []
    for number in range(1, count + 1):
        name = str(data / f"{kind}-{number}.properties")
        found += [child for child in children if name in child.cmdline()]
    if len(found) != count:
        raise RuntimeError(f"{len(found)} of {count} processes were found among those of `tidelog up`")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ApacheKafka:
    """Apache Kafka with its own defaults, each node broker and controller in one JVM for any number of cores."""

    jars: Path
    name: str = APACHE_KAFKA

    @classmethod
    def from_maven(cls) -> ApacheKafka:
        """Raises Unavailable where it cannot be had."""
        return cls(jars=kafka_jars())

    @contextlib.contextmanager
    def running(
        self,
        *,
        nodes: int = 1,
        cores: int = 1,
        properties: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> Iterator[Server]:
        with _directory(directory) as data, contextlib.ExitStack() as stack:
            (data / "log4j2.properties").write_text(_QUIET_LOG)
            ports = [(free_port(), free_port()) for _ in range(nodes)]
            voters = ",".join(f"{number}@127.0.0.1:{port}" for number, (_, port) in enumerate(ports, 1))
            files = []
            for number, (broker, controller) in enumerate(ports, 1):
                files.append(data / f"node-{number}.properties")
                settings = self._settings(number, broker, controller, voters, nodes, data / f"node-{number}")
                settings.update(properties or {})
                files[-1].write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
                if not (data / f"node-{number}").exists():
                    run_tool(self.jars, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(files[-1]))
            started_at = time.perf_counter()
            options = ["java", f"-Xms{HEAP[nodes]}", f"-Xmx{HEAP[nodes]}", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"]
            options += [f"-Dlog4j2.configurationFile={data}/log4j2.properties", "-cp", f"{self.jars}/*", "kafka.Kafka"]
            processes = [stack.enter_context(_process([*options, str(file)], dict(os.environ))) for file in files]
            for process, (broker, _) in zip(processes, ports, strict=True):
                wait_for_port(process, broker)
            yield Server(
                bootstrap_servers=",".join(f"127.0.0.1:{broker}" for broker, _ in ports),
                nodes=[psutil.Process(process.pid) for process in processes],
                directories=[data / f"node-{number}" for number in range(1, nodes + 1)],
                started_at=started_at,
                copies=nodes,
            )

    def _settings(
        self, number: int, broker: int, controller: int, voters: str, nodes: int, data: Path
    ) -> dict[str, str]:
        """What a cluster needs on one machine; everything else is Apache Kafka's default."""
        replication = min(NODES_IN_A_CLUSTER, nodes)
        in_sync = str(max(1, replication - 1))
        return {
            "process.roles": "broker,controller",
            "node.id": str(number),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker}",
            "log.dirs": str(data),
            "offsets.topic.replication.factor": str(replication),
            "transaction.state.log.replication.factor": str(replication),
            "transaction.state.log.min.isr": in_sync,
            "share.coordinator.state.topic.replication.factor": str(replication),
            "share.coordinator.state.topic.min.isr": in_sync,
            "group.initial.rebalance.delay.ms": "0",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyServer:
    """What bounds every other side: see `empty_server.py`. It is one node, has no properties and keeps nothing."""

    name: str = EMPTY

    @contextlib.contextmanager
    def running(
        self,
        *,
        nodes: int = 1,
        cores: int = 1,
        properties: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> Iterator[Server]:
        if nodes > 1 or properties or directory is not None:
            raise RuntimeError("the empty server is a single node without properties and files")
        port = free_port()
        started_at = time.perf_counter()
        command = [sys.executable, "-m", "benchmarks.comparison.empty_server", str(port)]
        with _process(command, dict(os.environ)) as process:
            wait_for_port(process, port)
            observed = [psutil.Process(process.pid)]
            yield Server(bootstrap_servers=f"127.0.0.1:{port}", nodes=observed, directories=[], started_at=started_at)


@contextlib.contextmanager
def _directory(given: Path | None) -> Iterator[Path]:
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    created = Path(tempfile.mkdtemp(prefix="tidelog-bench-"))
    try:
        yield created
    finally:
        shutil.rmtree(created, ignore_errors=True)


@contextlib.contextmanager
def _process(command: list[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
