"""Apache Kafka beside tidelog, as a cluster of nodes that are broker and controller in one."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.broker_process import free_port, wait_for_port

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.apache_kafka import CLUSTER_ID, kafka_jars, run_tool
from support.download_cache import Unavailable

__all__ = ["Unavailable", "apache_kafka", "kafka_jars"]

# What a small node of production would have; the compiler is the full one.
JVM = ("java", "-Xms512m", "-Xmx512m", "-XX:+UseG1GC")
_QUIET = "status = off\nrootLogger.level = off\n"


@contextlib.contextmanager
def apache_kafka(jars: Path, nodes: int) -> Iterator[str]:
    """Formats and runs the nodes until the block ends; gives the bootstrap servers."""
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-bench-")))
        (directory / "log4j2.properties").write_text(_QUIET)
        ports = [(free_port(), free_port()) for _ in range(nodes)]
        voters = ",".join(f"{number}@127.0.0.1:{port}" for number, (_, port) in enumerate(ports, 1))
        processes = []
        for number, (broker_port, controller_port) in enumerate(ports, 1):
            configuration = directory / f"node-{number}.properties"
            configuration.write_text(
                _properties(number, broker_port, controller_port, voters, nodes, directory / f"data-{number}")
            )
            run_tool(jars, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(configuration))
            command = [*JVM, f"-Dlog4j2.configurationFile={directory}/log4j2.properties"]
            process = subprocess.Popen(
                [*command, "-cp", f"{jars}/*", "kafka.Kafka", str(configuration)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(_end, process)
            processes.append(process)
        for process, (broker_port, _) in zip(processes, ports, strict=True):
            wait_for_port(process, broker_port)
        yield ",".join(f"127.0.0.1:{port}" for port, _ in ports)


def _properties(number: int, broker_port: int, controller_port: int, voters: str, nodes: int, data: Path) -> str:
    replication = min(3, nodes)
    listeners = f"PLAINTEXT://127.0.0.1:{broker_port},CONTROLLER://127.0.0.1:{controller_port}"
    settings = {
        "process.roles": "broker,controller",
        "node.id": str(number),
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": voters,
        "listeners": listeners,
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker_port}",
        "log.dirs": str(data),
        "offsets.topic.replication.factor": str(replication),
        "transaction.state.log.replication.factor": str(replication),
        "transaction.state.log.min.isr": str(max(1, replication - 1)),
        "share.coordinator.state.topic.replication.factor": str(replication),
        "share.coordinator.state.topic.min.isr": str(max(1, replication - 1)),
        "group.initial.rebalance.delay.ms": "0",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
