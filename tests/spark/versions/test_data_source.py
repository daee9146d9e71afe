"""Source and sink by format("tidelog") inside of Spark, on whichever version runs the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from support.filled_topics import FilledTopics

from tidelog.spark import explain
from tidelog.testing.broker_thread import BrokerThread

QUERY_SECONDS = 180
VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])

needs_data_sources = pytest.mark.skipif(VERSION < (4, 0), reason="Spark has data sources in Python since 4.0")


def words(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last)]


@pytest.fixture
def servers(broker: BrokerThread) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap_servers}


def stream(spark: SparkSession, options: dict[str, Any]) -> DataFrame:
    return spark.readStream.format("tidelog").options(startingOffsets="earliest", **options).load()


@needs_data_sources
def test_batch_job_reads_a_topic_and_writes_another(
    spark: SparkSession, servers: dict[str, str], topics: FilledTopics
) -> None:
    source, target = topics.create(partitions=2), topics.create(partitions=2)
    topics.fill(source, words(0, 50), partition=0, headers=[("h", b"1")])
    topics.fill(source, words(50, 100), partition=1)

    rows = spark.read.format("tidelog").options(subscribe=source, includeHeaders="true", **servers).load()
    rows.select("key", "value", "headers").write.format("tidelog").mode("append").options(
        topic=target, **servers
    ).save()

    written = spark.read.format("tidelog").options(subscribe=target, includeHeaders="true", **servers).load().collect()
    assert sorted(int(row.value) for row in written) == list(range(100))
    assert sum(1 for row in written if row.headers) == 50


@needs_data_sources
def test_limit_is_kept_from_batch_to_batch_and_after_a_restart(
    spark: SparkSession, servers: dict[str, str], topics: FilledTopics, tmp_path: Path
) -> None:
    topic = topics.create()
    seen: list[list[int]] = []
    for run in range(2):
        topics.fill(topic, words(25 * run, 25 * run + 25))
        rows = stream(spark, {"subscribe": topic, "maxOffsetsPerTrigger": "10", **servers})
        query = (
            rows.writeStream.foreachBatch(
                lambda batch, _: seen.append(sorted(int(row.value) for row in batch.collect()))
            )
            .option("checkpointLocation", str(tmp_path))
            .start()
        )
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    batches = [batch for batch in seen if batch]
    assert [value for batch in batches for value in batch] == list(range(50))
    assert [len(batch) for batch in batches] == [10, 10, 5, 10, 10, 5]


@needs_data_sources
@pytest.mark.parametrize("atomicity", ["batch", "prepared"])
def test_available_now_moves_everything_exactly_once(
    spark: SparkSession, two_phase_broker: BrokerThread, tmp_path: Path, atomicity: str
) -> None:
    topics = FilledTopics(two_phase_broker.bootstrap_servers)
    servers = {"kafka.bootstrap.servers": two_phase_broker.bootstrap_servers}
    source, target = topics.create(partitions=2), topics.create(partitions=2)
    for run in range(3):
        topics.fill(source, words(50 * run, 50 * run + 50), partition=run % 2)
        writer = stream(spark, {"subscribe": source, **servers}).writeStream.format("tidelog").options(**servers)
        writer = writer.option("topic", target).option("checkpointLocation", str(tmp_path)).option("inlineBytes", "10")
        writer = writer.option("atomicity", atomicity)
        query = writer.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(QUERY_SECONDS)
        finally:
            query.stop()
        if run == 1:
            # As if the driver had died before Spark took note of the commit. The batch is run again, and skipped; a
            # Spark that knows no availableNow for sources in Python leaves what is new to the next run.
            newest = max((tmp_path / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
            newest.unlink()
            (tmp_path / "commits" / f".{newest.name}.crc").unlink(missing_ok=True)
            assert query.exception() is None
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(QUERY_SECONDS)

    written = spark.read.format("tidelog").options(subscribe=target, **servers).load().collect()
    assert sorted(int(row.value) for row in written) == list(range(150))


@needs_data_sources
def test_update_mode_is_refused_by_spark_and_explained_by_us(
    spark: SparkSession, servers: dict[str, str], topics: FilledTopics, tmp_path: Path
) -> None:
    rows = stream(spark, {"subscribe": topics.create(), **servers}).groupBy("value").count().select("value")
    writer = rows.writeStream.format("tidelog").outputMode("update").options(topic=topics.create(), **servers)

    with pytest.raises(Exception, match="tidelog does not support Update mode") as refused:
        writer.option("checkpointLocation", str(tmp_path)).start().awaitTermination(QUERY_SECONDS)

    assert "exactly_once_batch" in explain(refused.value)


@pytest.mark.skipif(VERSION >= (4, 0), reason="about a Spark without data sources in Python")
def test_spark_without_data_sources_finds_no_tidelog_and_we_explain_it(
    spark: SparkSession, servers: dict[str, str]
) -> None:
    with pytest.raises(Exception, match="Failed to find the data source: tidelog") as refused:
        spark.read.format("tidelog").options(subscribe="t", **servers).load()

    assert "exactly_once_batch" in explain(refused.value)


@pytest.mark.skipif(VERSION >= (4, 0), reason="about a Spark without data sources in Python")
def test_spark_without_data_sources_says_what_to_use_instead() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import tidelog.spark.source.readers"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "foreachBatch(tidelog.spark.exactly_once_batch(...))" in done.stderr.splitlines()[-1]
