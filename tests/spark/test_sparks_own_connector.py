"""Spark's own Kafka connector reads and writes on a tidelog broker, and gives the same rows as ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.download_cache import Unavailable
from support.filled_topics import FilledTopics
from support.secure_tidelog import running_secure
from support.spark_connector import connector_jars

from tidelog.testing.broker_thread import BrokerThread

pytestmark = [pytest.mark.maven, pytest.mark.slow]

_QUERY_TIMEOUT_SECONDS = 120


@pytest.fixture(scope="module")
def spark_with_connector(spark: SparkSession) -> SparkSession:
    try:
        jars = connector_jars()
    except Unavailable as problem:
        pytest.skip(f"Spark's own connector cannot be had: {problem}")
    for jar in jars:
        spark.sql(f"ADD JAR '{jar}'")
    return spark


class Both:
    """The same table through one connector or the other."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        self._spark = spark
        self._options = {f"kafka.{name}": value for name, value in options.items()}

    def read(self, connector: str, topic: str) -> list[tuple[object, ...]]:
        table = (
            self._spark.read.format(connector)
            .options(**self._options)
            .option("kafka.isolation.level", "read_committed")
            .option("includeHeaders", "true")
            .option("subscribe", topic)
            .load()
        )
        return [tuple(row) for row in table.orderBy("partition", "offset").collect()]

    def write(self, connector: str, rows: DataFrame, topic: str) -> None:
        rows.write.format(connector).options(**self._options).option("topic", topic).save()

    def copy(self, connector: str, source: str, target: str, checkpoint: Path) -> None:
        query = (
            self._spark.readStream.format(connector)
            .options(**self._options)
            .option("subscribe", source)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", "400")
            .load()
            .writeStream.format(connector)
            .options(**self._options)
            .option("topic", target)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            assert query.awaitTermination(_QUERY_TIMEOUT_SECONDS)
            assert query.exception() is None
        finally:
            query.stop()


@pytest.fixture
def both(spark_with_connector: SparkSession, broker: BrokerThread) -> Both:
    return Both(spark_with_connector, broker.client_options)


@pytest.mark.parametrize("nodes", [1, 3])
def test_sparks_connector_over_tls_with_a_password(
    spark_with_connector: SparkSession, tmp_path: Path, nodes: int
) -> None:
    options = () if nodes == 1 else ("--nodes", str(nodes))
    with running_secure(tmp_path, *options, nodes=nodes) as secure:
        both = Both(spark_with_connector, {"bootstrap.servers": secure.servers, **secure.login.java()})
        rows = spark_with_connector.range(200).selectExpr("CAST(id AS STRING) AS value")
        both.write("kafka", rows, "first")
        both.copy("kafka", "first", "second", tmp_path / "checkpoint")
        for topic, connector in (("second", "kafka"), ("second", "tidelog")):
            found = both.read(connector, topic)
            assert sorted(int(row[1]) for row in found) == list(range(200))  # type: ignore[call-overload]


def test_sparks_connector_writes_and_reads_a_table(
    spark_with_connector: SparkSession, both: Both, topics: FilledTopics
) -> None:
    topic = topics.create(partitions=3)
    rows = spark_with_connector.range(500).selectExpr("CAST(id % 7 AS STRING) AS key", "CAST(id AS STRING) AS value")

    both.write("kafka", rows, topic)

    assert sorted(int(row[1]) for row in both.read("kafka", topic)) == list(range(500))  # type: ignore[call-overload]


def test_sparks_connector_streams_from_topic_to_topic(both: Both, topics: FilledTopics, tmp_path: Path) -> None:
    source, target = topics.create(partitions=2), topics.create(partitions=2)
    words = [f"word {number}" for number in range(1000)]
    topics.fill(source, words[:500], partition=0)
    topics.fill(source, words[500:], partition=1)

    both.copy("kafka", source, target, tmp_path)

    assert sorted(bytes(row[1]).decode() for row in both.read("kafka", target)) == sorted(words)  # type: ignore[call-overload]


def test_both_connectors_give_the_same_rows(both: Both, topics: FilledTopics) -> None:
    topic = topics.create(partitions=2)
    topics.fill(topic, ["plain"], key=b"k", headers=[("a", b"1"), ("a", None)], timestamp=1_700_000_000_123)
    topics.fill(topic, [None], key=b"gone", partition=1)  # type: ignore[list-item]
    topics.transaction(topic, ["committed"], commit=True)
    topics.transaction(topic, ["aborted"], commit=False)
    topics.fill(topic, ["last"])

    theirs = both.read("kafka", topic)

    assert len(theirs) == 4
    assert both.read("tidelog", topic) == theirs
