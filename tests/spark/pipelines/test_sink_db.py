from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.database_rows import query
from support.filled_topics import FilledTopics
from support.pipeline_runs import run_in_session

from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.session.explanations import explain
from tidelog.testing.broker_thread import BrokerThread

# The first query of a session takes long on a busy machine.
pytestmark = pytest.mark.timeout(900)

SCHEMA = "id BIGINT, name STRING, tags ARRAY<STRING>"


def order(number: int, name: str) -> str:
    return json.dumps({"id": number, "name": name, "tags": [name]})


def settings(broker: BrokerThread, topic: str, url: str, **database: Any) -> dict[str, Any]:
    return {
        "run": {"name": topic},
        "source": {"bootstrap_servers": broker.bootstrap_servers, "topics": [topic]},
        "value": {"format": "json", "schema": SCHEMA},
        "database": {"url": url, "table": "orders", **database},
    }


def test_a_table_follows_a_topic_even_without_its_checkpoint(
    spark: SparkSession, broker: BrokerThread, database_url: str, tmp_path: Path
) -> None:
    topics = FilledTopics(broker.bootstrap_servers)
    topic = topics.create("upserts", partitions=2)
    for number in range(6):
        topics.fill(topic, [order(number, "old")], partition=number % 2, key=str(number).encode())
    key = "coalesce(id, CAST(CAST(record.key AS STRING) AS BIGINT)) AS id"
    tables = settings(
        broker,
        topic,
        database_url,
        mode="upsert",
        keys=["id"],
        columns=[key, "name", "tags", "record.offset AS at"],
        where="record.key IS NOT NULL",
        delete_when="record.value IS NULL",
    )
    shown = run_in_session(spark, "sink-db", tables, tmp_path / "first")
    assert "6 rows" in shown
    rows = query(database_url, "SELECT id, name, at FROM orders ORDER BY id")
    assert rows == [(number, "old", number // 2) for number in range(6)]

    topics.fill(topic, [order(0, "new")], partition=0, key=b"0")
    topics.fill(topic, [None], partition=1, key=b"1")  # type: ignore[list-item]
    topics.fill(topic, [order(99, "without a key")], partition=1)
    # Another checkpoint knows nothing, but the database does.
    shown = run_in_session(spark, "sink-db", tables, tmp_path / "second")
    assert "3 rows in 1 batches" in shown
    rows = query(database_url, "SELECT id, name FROM orders ORDER BY id")
    assert rows == [(0, "new"), (2, "old"), (3, "old"), (4, "old"), (5, "old")]
    # The first one has been replaced, and must not go on.
    topics.fill(topic, [order(2, "newer")], partition=0, key=b"2")
    with pytest.raises(PySparkException) as refused:
        run_in_session(spark, "sink-db", tables, tmp_path / "first")
    assert "is written by another query now" in explain(str(refused.value))


def test_events_are_written_once_by_the_id_in_their_header(
    spark: SparkSession, broker: BrokerThread, sqlite_url: str, tmp_path: Path
) -> None:
    topics = FilledTopics(broker.bootstrap_servers)
    topic = topics.create("events")
    for event in (b"x", b"y", b"x"):
        topics.fill(topic, [order(1, event.decode())], headers=[("id", event)])
    run_in_session(
        spark, "sink-db", settings(broker, topic, sqlite_url, deduplicate="header:id"), tmp_path / "checkpoint"
    )
    assert query(sqlite_url, "SELECT name, tags FROM orders ORDER BY name") == [("x", '["x"]'), ("y", '["y"]')]


def test_values_that_do_not_fit_the_schema_are_told_with_their_place_or_left_out(
    spark: SparkSession, broker: BrokerThread, sqlite_url: str, tmp_path: Path
) -> None:
    topics = FilledTopics(broker.bootstrap_servers)
    topic = topics.create("malformed")
    topics.fill(topic, [order(1, "good"), "{bad", order(2, "good")])
    tables = settings(broker, topic, sqlite_url)
    with pytest.raises(PySparkException) as failed:
        run_in_session(spark, "sink-db", tables, tmp_path / "checkpoint")
    assert f"the value of {topic}-0 at offset 1 does not fit the schema" in explain(str(failed.value))
    assert query(sqlite_url, "SELECT id FROM orders") == []
    tables["value"]["malformed"] = "skip"
    run_in_session(spark, "sink-db", tables, tmp_path / "checkpoint")
    assert query(sqlite_url, "SELECT id FROM orders ORDER BY id") == [(1,), (2,)]


def test_a_schema_with_another_field_adds_a_column_when_asked_to(
    spark: SparkSession, broker: BrokerThread, database_url: str, tmp_path: Path
) -> None:
    topics = FilledTopics(broker.bootstrap_servers)
    topic = topics.create("grown")
    topics.fill(topic, [order(1, "a")])
    tables = settings(broker, topic, database_url)
    run_in_session(spark, "sink-db", tables, tmp_path / "checkpoint")
    topics.fill(topic, [json.dumps({"id": 2, "name": "b", "tags": [], "total": 2.5})])
    tables["value"]["schema"] = f"{SCHEMA}, total DOUBLE"
    with pytest.raises(DatabaseProblem, match=r"has no column total.*evolve_table = true"):
        run_in_session(spark, "sink-db", tables, tmp_path / "checkpoint")
    tables["database"]["evolve_table"] = True
    run_in_session(spark, "sink-db", tables, tmp_path / "checkpoint")
    assert query(database_url, "SELECT id, name, total FROM orders ORDER BY id") == [(1, "a", None), (2, "b", 2.5)]
