"""Scenario 37: a checkpoint that is restored from a copy, or has lost its newest files, on real Spark.

The output equals the input, or the query stops and says why; and it says so again until the checkpoint is right.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.client_reading import read_committed
from support.filled_topics import FilledTopics

from tidelog.testing.broker_thread import BrokerThread

pytestmark = pytest.mark.slow

OLDER = "the checkpoint is older than what was written"


class Pipeline:
    """A query from a topic of two partitions to another one, with at most 100 rows a micro-batch."""

    def __init__(self, spark: SparkSession, broker: BrokerThread, topics: FilledTopics, directory: Path) -> None:
        self._spark = spark
        self._servers = broker.bootstrap_servers
        self._topics = topics
        self.source = topics.create("restored-in", partitions=2)
        self.target = topics.create("restored-out", partitions=2)
        self.checkpoint = directory / "checkpoint"
        self.copy = directory / "copy"
        self.expected: list[str] = []

    def add(self, count: int, *, partition: int = 0) -> None:
        news = [f"{partition}-{len(self.expected) + number:05d}" for number in range(count)]
        self._topics.fill(self.source, news, partition=partition)
        self.expected += news

    def run(
        self,
        shape: Callable[[Pipeline], DataFrame] = lambda pipeline: pipeline.rows().selectExpr("value"),
        mode: str = "append",
        **options: str,
    ) -> None:
        writer = shape(self).writeStream.format("tidelog").outputMode(mode)
        chosen = {"kafka.bootstrap.servers": self._servers, "topic": self.target, **options}
        if "queryName" in chosen:
            writer = writer.queryName(chosen.pop("queryName"))
        else:
            chosen["checkpointLocation"] = str(self.checkpoint)
        for name, value in chosen.items():
            writer = writer.option(name, value)
        writer.trigger(availableNow=True).start().awaitTermination()

    def rows(self) -> DataFrame:
        reader = self._spark.readStream.format("tidelog").option("kafka.bootstrap.servers", self._servers)
        reader = reader.option("subscribe", self.source).option("startingOffsets", "earliest")
        return reader.option("maxOffsetsPerTrigger", "100").load()

    def output(self) -> list[str]:
        return sorted(value.decode() for value in asyncio.run(read_committed(self._servers, self.target)))

    def make_copy(self) -> None:
        shutil.copytree(self.checkpoint, self.copy)

    def restore(self) -> None:
        shutil.rmtree(self.checkpoint)
        shutil.copytree(self.copy, self.checkpoint)

    def lose(self, log: str, batch: int) -> None:
        for name in (str(batch), f".{batch}.crc"):
            (self.checkpoint / log / name).unlink(missing_ok=True)


@pytest.fixture
def pipeline(spark: SparkSession, broker: BrokerThread, topics: FilledTopics, tmp_path: Path) -> Pipeline:
    return Pipeline(spark, broker, topics, tmp_path)


def test_scenario_37_checkpoint_one_micro_batch_old_with_as_many_rows_stops(pipeline: Pipeline) -> None:
    pipeline.add(10)
    pipeline.run()
    pipeline.make_copy()
    pipeline.add(100)
    pipeline.run()
    written = pipeline.output()
    assert written == sorted(pipeline.expected)

    pipeline.restore()
    # Micro-batch 1 has 100 rows again: 25 of the old partition and 75 of the other one.
    pipeline.add(300, partition=1)
    overrides: list[dict[str, Any]] = [{}, {"changedBatch": "skip"}, {"missingMarker": "publish"}]
    for options in overrides:
        with pytest.raises(PySparkException, match=OLDER):
            pipeline.run(**options)
    assert pipeline.output() == written


def _counts(pipeline: Pipeline) -> DataFrame:
    """Always five rows, whatever the input: how many there were by the last digit, modulo 5."""
    digits = pipeline.rows().selectExpr("CAST(substr(CAST(value AS STRING), -1) AS INT) % 5 AS digit")
    return digits.groupBy("digit").count().selectExpr("to_json(struct(digit, count)) AS value")


def test_scenario_37_aggregate_that_always_has_as_many_rows_stops(pipeline: Pipeline) -> None:
    pipeline.add(10)
    pipeline.run(_counts, "complete")
    pipeline.make_copy()
    pipeline.add(10)
    pipeline.run(_counts, "complete")

    pipeline.restore()
    pipeline.add(10)
    with pytest.raises(PySparkException, match=OLDER):
        pipeline.run(_counts, "complete")

    # What was written is right: the counts of 10 rows, and those of 20.
    counts = Counter(json.loads(value)["count"] for value in pipeline.output())
    assert counts == {2: 5, 4: 5}


def test_scenario_37_newest_files_of_the_checkpoint_are_lost(pipeline: Pipeline) -> None:
    for _ in range(2):
        pipeline.add(100)
        pipeline.run()

    # Without its offsets, micro-batch 1 is planned again: with the same input it is the same.
    for log in ("offsets", "commits"):
        pipeline.lose(log, 1)
    pipeline.run()
    assert pipeline.output() == sorted(pipeline.expected)

    # The offsets alone: Spark runs what it holds for the newest one.
    pipeline.lose("offsets", 1)
    with pytest.raises(PySparkException, match=OLDER):
        pipeline.run()
    pipeline.lose("commits", 1)
    pipeline.add(100, partition=1)
    written = pipeline.output()
    with pytest.raises(PySparkException, match=OLDER):
        pipeline.run()
    assert pipeline.output() == written


def _windows(pipeline: Pipeline) -> DataFrame:
    """Two sources; each row is a window of its own, which is closed when a later one has come."""
    both = pipeline.rows().selectExpr("value").union(pipeline.rows().selectExpr("value").where("value IS NULL"))
    moments = both.selectExpr("timestamp_seconds(60 * CAST(substr(CAST(value AS STRING), 3) AS INT)) AS moment")
    counts = moments.withWatermark("moment", "1 second").groupBy("moment").count()
    return counts.selectExpr("to_json(struct(moment, count)) AS value")


def test_what_is_read_is_known_for_a_named_query_below_the_checkpoint_of_the_session(
    pipeline: Pipeline, spark: SparkSession, tmp_path: Path
) -> None:
    """With several sources, windows that are closed by micro-batches without data, and the newer kind of offset log."""
    settings = {
        "spark.sql.streaming.checkpointLocation": str(tmp_path / "all"),
        "spark.sql.streaming.offsetLog.formatVersion": "2",
        "spark.sql.shuffle.partitions": "2",
    }
    before = {name: spark.conf.get(name, None) for name in settings}
    pipeline.checkpoint = tmp_path / "all" / "windows"
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        for _ in range(2):
            pipeline.add(10)
            pipeline.run(_windows, queryName="windows")
        newest = max(int(path.name) for path in (pipeline.checkpoint / "commits").iterdir() if path.name.isdecimal())
        assert newest > 1, "there were no micro-batches without data"
        written = pipeline.output()
        # The driver dies after the commit of each kind of micro-batch.
        for batch in (newest, newest - 1):
            pipeline.lose("commits", batch)
            if batch != newest:
                pipeline.lose("commits", newest)
            pipeline.run(_windows, queryName="windows")
            assert pipeline.output() == written

        pipeline.make_copy()
        pipeline.add(10)
        pipeline.run(_windows, queryName="windows")
        written = pipeline.output()
        pipeline.restore()
        pipeline.add(10)
        with pytest.raises(PySparkException, match=OLDER):
            pipeline.run(_windows, queryName="windows")
        assert pipeline.output() == written
    finally:
        for name, was in before.items():
            spark.conf.unset(name) if was is None else spark.conf.set(name, was)
