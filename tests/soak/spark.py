"""Many rows through the pipeline `transform`, against Apache Kafka, with memory and rate watched from outside.

`PYTHONPATH=tests python -m soak.spark --rows 50000000` runs it on local[2], with `--cluster` on a standalone cluster of
two workers. Rows are 200 bytes. A feeder stays a little ahead of the pipeline and a reader reads behind it: old
segments are deleted meanwhile, so that the disk holds a few gigabytes however many rows there are. The exit code is 1
if a row is lost or comes twice, if memory grows, or if the rate falls. `make soak-spark` runs both.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pyarrow.compute as pc
from confluent_kafka import Producer
from soak.spark_samples import Sample, describe, problems
from support.apache_kafka import kafka_jars, running_apache_kafka
from support.download_cache import Unavailable
from support.filled_topics import FilledTopics
from support.processes import free_port, start_process, stop_process, tail
from support.spark_cluster import running_spark_cluster
from support.tidelog_process import tidelog_command

import tidelog.spark.pipelines.__main__
from tidelog.client.consumer import Consumer

PARTITIONS = 4
ROW_BYTES = 200
DIGITS = 12
# How far the feeder may be ahead of the pipeline; it is what retention has to keep.
AHEAD_ROWS = 3_000_000
RETENTION = {"retention.bytes": str(2 << 30), "segment.bytes": str(128 << 20)}
START_SECONDS = 300.0
# Without a row for so long the run has failed.
STUCK_SECONDS = 600.0

_SETTINGS = """
pipeline = "transform"
name = "soak"
checkpoint = "{checkpoint}"
retry_for = 0
[source]
bootstrap_servers = "{servers}"
topics = ["source"]
max_records_per_batch = {batch_rows}
[query]
sql = "SELECT key, value, record.partition AS partition FROM records"
[target]
bootstrap_servers = "{servers}"
topic = "target"
[service]
port = {port}
"""
_LOCAL = """
[spark]
master = "local[2]"
config."spark.driver.memory" = "1g"
"""
_ROWS = re.compile(r"^tidelog_pipeline_rows_total\{.*\} (\S+)$", re.MULTILINE)


class Soak:
    def __init__(self, rows: int, batch_rows: int, every_seconds: float, say: Callable[[str], None]) -> None:
        self._rows = rows
        self._batch_rows = batch_rows
        self._every_seconds = every_seconds
        self._say = say
        self._processed = 0
        self.problems: list[str] = []

    def run(self, directory: Path, *, cluster: bool) -> None:
        with ExitStack() as stack:
            topic = {"log.retention.check.interval.ms": "5000"}
            kafka = stack.enter_context(running_apache_kafka(kafka_jars(), directory / "kafka", topic))
            servers = kafka.bootstrap_servers
            topics = FilledTopics(servers)
            for name in ("source", "target"):
                topics.create(name=name, partitions=PARTITIONS, config=RETENTION)
            master = stack.enter_context(running_spark_cluster(directory / "spark")) if cluster else None
            feeding = stack.enter_context(_in_thread(lambda stop: self._feed(servers, stop)))
            reader = Reader(servers, self._rows)
            reading = stack.enter_context(_in_thread(lambda stop: asyncio.run(reader.run(stop))))
            samples = self._watch(stack, directory, servers, master)
            reading.join(STUCK_SECONDS)
            feeding.join()
        self.problems += reader.problems()
        self.problems += problems(samples)

    def _watch(self, stack: ExitStack, directory: Path, servers: str, master: str | None) -> list[Sample]:
        port = free_port()
        toml = directory / "soak.toml"
        text = _SETTINGS.format(
            checkpoint=directory / "checkpoint", servers=servers, port=port, batch_rows=self._batch_rows
        )
        toml.write_text(text if master else text + _LOCAL)
        output = directory / "pipeline.log"
        process = start_process(_command(toml, master), output=output, environment=_environment(master))
        stack.callback(stop_process, process)
        started = time.monotonic()
        samples: list[Sample] = []
        progress_at = started
        while self._processed < self._rows:
            time.sleep(min(1.0, self._every_seconds))
            if process.poll() is not None:
                self.problems.append(f"the pipeline ended with {process.returncode}:\n{tail(output)}")
                return samples
            rows = _rows_of(port)
            now = time.monotonic()
            if rows > self._processed:
                self._processed, progress_at = rows, now
            elif now - progress_at > STUCK_SECONDS:
                self.problems.append(f"no row was processed for {STUCK_SECONDS:.0f} s:\n{tail(output)}")
                return samples
            if self._processed and (not samples or now - started - samples[-1].seconds >= self._every_seconds):
                samples.append(Sample(seconds=now - started, rows=self._processed, memory=_memory()))
                if len(samples) > 1:
                    self._say(describe(*samples[-2:]))
        taken = time.monotonic() - started
        self._say(f"{self._processed:,} rows in {taken:.0f} s, start of Spark included")
        return samples

    def _feed(self, servers: str, stop: threading.Event) -> None:
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "compression.type": "none", "log_level": 0})
        padding = "x" * (ROW_BYTES - DIGITS)
        for number in range(self._rows):
            if number % 10_000 == 0:
                while number - self._processed > AHEAD_ROWS and not stop.is_set():
                    producer.poll(0.1)
                if stop.is_set():
                    return
            value = f"{number:0{DIGITS}d}{padding}"
            while True:
                try:
                    producer.produce("source", value, partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.05)
        if producer.flush(STUCK_SECONDS):
            self.problems.append("the feeder could not send all rows")


class Reader:
    """Reads what is committed at the target. Numbers of a partition have to come each once and in order."""

    def __init__(self, servers: str, rows: int) -> None:
        self._servers = servers
        self._wanted = rows
        self._next = {partition: partition for partition in range(PARTITIONS)}
        self._found: list[str] = []
        self.rows = 0

    async def run(self, stop: threading.Event) -> None:
        config = {"bootstrap.servers": self._servers, "isolation.level": "read_committed"}
        async with Consumer(config=config | {"auto.offset.reset": "earliest"}) as consumer:
            consumer.assign(await consumer.partitions_for("target"))
            while self.rows < self._wanted and not stop.is_set():
                batch = await consumer.fetch_arrow(timeout_ms=500, with_headers=False)
                if batch.num_rows:
                    self._check(batch)

    def _check(self, batch: object) -> None:
        values = batch.column("value")  # type: ignore[attr-defined]
        numbers = pc.cast(pc.cast(pc.binary_slice(values, 0, DIGITS), "string"), "int64").to_numpy()
        partitions = batch.column("partition").to_numpy()  # type: ignore[attr-defined]
        for partition in set(partitions.tolist()):
            own = numbers[partitions == partition]
            first = self._next[partition]
            steps = own[1:] - own[:-1]
            if own[0] != first or (steps != PARTITIONS).any():
                self._found.append(f"partition {partition} goes on with {own[0]} instead of {first}, or has a gap")
            self._next[partition] = int(own[-1]) + PARTITIONS
        self.rows += len(numbers)

    def problems(self) -> list[str]:
        found = self._found[:10]
        if self.rows != self._wanted:
            found.append(f"{self.rows:,} rows are at the target instead of {self._wanted:,}")
        return found


def _command(toml: Path, master: str | None) -> list[str]:
    if master is None:
        return [tidelog_command(), "pipeline", "run", str(toml)]
    program = str(Path(sys.executable).with_name("spark-submit"))
    settings = ["--conf", "spark.executor.memory=512m", "--conf", "spark.driver.bindAddress=127.0.0.1"]
    settings += ["--conf", "spark.driver.host=127.0.0.1", "--driver-memory", "1g"]
    return [program, "--master", master, *settings, tidelog.spark.pipelines.__main__.__file__, str(toml)]


def _environment(master: str | None) -> dict[str, str]:
    return {} if master is None else {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def _rows_of(port: int) -> int:
    with suppress(OSError, urllib.error.URLError):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as reply:
            found = _ROWS.search(reply.read().decode())
        return int(float(found[1])) if found else 0
    return 0


def _memory() -> dict[str, int]:
    """Resident memory of what this process has started, by kind. What processes share is counted once."""
    found: dict[str, int] = defaultdict(int)
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            kind = _kind(" ".join(process.cmdline()))
            if kind == "Python":
                found[kind] += process.memory_full_info().pss
            elif kind is not None:
                found[kind] += process.memory_info().rss
    return dict(found)


def _kind(command: str) -> str | None:
    if "kafka.Kafka" in command or "deploy.master" in command or "deploy.worker" in command:
        return None
    if "org.apache.spark" in command:
        return "JVM"
    return "Python" if "python" in command or "tidelog" in command else None


@contextmanager
def _in_thread(work: Callable[[threading.Event], None]) -> Iterator[threading.Thread]:
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,), daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--batch-rows", type=int, default=500_000, help="the most rows in one micro-batch")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between samples")
    parser.add_argument("--cluster", action="store_true", help="a master and two workers instead of local[2]")
    given = parser.parse_args()
    soak = Soak(given.rows, given.batch_rows, given.every, lambda line: print(line, flush=True))
    print(f"{given.rows:,} rows of {ROW_BYTES} B through transform on {'two workers' if given.cluster else 'local[2]'}")
    try:
        with tempfile.TemporaryDirectory(prefix="tidelog-soak-spark-") as directory:
            soak.run(Path(directory), cluster=given.cluster)
    except Unavailable as problem:
        print(f"Apache Kafka cannot be had: {problem}", file=sys.stderr)
        return 1
    except (subprocess.SubprocessError, OSError) as problem:
        print(f"the run failed: {problem}", file=sys.stderr)
        return 1
    for found in soak.problems:
        print(f"PROBLEM: {found}")
    print("each row came once and in order; memory and rate are steady" if not soak.problems else "it does not hold")
    return 1 if soak.problems else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())
