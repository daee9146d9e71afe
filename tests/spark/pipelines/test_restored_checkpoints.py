"""Scenario 37 for the pipeline `sink-db`: a checkpoint that is restored from a copy, loses files, or is deleted."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.database_rows import query
from support.filled_topics import FilledTopics
from support.pipeline_runs import run_in_session

from tidelog.spark.session.explanations import explain
from tidelog.testing.broker_thread import BrokerThread

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


class Table:
    """A table that follows a topic of two partitions."""

    def __init__(self, spark: SparkSession, broker: BrokerThread, url: str, directory: Path) -> None:
        self._spark = spark
        self._topics = FilledTopics(broker.bootstrap_servers)
        self._topic = self._topics.create("restored", partitions=2)
        self._url = url
        self.checkpoint = directory / "checkpoint"
        self.expected: list[str] = []
        self._tables: dict[str, Any] = {
            "run": {"name": self._topic},
            "source": {"bootstrap_servers": broker.bootstrap_servers, "topics": [self._topic]},
            "database": {"url": url, "table": "rows", "columns": ["CAST(value AS STRING) AS text"]},
        }

    def add(self, count: int, partition: int = 0) -> None:
        news = [f"{partition}-{len(self.expected) + number:03d}" for number in range(count)]
        self._topics.fill(self._topic, news, partition=partition)
        self.expected += news

    def run(self) -> None:
        run_in_session(self._spark, "sink-db", self._tables, self.checkpoint)

    def refusal(self) -> str:
        with pytest.raises(PySparkException) as refused:
            self.run()
        return explain(str(refused.value))

    def rows(self) -> list[str]:
        return [row[0] for row in query(self._url, "SELECT text FROM rows ORDER BY text")]

    def lose(self, log: str, batch: int) -> None:
        for name in (str(batch), f".{batch}.crc"):
            (self.checkpoint / log / name).unlink(missing_ok=True)


def test_scenario_37_table_stops_with_an_old_checkpoint_and_goes_on_without_it(
    spark: SparkSession, broker: BrokerThread, database_url: str, tmp_path: Path
) -> None:
    table = Table(spark, broker, database_url, tmp_path)
    table.add(10)
    table.run()
    shutil.copytree(table.checkpoint, tmp_path / "copy")
    table.add(15)
    table.run()
    shutil.rmtree(table.checkpoint)
    shutil.copytree(tmp_path / "copy", table.checkpoint)
    table.add(15, partition=1)

    refusal = table.refusal()

    assert "but with other input" in refusal
    assert "restored from a copy, or its newest files were lost. Delete the checkpoint" in refusal
    assert len(table.rows()) == 25
    shutil.rmtree(table.checkpoint)
    table.run()
    assert table.rows() == sorted(table.expected)


def test_first_batch_that_is_repeated_is_known_however_the_query_began(
    spark: SparkSession, broker: BrokerThread, sqlite_url: str, tmp_path: Path
) -> None:
    table = Table(spark, broker, sqlite_url, tmp_path)
    for _ in range(2):
        table.add(10)
        table.run()
        # The driver dies before Spark takes note of the batch.
        table.lose("commits", 0)
        table.run()
        assert table.rows() == sorted(table.expected)
        # The next query takes over, and begins where the table ends.
        shutil.rmtree(table.checkpoint)
