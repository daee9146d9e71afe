"""The sink inside of Spark: columns, options, micro-batches that are run again, and what users are told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.filled_topics import FilledTopics

from tidelog.client.producer.partitioner import partition_for_key
from tidelog.testing.broker_thread import BrokerThread

Read = Callable[[str], list[Message]]


@pytest.fixture
def read(broker: BrokerThread) -> Read:
    """All committed records of a topic, partition by partition."""

    def read(topic: str) -> list[Message]:
        settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader", "enable.partition.eof": True}
        consumer = Consumer({**settings, "isolation.level": "read_committed", "log_level": 0})
        partitions = list(consumer.list_topics(topic).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found: list[Message] = []
        ends = 0
        while ends < len(partitions):
            message = consumer.poll(30)
            assert message is not None, "the end of the topic was not reached"
            if message.error() is None:
                found.append(message)
            else:
                ends += 1
        consumer.close()
        return sorted(found, key=lambda message: (message.partition() or 0, message.offset() or 0))

    return read


class Query:
    """A streaming query over text files, one micro-batch for each, that is run again and again from its checkpoint."""

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

    def run(self, tasks: int | None = None, **options: str) -> None:
        rows = self._spark.readStream.format("text").option("maxFilesPerTrigger", "1").load(str(self._input))
        writer = (rows if tasks is None else rows.repartition(tasks)).writeStream.format("tidelog")
        for name, value in {**self._options, "checkpointLocation": str(self.checkpoint), **options}.items():
            writer = writer.option(name, value)
        writer.trigger(availableNow=True).start().awaitTermination()

    def forget_commit(self, batch: int) -> None:
        """As if the driver had died before Spark took note of the commit."""
        for name in (str(batch), f".{batch}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)


@pytest.fixture
def topic(topics: FilledTopics) -> str:
    return topics.create("spark-sink", partitions=2)


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path, broker: BrokerThread, topic: str) -> Query:
    return Query(spark, tmp_path, broker, topic)


def values(messages: list[Message]) -> list[str]:
    return sorted((message.value() or b"").decode() for message in messages)


def write(rows: DataFrame, broker: BrokerThread, *, mode: str = "append", **options: str) -> None:
    writer = rows.write.format("tidelog").mode(mode).option("kafka.bootstrap.servers", broker.bootstrap_servers)
    for name, value in options.items():
        writer = writer.option(name, value)
    writer.save()


def test_columns_of_a_dataframe_become_records(
    spark: SparkSession, broker: BrokerThread, topics: FilledTopics, read: Read
) -> None:
    first, second = topics.create("columns", partitions=3), topics.create("columns", partitions=1)
    headers = "array(named_struct('key', 'h', 'value', CAST('v' AS BINARY)))"
    rows = spark.sql(
        f"""SELECT 'k' AS key, 'by key' AS value, '{first}' AS topic, CAST(NULL AS INT) AS partition,
                   {headers} AS headers
            UNION ALL SELECT 'k', 'by number', '{first}', {(partition_for_key(b"k", 3) + 1) % 3}, NULL
            UNION ALL SELECT NULL, NULL, '{second}', NULL, array()"""
    )

    write(rows, broker, compression="zstd")

    by_value = {message.value(): message for message in read(first)}
    assert set(by_value) == {b"by key", b"by number"}
    assert by_value[b"by key"].partition() == partition_for_key(b"k", 3)
    assert by_value[b"by key"].headers() == [("h", b"v")]
    assert by_value[b"by number"].partition() == (partition_for_key(b"k", 3) + 1) % 3
    assert by_value[b"by number"].headers() is None
    assert [(message.key(), message.value()) for message in read(second)] == [(None, None)]


def test_job_with_an_id_is_written_once_however_often_it_is_run(
    spark: SparkSession, broker: BrokerThread, topic: str, read: Read
) -> None:
    rows = spark.range(0, 100).selectExpr("CAST(id AS STRING) AS value")

    write(rows, broker, topic=topic, jobId=f"daily-{topic}")
    write(rows.repartition(3), broker, topic=topic, jobId=f"daily-{topic}")
    write(rows, broker, topic=topic)

    assert values(read(topic)) == sorted(2 * [str(number) for number in range(100)])


def test_micro_batch_that_is_run_again_with_other_tasks_is_there_once(query: Query, topic: str, read: Read) -> None:
    everything = [f"row-{number:05d}" for number in range(300)]
    query.add(*everything[:100])
    query.add(*everything[100:200])
    query.run(inlineBytes="10")
    query.forget_commit(1)
    query.add(*everything[200:])

    query.run(tasks=5, inlineBytes="10")

    assert values(read(topic)) == everything
    assert not list((query.checkpoint / "tidelog-staging").iterdir())


@pytest.mark.parametrize("options", [{"atomicity": "task"}, {"delivery": "at_least_once"}])
def test_other_kinds_of_delivery_write_everything_too(
    query: Query, topic: str, read: Read, options: dict[str, Any]
) -> None:
    query.add("a", "b")
    query.add("c")
    query.run(**options)
    if "atomicity" in options:
        query.forget_commit(1)
    query.add("d")
    query.run(**options)

    assert values(read(topic)) == ["a", "b", "c", "d"]


def test_query_stops_when_its_note_is_lost(query: Query, topic: str, read: Read) -> None:
    query.add("a")
    query.run()
    query.add("b")

    with pytest.raises(PySparkException, match="missingMarker=publish"):
        query.run(transactionalIdPrefix="another")
    query.run(transactionalIdPrefix="another", missingMarker="publish")

    assert values(read(topic)) == ["a", "b"]


@pytest.mark.parametrize(
    ("columns", "options", "problem"),
    [
        ("id AS body", {"topic": "t"}, "there is no column `value`"),
        ("id AS value", {"topic": "t"}, "column 'value' is bigint, and must be string or binary"),
        ("'a' AS value", {}, "neither the option `topic` nor a column `topic`"),
        ("'a' AS value", {"topic": "t", "mode": "overwrite"}, "a topic cannot be overwritten"),
        ("'a' AS value", {"topic": "t", "kafka.acks": "1"}, "kafka.acks cannot be set"),
    ],
)
def test_users_are_told_what_is_wrong(
    spark: SparkSession, broker: BrokerThread, columns: str, options: dict[str, str], problem: str
) -> None:
    with pytest.raises(PySparkException) as refused:
        write(spark.range(0, 1).selectExpr(columns.split(", ")[0], *columns.split(", ")[1:]), broker, **options)

    assert problem in str(refused.value)
