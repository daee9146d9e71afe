"""`exactly_once_batch` inside of Spark, on whichever version runs the tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.filled_topics import FilledTopics, committed_values

import tidelog.spark
from tidelog.spark.sink.errors import InvalidSinkOptions
from tidelog.testing.broker_thread import BrokerThread

Read = Callable[[str], list[str]]
QUERY_SECONDS = 180


@pytest.fixture
def read(broker: BrokerThread) -> Read:
    return lambda topic: committed_values(broker.bootstrap_servers, topic)


class Query:
    """A query over text files, one micro-batch for each, that is run again and again from its checkpoint."""

    def __init__(self, spark: SparkSession, directory: Path, broker: BrokerThread, topic: str) -> None:
        self._spark = spark
        self._input = directory / "input"
        self._input.mkdir()
        self.checkpoint = directory / "checkpoint"
        self._options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic}
        self._files = 0

    def add(self, *values: str) -> None:
        path = self._input / f"{self._files:04d}.txt"
        path.write_text("".join(f"{value}\n" for value in values))
        os.utime(path, (1_700_000_000 + 60 * self._files,) * 2)
        self._files += 1

    def replace_last(self, *values: str) -> None:
        (self._input / f"{self._files - 1:04d}.txt").unlink()
        self.add(*values)

    def run(self, mode: str, change: Callable[[DataFrame], DataFrame], **options: str) -> None:
        lines = self._spark.readStream.format("text").option("maxFilesPerTrigger", "1").load(str(self._input))
        function = tidelog.spark.exactly_once_batch(self._options, **options)
        writer = change(lines).writeStream.outputMode(mode).option("checkpointLocation", str(self.checkpoint))
        query = writer.foreachBatch(function).trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(QUERY_SECONDS)
        finally:
            query.stop()

    def run_data_source(self) -> None:
        lines = self._spark.readStream.format("text").option("maxFilesPerTrigger", "1").load(str(self._input))
        writer = lines.writeStream.format("tidelog").options(**self._options)
        query = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(QUERY_SECONDS)
        finally:
            query.stop()

    def forget_commit(self, batch: int) -> None:
        """As if the driver had died before Spark took note of the commit."""
        for name in (str(batch), f".{batch}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)


def counts(lines: DataFrame) -> DataFrame:
    return lines.groupBy("value").count().selectExpr("value AS key", "concat(value, count) AS value")


@pytest.fixture
def topic(topics: FilledTopics) -> str:
    return topics.create("foreach-batch")


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path, broker: BrokerThread, topic: str) -> Query:
    return Query(spark, tmp_path, broker, topic)


def test_update_mode_writes_what_has_changed_once(query: Query, topic: str, read: Read) -> None:
    query.add("a", "b")
    query.add("a", "a")
    query.run("update", counts)
    query.forget_commit(1)
    query.add("b", "c")

    query.run("update", counts)

    assert sorted(read(topic)) == ["a1", "a3", "b1", "b2", "c1"]


@pytest.mark.skipif(pyspark.__version__ < "4", reason="Spark has data sources in Python since 4.0")
def test_query_of_the_data_source_can_be_continued(query: Query, topic: str, read: Read) -> None:
    query.add("a", "b")
    query.run_data_source()
    query.forget_commit(0)
    query.add("c")
    query.run("append", lambda lines: lines.coalesce(1))
    query.forget_commit(1)
    query.add("d")

    query.run_data_source()

    assert read(topic) == ["a", "b", "c", "d"]


def test_append_mode_keeps_the_order_and_stages_large_outputs(query: Query, topic: str, read: Read) -> None:
    rows = [f"row-{number:05d}" for number in range(300)]
    query.add(*rows[:100])
    query.add(*rows[100:200])
    query.run("append", lambda lines: lines.coalesce(1), inlineBytes="10")
    query.forget_commit(1)
    query.add(*rows[200:])

    query.run("append", lambda lines: lines.coalesce(1), inlineBytes="10")

    assert read(topic) == rows
    assert not list((query.checkpoint / "tidelog-staging").iterdir())


@pytest.mark.parametrize("atomicity", ["task", "prepared"])
def test_other_kinds_of_delivery_go_through_the_same_entrance(
    spark: SparkSession, tmp_path: Path, atomicity: str
) -> None:
    with BrokerThread(properties={"transaction.two.phase.commit.enable": "true"}) as broker:
        topic = FilledTopics(broker.bootstrap_servers).create()
        query = Query(spark, tmp_path, broker, topic)
        query.add("a", "b")
        query.add("c")
        query.run("append", lambda lines: lines.coalesce(1), atomicity=atomicity)
        query.forget_commit(1)
        query.add("d")

        query.run("append", lambda lines: lines.coalesce(1), atomicity=atomicity)

        assert committed_values(broker.bootstrap_servers, topic) == ["a", "b", "c", "d"]


def test_complete_mode_writes_the_whole_result_every_time(query: Query, topic: str, read: Read) -> None:
    query.add("a", "b")
    query.add("a")

    query.run("complete", counts)

    assert sorted(read(topic)) == ["a1", "a2", "b1", "b1"]


def test_query_stops_loudly_when_its_note_is_lost(query: Query, topic: str, read: Read) -> None:
    query.add("a")
    query.run("update", counts)
    query.add("a")

    with pytest.raises(PySparkException, match="missingMarker=publish") as refused:
        query.run("update", counts, transactionalIdPrefix="another")

    said = tidelog.spark.explain(refused.value)
    assert said.startswith("micro-batch 1 is to be published, but group 'another-")
    assert said.endswith("start the query once with the option missingMarker=publish")
    assert read(topic) == ["a1"]


def test_query_stops_loudly_when_its_checkpoint_is_one_batch_old(query: Query, topic: str, read: Read) -> None:
    query.add("a")
    query.run("complete", counts)
    copy = query.checkpoint.with_name("copy")
    shutil.copytree(query.checkpoint, copy)
    query.add("a")
    query.run("complete", counts)
    shutil.rmtree(query.checkpoint)
    copy.rename(query.checkpoint)
    # The same number of the same rows, but from another file.
    query.replace_last("a")

    with pytest.raises(PySparkException, match="already in the topics, but with other input"):
        query.run("complete", counts)

    assert read(topic) == ["a1", "a2"]


def test_checkpoint_of_another_query_is_refused(query: Query, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "metadata").write_text('{"id":"11111111-2222-3333-4444-555555555555"}')
    query.add("a")

    with pytest.raises(PySparkException, match="is that of query 11111111"):
        query.run("update", counts, checkpointLocation=str(other))
    query.run("update", counts, checkpointLocation=str(query.checkpoint))


def test_function_that_is_called_by_hand_says_so(spark: SparkSession, broker: BrokerThread) -> None:
    function = tidelog.spark.exactly_once_batch({"topic": "t", "kafka.bootstrap.servers": broker.bootstrap_servers})

    with pytest.raises(InvalidSinkOptions, match="outside of foreachBatch"):
        function(spark.createDataFrame([("a",)], "value string"), 0)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"topics": "t"}, "topics"),
        ({"topic": "t", "jobId": "j"}, "jobId is for df.write"),
        ({"topic": "t", "delivery": "at_least_once"}, "delivery=at_least_once contradicts exactly_once_batch"),
    ],
)
def test_options_are_checked_before_the_query_starts(options: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidSinkOptions, match=problem):
        tidelog.spark.exactly_once_batch({"kafka.bootstrap.servers": "localhost:1", **options})
