"""The source inside of Spark: found by name, read in batches and as a stream, restarted from a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.filled_topics import FilledTopics

from tidelog.testing.broker_thread import BrokerThread

_QUERY_TIMEOUT_SECONDS = 120


class Reading:
    """`spark.read` and `spark.readStream` of tidelog, with the address filled in."""

    def __init__(self, spark: SparkSession, broker: BrokerThread) -> None:
        self._spark = spark
        self._servers = broker.bootstrap_servers

    def batch(self, **options: Any) -> DataFrame:
        return self._spark.read.format("tidelog").options(**self._given(options)).load()

    def stream(self, **options: Any) -> DataFrame:
        return self._spark.readStream.format("tidelog").options(**self._given(options)).load()

    def _given(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"kafka.bootstrap.servers": self._servers, **options}


@pytest.fixture
def reading(spark: SparkSession, broker: BrokerThread) -> Reading:
    return Reading(spark, broker)


def drain(stream: DataFrame, checkpoint: Path, target: Path) -> list[Any]:
    """Write all that is there to files; returns the progress of each batch."""
    query = (
        stream.writeStream.format("parquet")
        .option("checkpointLocation", str(checkpoint))
        .option("path", str(target))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(_QUERY_TIMEOUT_SECONDS)
        return list(query.recentProgress)
    finally:
        query.stop()


def test_topics_are_a_table_for_spark(reading: Reading, topics: FilledTopics) -> None:
    topic = topics.create("orders", partitions=3)
    for partition in range(3):
        topics.fill(topic, [f'{{"amount": {amount}}}' for amount in range(100)], partition=partition, key=b"k")

    rows = (
        reading.batch(subscribe=topic)
        .selectExpr("partition", "CAST(get_json_object(CAST(value AS STRING), '$.amount') AS INT) AS amount")
        .groupBy("partition")
        .sum("amount")
        .collect()
    )

    assert {row["partition"]: row["sum(amount)"] for row in rows} == dict.fromkeys(range(3), 4950)


def test_headers_and_times_arrive_in_spark(reading: Reading, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, ["a"], headers=[("trace", b"1")], timestamp=1_700_000_000_123)

    (row,) = reading.batch(subscribe=topic, includeHeaders="true").collect()

    assert row.headers[0].key == "trace"
    assert bytes(row.headers[0].value) == b"1"
    assert row.timestamp.timestamp() == pytest.approx(1_700_000_000.123)


def test_a_topic_without_records_is_an_empty_table(reading: Reading, topics: FilledTopics) -> None:
    assert reading.batch(subscribe=topics.create()).count() == 0


def test_a_reader_that_has_seen_enough_leaves_the_worker_usable(reading: Reading, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, [str(number) for number in range(2000)])
    table = reading.batch(subscribe=topic, **{"kafka.max.partition.fetch.bytes": "4000"})

    assert len(table.limit(3).collect()) == 3
    assert table.count() == 2000


def test_wrong_options_are_told_before_a_query_runs(reading: Reading) -> None:
    with pytest.raises(PySparkException, match="did you mean startingOffsets"):
        reading.batch(subscribe="a", startingOffset="earliest").count()
    with pytest.raises(PySparkException, match=r"kafka\.auto\.offset\.reset is not supported"):
        reading.batch(subscribe="a", **{"kafka.auto.offset.reset": "earliest"}).count()


def test_a_stream_goes_on_where_it_was_after_a_restart(
    spark: SparkSession, reading: Reading, topics: FilledTopics, tmp_path: Path
) -> None:
    topic = topics.create(partitions=2)
    checkpoint, target = tmp_path / "checkpoint", tmp_path / "out"
    expected = []
    for run in range(2):
        words = [f"{run}.{number}" for number in range(50)]
        topics.fill(topic, words, partition=run % 2)
        topics.transaction(topic, ["never"], commit=False, partition=run % 2)
        expected += words
        stream = reading.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=40)
        progress = drain(stream.selectExpr("CAST(value AS STRING) AS word"), checkpoint, target)

        assert sum(batch.numInputRows for batch in progress) == 50
        last = progress[-1].sources[0]
        assert json.loads(last.endOffset) == json.loads(last.latestOffset)

    assert sorted(row.word for row in spark.read.parquet(str(target)).collect()) == sorted(expected)


def test_a_stream_sees_new_records_and_new_partitions_while_it_runs(
    spark: SparkSession, reading: Reading, topics: FilledTopics, tmp_path: Path
) -> None:
    topic = topics.create()
    stream = reading.stream(subscribe=topic, startingOffsets="latest").selectExpr("CAST(value AS STRING) AS word")
    name = "seen_" + topic.replace("-", "_")
    query = stream.writeStream.format("memory").queryName(name).option("checkpointLocation", str(tmp_path)).start()
    try:
        query.processAllAvailable()
        topics.fill(topic, ["first"])
        query.processAllAvailable()
        seen_first = [row.word for row in spark.table(name).collect()]
        topics.grow(topic, 2)
        topics.fill(topic, ["second"], partition=1)
        query.processAllAvailable()
        seen_last = [row.word for row in spark.table(name).collect()]
    finally:
        query.stop()

    assert seen_first == ["first"]
    assert sorted(seen_last) == ["first", "second"]


def test_one_batch_can_be_asked_for(reading: Reading, topics: FilledTopics, tmp_path: Path) -> None:
    topic = topics.create()
    topics.fill(topic, [str(number) for number in range(20)])
    stream = reading.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=5)
    query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).trigger(once=True).start()
    try:
        assert query.awaitTermination(_QUERY_TIMEOUT_SECONDS)
        # A limit does not hold for a single batch: it takes all that there is.
        assert [batch.numInputRows for batch in query.recentProgress] == [20]
    finally:
        query.stop()
