"""Each way on which an error of ours reaches the user of Spark: it is in the first line, behind no other error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.filled_topics import FilledTopics, new_topic_name

from tidelog.spark import explain
from tidelog.spark.databases.sink import DatabaseSink
from tidelog.spark.mirror.sink import MirrorSink
from tidelog.spark.outbox.source import OutboxSource
from tidelog.testing.broker_thread import BrokerThread

_SECONDS = 120


@pytest.fixture(scope="module")
def refusing() -> Iterator[BrokerThread]:
    with BrokerThread(properties={"auto.create.topics.enable": "false"}) as running:
        yield running


def shown(action: Callable[[], object], sentence: str) -> None:
    """What Spark raises for the action, which has the sentence in its first line.

    For tasks of batches PySpark puts a line of its own in front: "An exception was thrown from the Python worker:".
    """
    with pytest.raises(PySparkException) as raised:
        action()
    text = str(raised.value)
    first, second = [line for line in text.splitlines() if line.strip()][:2]
    assert sentence in (second if first.strip().startswith("An exception was thrown") else first), text
    for other in ("Traceback", "UnboundLocalError", "PicklingError", "Writing job failed"):
        assert other not in text, text
    assert explain(raised.value).startswith(sentence)


def run_query(rows: DataFrame, checkpoint: Path, form: str, **options: str) -> None:
    query = (
        rows.writeStream.format(form)
        .options(**{name.replace("__", "."): value for name, value in options.items()})
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(_SECONDS)
    finally:
        query.stop()


def stream(spark: SparkSession, broker: BrokerThread, **options: str) -> DataFrame:
    return (
        spark.readStream.format("tidelog")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("startingOffsets", "earliest")
        .options(**options)
        .load()
    )


@pytest.fixture
def records(spark: SparkSession, broker: BrokerThread, topics: FilledTopics) -> DataFrame:
    """A stream of two records."""
    topic = topics.create()
    topics.fill(topic, ["a", "b"], partition=0)
    return stream(spark, broker, subscribe=topic)


@pytest.mark.parametrize("way", ["read", "readStream"])
def test_wrong_options_are_refused_at_load(spark: SparkSession, way: str) -> None:
    shown(
        lambda: getattr(spark, way).format("tidelog").option("subscribes", "t").load(),
        "subscribes is not an option of the tidelog source; did you mean subscribe?; kafka.bootstrap.servers is",
    )


def test_what_only_a_stream_refuses_is_said_when_it_starts(
    spark: SparkSession, broker: BrokerThread, tmp_path: Path
) -> None:
    rows = stream(spark, broker, subscribe="t", endingOffsets="latest")
    shown(lambda: run_query(rows, tmp_path, "noop"), "endingOffsets is for batch reads")


@pytest.mark.slow
def test_what_the_driver_finds_out_is_said(
    spark: SparkSession, broker: BrokerThread, topics: FilledTopics, tmp_path: Path
) -> None:
    topic = topics.create()
    beyond = {"startingOffsets": f'{{"{topic}":{{"0":9}}}}', "fetchOffset.retryIntervalMs": "1"}
    rows = stream(spark, broker, subscribe=topic, **beyond)
    shown(lambda: run_query(rows, tmp_path, "noop"), f"startingOffsets names offset 9 of partition {topic}-0")

    batch = spark.read.format("tidelog").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    shown(lambda: batch.option("subscribe", "nobody-made-this").load().count(), "there is no topic 'nobody-made-this'")


def test_what_a_reading_task_finds_out_is_said(spark: SparkSession, broker: BrokerThread, topics: FilledTopics) -> None:
    topic = topics.create()
    topics.fill(topic, ["a", "b", "c"], partition=0)
    rows = spark.read.format("tidelog").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    table = rows.option("subscribe", topic).option("startingOffsets", f'{{"{topic}":{{"0":0}}}}').load()
    topics.delete_records(topic, 0, 2)
    shown(table.collect, f"partition {topic}-0 begins at offset 2: 0 to 1 are gone")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ("value", {"topic": "none-such"}, "topic 'none-such' does not exist, and the broker has auto.create.topics"),
        ("value", {"topic": "t", "kafka.acks": "1"}, "kafka.acks cannot be set"),
        ("key", {"topic": "t"}, "there is no column `value`"),
        ("value, 'none-such' AS topic", {}, "a row names a topic that does not exist"),
    ],
)
def test_what_the_sink_finds_out_is_said(
    spark: SparkSession,
    refusing: BrokerThread,
    records: DataFrame,
    tmp_path: Path,
    columns: str,
    options: dict[str, str],
    sentence: str,
) -> None:
    given = {"kafka.bootstrap.servers": refusing.bootstrap_servers, **options}
    chosen = [column.strip() for column in columns.split(",")]
    shown(lambda: run_query(records.selectExpr(*chosen), tmp_path, "tidelog", **given), sentence)

    rows = spark.range(2).selectExpr("CAST(id AS STRING) AS value", "CAST(id AS STRING) AS key").selectExpr(*chosen)
    shown(lambda: rows.write.format("tidelog").options(**given).mode("append").save(), sentence)


@pytest.mark.slow
def test_a_missing_topic_is_created_where_the_broker_creates_topics(
    spark: SparkSession, broker: BrokerThread, records: DataFrame, tmp_path: Path
) -> None:
    """Which makes Spark's own connector and this one differ in one word."""
    given = {"kafka__bootstrap__servers": broker.bootstrap_servers}
    one, by_row = new_topic_name("by-option"), new_topic_name("by-row")
    run_query(records.select("value"), tmp_path / "1", "tidelog", topic=one, **given)
    run_query(records.selectExpr("value", f"'{by_row}' AS topic"), tmp_path / "2", "tidelog", **given)

    for topic in (one, by_row):
        reading = spark.read.format("tidelog").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        rows = reading.option("subscribe", topic).load().collect()
        assert sorted(row.value for row in rows) == [b"a", b"b"]


@pytest.mark.slow
def test_a_database_that_is_away_is_said_and_not_that_the_abort_failed_too(
    spark: SparkSession, records: DataFrame, tmp_path: Path
) -> None:
    spark.dataSource.register(DatabaseSink)
    nowhere = tmp_path / "gone" / "orders.db"
    rows = records.selectExpr("value", "topic AS _topic", "partition AS _partition", "offset AS _offset")
    options = {"url": f"sqlite:///{nowhere}", "table": "orders", "pipeline": "channel"}
    shown(lambda: run_query(rows, tmp_path / "checkpoint", "tidelog-database", **options), "FileNotFoundError: ")
    shown(
        lambda: run_query(rows, tmp_path / "other", "tidelog-database", **{**options, "mode": "sometimes"}),
        "mode must be append or upsert, but is sometimes",
    )


@pytest.mark.slow
def test_the_outbox_and_the_mirror_speak_in_the_same_way(
    spark: SparkSession, broker: BrokerThread, records: DataFrame, tmp_path: Path
) -> None:
    spark.dataSource.register(OutboxSource)
    spark.dataSource.register(MirrorSink)
    shown(lambda: spark.readStream.format("tidelog-outbox").load(), "the outbox needs the option url")
    given = {"kafka__bootstrap__servers": broker.bootstrap_servers, "mirror": "m", "kafka__acks": "1"}
    shown(lambda: run_query(records, tmp_path, "tidelog-mirror", **given), "kafka.acks cannot be set")
