"""A real Apache Kafka beside us: its jars, one node of it on the loopback interface, and its command-line tools."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.download_cache import Unavailable, cached, run_downloader
from support.processes import free_port, running_server

KAFKA_VERSION = "4.3.1"
# A fixed cluster id (16 bytes, URL-safe base64), so that the files of two runs differ less.
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"

START_TIMEOUT_SECONDS = 90
TOOL_TIMEOUT_SECONDS = 120

# A node of a few hundred records needs no parallel collector and no optimising compiler; both cost start-up time.
SMALL_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidelog.tests</groupId>
  <artifactId>apache-kafka</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{KAFKA_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""

_LOGGING = """\
status = off
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = STDERR
appender.stderr.type = Console
appender.stderr.name = STDERR
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d %p %m (%c)%n
"""

_SERVER_PROPERTIES: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApacheKafka:
    """A running node."""

    bootstrap_servers: str
    log_directory: Path


def require_java() -> str:
    java = shutil.which("java")
    if java is None:
        raise Unavailable("`java` is not installed")
    return java


def kafka_jars() -> Path:
    """The folder with Apache Kafka's jars, downloaded from Maven Central on first use."""
    require_java()
    return cached(f"kafka-{KAFKA_VERSION}", _download_jars)


def java_command(jars: Path, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    return [require_java(), "-Xmx512m", *SMALL_JVM, *options, "-cp", f"{jars}{os.sep}*", *arguments]


def run_tool(
    jars: Path, main_class: str, *arguments: str, directory: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        java_command(jars, main_class, *arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=directory,
        timeout=TOOL_TIMEOUT_SECONDS,
        check=True,
    )


@contextmanager
def running_apache_kafka(
    jars: Path,
    directory: Path,
    properties: Mapping[str, str] | None = None,
    more_listeners: Mapping[str, int] | None = None,
) -> Iterator[ApacheKafka]:
    """Format `directory` and run a single node in it, broker and controller in one process.

    `more_listeners` are the ports of others, by their names; the properties say what they are.
    """
    directory.mkdir(parents=True, exist_ok=True)
    log_directory = directory / "data"
    broker_port, controller_port = free_port(), free_port()
    ports = {"PLAINTEXT": broker_port, "CONTROLLER": controller_port, **(more_listeners or {})}
    listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    settings = {
        **_SERVER_PROPERTIES,
        "listeners": listeners,
        "advertised.listeners": listeners,
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "log.dirs": str(log_directory),
        **(properties or {}),
    }
    configuration = directory / "server.properties"
    if not log_directory.exists():
        configuration.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        format_command = ("format", "--standalone", "-t", CLUSTER_ID, "-c", str(configuration))
        run_tool(jars, "kafka.tools.StorageTool", *format_command)
    configuration.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    logging = directory / "log4j2.properties"
    logging.write_text(_LOGGING)
    command = java_command(jars, "kafka.Kafka", str(configuration), options=(f"-Dlog4j2.configurationFile={logging}",))
    # They are opened one after the other, in no order that one could rely on.
    others = [port for port in ports.values() if port != broker_port]
    output, within = directory / "kafka.log", START_TIMEOUT_SECONDS
    with running_server(command, port=broker_port, output=output, within_seconds=within, more_ports=others):
        yield ApacheKafka(bootstrap_servers=f"127.0.0.1:{broker_port}", log_directory=log_directory)


@contextmanager
def running_apache_kafka_nodes(
    jars: Path, directory: Path, properties: Mapping[str, str] | None = None, *, nodes: int = 3
) -> Iterator[dict[int, str]]:
    """Several nodes in one JVM, each broker and controller; the address of each by its number."""
    directory.mkdir(parents=True, exist_ok=True)
    ports = {number: (free_port(), free_port()) for number in range(1, nodes + 1)}
    voters = ",".join(f"{number}@127.0.0.1:{controller}" for number, (_, controller) in ports.items())
    files = []
    for number, (broker, controller) in ports.items():
        listeners = f"PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}"
        settings = {
            **_SERVER_PROPERTIES,
            "node.id": str(number),
            "listeners": listeners,
            "advertised.listeners": listeners,
            "controller.quorum.voters": voters,
            "log.dirs": str(directory / f"node-{number}"),
            "log.cleaner.dedupe.buffer.size": str(4 << 20),
            **(properties or {}),
        }
        file = directory / f"node-{number}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        files.append(str(file))
    logging = directory / "log4j2.properties"
    logging.write_text(_LOGGING)
    source = Path(__file__).with_name("ApacheKafkaNodes.java")
    # The cleaners of three nodes take most of the heap of one.
    options = (f"-Xmx{nodes * 512}m", f"-Dlog4j2.configurationFile={logging}")
    command = java_command(jars, str(source), CLUSTER_ID, *files, options=options)
    output = directory / "kafka.log"
    first, *others = (broker for broker, _ in ports.values())
    within = START_TIMEOUT_SECONDS
    with running_server(command, port=first, output=output, within_seconds=within, more_ports=others):
        yield {number: f"127.0.0.1:{broker}" for number, (broker, _) in ports.items()}


def _download_jars(folder: Path) -> None:
    pom = folder / "pom.xml"
    pom.write_text(_POM)
    run_downloader(
        (
            "mvn",
            "--quiet",
            "--batch-mode",
            "--file",
            str(pom),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}",
            "-DincludeScope=runtime",
        ),
        directory=folder,
    )
