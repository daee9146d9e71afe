"""Spark on two cores, with the broker on the same ones: rows per second in and out, beside Spark's own connector.

Both connectors read and write the same topics of the same broker in the same run, one after the other in turns, so that
whatever else the machine does meets both. Where Spark's connector cannot be had, only ours is measured.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession

from benchmarks import spark_memory, spark_start
from benchmarks.broker_process import broker
from tidelog.records.implementation import REASON
from tidelog.spark.session.session import spark_session

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.download_cache import Unavailable
from support.spark_connector import connector_jars, connector_version

VALUE_BYTES = 100
PARTITIONS = 4
SOURCE_ROWS = 1_200_000
# Rows of a micro-batch, and how many micro-batches. About 0.12 s of each are Spark's own, whoever writes: planning, and
# its logs of offsets and commits. Of small micro-batches that is a third.
SINK_SIZES = {200_000: 6, 1_000_000: 4}
TURNS = 3

SOURCE_GOAL = 300_000
SINK_GOAL = 150_000
SOURCE_RATIO_GOAL = 1.2
SINK_RATIO_GOAL = 1.5
# Seconds from start() to the end of the first micro-batch of a new session.
START_GOAL = 8.0
START_ROWS = 1_000
START_TURNS = 3

OURS, THEIRS = "tidelog", "kafka"
_QUERY_TIMEOUT_SECONDS = 600

Row = tuple[str, str, str]


def run() -> Iterator[Row]:
    jars = []
    version = ""
    try:
        jars = connector_jars()
        version = connector_version(jars)
    except Unavailable as problem:
        yield ("Spark's own connector", f"cannot be had: {problem}", "")
    if REASON:
        yield ("record codec", f"not compiled: {REASON}", "")
    with broker() as server:
        yield from _start(server.bootstrap_servers, jars, version)
        yield from _memory(server.bootstrap_servers, jars, version)
    with broker() as server, tempfile.TemporaryDirectory(prefix="tidelog-bench-") as folder:
        spark = spark_session(
            "benchmark",
            master="local[2]",
            settings={"spark.log.level": "ERROR", "spark.jars": ",".join(map(str, jars))},
        )
        try:
            bench = SparkBench(
                spark, server.bootstrap_servers, Path(folder), (OURS, *([THEIRS] if jars else [])), version
            )
            yield from bench.source()
            yield from bench.sink()
        finally:
            spark.stop()


def _start(servers: str, jars: Sequence[Path], version: str) -> Iterator[Row]:
    """Before the session of the others, since a JVM that waits needs memory too."""
    create_topic(servers, "read-first")
    fill(servers, "read-first", START_ROWS)
    seconds: dict[str, list[float]] = {name: [] for name in (OURS, *([THEIRS] if jars else []))}
    for turn in range(START_TURNS):
        for name, values in seconds.items():
            target = f"written-first-{name}-{turn}"
            create_topic(servers, target)
            values.append(spark_start.measured(name, servers, "read-first", target, jars))
    typical = {name: statistics.median(values) for name, values in seconds.items()}
    what = "start() to the end of the first micro-batch, local[2]"
    yield (f"{what}: tidelog", f"{typical[OURS]:.1f} s", f"<= {START_GOAL:.0f} s")
    if THEIRS in typical:
        yield (f"{what}: Spark's connector {version}", f"{typical[THEIRS]:.1f} s", "")


def _memory(servers: str, jars: Sequence[Path], version: str) -> Iterator[Row]:
    create_topic(servers, "read-whole")
    fill(servers, "read-whole", SOURCE_ROWS)
    what = f"memory of a job over {SOURCE_ROWS:,} rows, local[2], JVM + Python"
    for name in (OURS, *([THEIRS] if jars else [])):
        target = f"written-whole-{name}"
        create_topic(servers, target)
        peak = spark_memory.measured(name, servers, "read-whole", target, jars)
        named = "tidelog, exactly once" if name == OURS else f"Spark's connector {version}"
        yield (f"{what}: {named}", f"{peak.jvm:,.0f} + {peak.python:,.0f} MB", "")


class SparkBench:
    def __init__(
        self, spark: SparkSession, servers: str, folder: Path, connectors: tuple[str, ...], version: str
    ) -> None:
        self._spark = spark
        self._servers = servers
        self._folder = folder
        self._connectors = connectors
        self._version = version

    def source(self) -> Iterator[Row]:
        topic = "read"
        create_topic(self._servers, topic)
        fill(self._servers, topic, SOURCE_ROWS)
        rates: dict[str, list[float]] = {name: [] for name in self._connectors}
        for turn in range(TURNS + 1):
            for name in self._connectors:
                rate = self._read(name, topic)
                # The first turn is for compilers and caches to get warm.
                if turn:
                    rates[name].append(rate)
        yield from self._rows("source", rates, OURS, SOURCE_GOAL, SOURCE_RATIO_GOAL)

    def sink(self) -> Iterator[Row]:
        for rows, batches in SINK_SIZES.items():
            yield from self._sink(rows, batches)

    def _sink(self, rows: int, batches: int) -> Iterator[Row]:
        files = self._folder / f"input-{rows}"
        self.write_files(files, batches=batches, rows_per_batch=rows)
        ways: dict[str, tuple[str, Mapping[str, str]]] = {
            "exactly once": (OURS, {}),
            "at least once": (OURS, {"delivery": "at_least_once"}),
        }
        if THEIRS in self._connectors:
            ways[THEIRS] = (THEIRS, {})
        rates: dict[str, list[float]] = {label: [] for label in ways}
        for turn in range(TURNS + 1):
            for label, (name, options) in ways.items():
                target = f"written-{label.replace(' ', '-')}-{rows}-{turn}"
                create_topic(self._servers, target)
                measured_rates = self.write(name, files, target, options)
                # As with the source, the first turn is for compilers and caches to get warm.
                if turn:
                    rates[label] += measured_rates
        shutil.rmtree(files)
        yield from self._rows(f"sink, {rows:,} rows a micro-batch", rates, "exactly once", SINK_GOAL, SINK_RATIO_GOAL)

    def _rows(
        self, what: str, rates: Mapping[str, list[float]], ours: str, goal: float, ratio_goal: float
    ) -> Iterator[Row]:
        typical = {label: statistics.median(values) for label, values in rates.items()}
        for label, rate in typical.items():
            bound = f">= {goal:,}" if label == ours else ""
            named = f"Spark's connector {self._version}" if label == THEIRS else f"tidelog, {label}"
            named = "tidelog" if label == OURS else named
            yield (f"{what}, {VALUE_BYTES} B values, local[2]: {named}", f"{rate:,.0f} rows/s", bound)
        if THEIRS in typical:
            ratio = typical[ours] / typical[THEIRS]
            yield (f"{what}: tidelog / Spark's connector", f"{ratio:.2f}", f">= {ratio_goal}")

    def _read(self, name: str, topic: str) -> float:
        table = (
            self._spark.read.format(name)
            .option("kafka.bootstrap.servers", self._servers)
            .option("kafka.isolation.level", "read_committed")
            .option("subscribe", topic)
            .load()
        )
        started = time.perf_counter()
        table.write.format("noop").mode("overwrite").save()
        return SOURCE_ROWS / (time.perf_counter() - started)

    def write(self, name: str, files: Path, target: str, options: Mapping[str, str]) -> list[float]:
        """Rows per second of each micro-batch but the first."""
        return [
            times["numInputRows"] * 1000 / times["triggerExecution"]
            for times in self.durations(name, files, target, options)
        ]

    def durations(self, name: str, files: Path, target: str, options: Mapping[str, str]) -> list[dict[str, int]]:
        """Milliseconds by step of each micro-batch but the first, as Spark reports them, with its number of rows."""
        checkpoint = self._folder / f"checkpoint-{target}"
        query = (
            self._input(files)
            .writeStream.format(name)
            .option("kafka.bootstrap.servers", self._servers)
            .option("topic", target)
            .options(**options)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            assert query.awaitTermination(_QUERY_TIMEOUT_SECONDS)
            measured_times = [
                {**batch.durationMs, "numInputRows": batch.numInputRows}
                for batch in query.recentProgress
                if batch.numInputRows
            ]
        finally:
            query.stop()
            shutil.rmtree(checkpoint, ignore_errors=True)
        return measured_times[1:]

    def _input(self, files: Path) -> DataFrame:
        return (
            self._spark.readStream.schema("key BINARY, value BINARY")
            .option("maxFilesPerTrigger", PARTITIONS)
            .parquet(str(files))
        )

    def write_files(self, files: Path, *, batches: int, rows_per_batch: int) -> None:
        """Each micro-batch takes as many files as there are partitions."""
        (
            self._spark.range(0, batches * rows_per_batch, numPartitions=batches * PARTITIONS)
            .selectExpr(
                "CAST(CAST(id AS STRING) AS BINARY) AS key", f"CAST(lpad(id, {VALUE_BYTES}, 'v') AS BINARY) AS value"
            )
            .write.parquet(str(files))
        )


def create_topic(servers: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(60)


def fill(servers: str, topic: str, rows: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, "batch.size": 256 * 1024})
    value = b"v" * VALUE_BYTES
    for number in range(rows):
        while True:
            try:
                producer.produce(topic, value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(300) == 0
