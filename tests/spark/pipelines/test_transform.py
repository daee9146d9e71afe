from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.client_reading import read_all
from support.filled_topics import FilledTopics
from support.pipeline_runs import run_in_session

from tidelog.spark.pipelines.settings import InvalidSettings, Query
from tidelog.spark.pipelines.transform import load_function
from tidelog.testing.broker_thread import BrokerThread

# The first query of a session takes long on a busy machine.
pytestmark = pytest.mark.timeout(900)


def test_sql_makes_topics_from_topics_and_restarts_add_only_what_is_new(
    spark: SparkSession, broker: BrokerThread, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    topics = FilledTopics(servers)
    source, target = topics.create("orders"), topics.create("big-orders")
    topics.fill(source, [json.dumps({"id": number, "total": number * 10}) for number in range(10)], key=b"k")
    tables = {
        "run": {"name": source},
        "source": {"bootstrap_servers": servers, "topics": [source]},
        "value": {"format": "json", "schema": "id BIGINT, total DOUBLE"},
        "query": {"sql": "SELECT record.key, to_json(struct(id)) AS value FROM records WHERE total >= 50"},
        "target": {"bootstrap_servers": servers, "topic": target},
    }
    run_in_session(spark, "transform", tables, tmp_path / "checkpoint")
    topics.fill(source, [json.dumps({"id": 10, "total": 100})], key=b"k")
    shown = run_in_session(spark, "transform", tables, tmp_path / "checkpoint")
    assert "1 rows" in shown
    records = asyncio.run(read_all(servers, target, isolation_level="read_committed"))
    assert [json.loads(record.value or b"")["id"] for record in records] == [5, 6, 7, 8, 9, 10]
    assert {record.key for record in records} == {b"k"}


def test_a_function_makes_topics_from_topics(
    spark: SparkSession, broker: BrokerThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = broker.bootstrap_servers
    topics = FilledTopics(servers)
    source, target = topics.create("words"), topics.create("loud-words")
    topics.fill(source, ["a", "b"])
    (tmp_path / "louder.py").write_text(
        "def shout(frame):\n    return frame.selectExpr('upper(CAST(value AS STRING)) AS value', 'key')\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    tables = {
        "run": {"name": source},
        "source": {"bootstrap_servers": servers, "topics": [source]},
        "query": {"function": "louder:shout", "path": str(tmp_path)},
        "target": {"bootstrap_servers": servers, "topic": target},
    }
    run_in_session(spark, "transform", tables, tmp_path / "checkpoint")
    records = asyncio.run(read_all(servers, target, isolation_level="read_committed"))
    assert [record.value for record in records] == [b"A", b"B"]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("no_such_module:f", "set path to"),
        ("json:no_such_function", "no_such_function"),
        ("json:decoder.JSONDecodeError.__doc__", "not a function"),
    ],
)
def test_functions_that_cannot_be_found_are_told(function: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "")
    with pytest.raises(InvalidSettings, match=told):
        load_function(Query(function=function))


COUNTS = "SELECT word AS key, CAST(count(*) AS STRING) AS value FROM records GROUP BY word"
WINDOWS = (
    "SELECT CONCAT(date_format(window.start, 'HH:mm'), ' ', word) AS key, CAST(count(*) AS STRING) AS value "
    "FROM records GROUP BY window(at, '1 minute'), word"
)


def said(word: str, minute: int, second: int = 0) -> str:
    return json.dumps({"word": word, "at": f"2026-01-01T12:{minute:02}:{second:02}Z"})


def stateful(servers: str, source: str, target: str, **query: str) -> dict[str, Any]:
    return {
        "run": {"name": source},
        "source": {"bootstrap_servers": servers, "topics": [source]},
        "value": {"format": "json", "schema": "word STRING, at TIMESTAMP"},
        "query": query,
        "target": {"bootstrap_servers": servers, "topic": target},
    }


def pairs(servers: str, topic: str) -> list[tuple[str, str]]:
    records = asyncio.run(read_all(servers, topic, isolation_level="read_committed"))
    return [((record.key or b"").decode(), (record.value or b"").decode()) for record in records]


@pytest.mark.parametrize("state_store", ["memory", pytest.param("rocksdb", marks=pytest.mark.slow)])
def test_windows_are_written_once_when_the_watermark_has_passed_them(
    state_store: str, spark: SparkSession, broker: BrokerThread, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    topics = FilledTopics(servers)
    source, target = topics.create("said"), topics.create("windows")
    tables = stateful(
        servers, source, target, sql=WINDOWS, watermark="at 1 minute", output_mode="append", state_store=state_store
    )
    try:
        topics.fill(source, [said("a", 1), said("a", 1, 30), said("b", 1), said("a", 2)])
        run_in_session(spark, "transform", tables, tmp_path / "checkpoint")
        # The state outlives the run: these two belong to windows of the run before.
        topics.fill(source, [said("a", 2, 50), said("b", 1, 59)])
        run_in_session(spark, "transform", tables, tmp_path / "checkpoint")
        topics.fill(source, [said("end", 9)])
        run_in_session(spark, "transform", tables, tmp_path / "checkpoint")
    finally:
        spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
    assert sorted(pairs(servers, target)) == [("12:01 a", "2"), ("12:01 b", "2"), ("12:02 a", "2")]


def test_complete_writes_the_whole_result_and_update_what_has_changed(
    spark: SparkSession, broker: BrokerThread, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    topics = FilledTopics(servers)
    source, whole, changes = topics.create("counted"), topics.create("whole"), topics.create("changes")
    for values in ([said("a", 1), said("b", 1)], [said("a", 2)]):
        topics.fill(source, values)
        for target, mode in ((whole, "complete"), (changes, "update")):
            tables = stateful(servers, source, target, sql=COUNTS, output_mode=mode)
            run_in_session(spark, "transform", tables, tmp_path / mode)
    assert sorted(pairs(servers, whole)[:2]) == [("a", "1"), ("b", "1")]
    assert sorted(pairs(servers, whole)[2:]) == [("a", "2"), ("b", "1")]
    assert sorted(pairs(servers, changes)[:2]) == [("a", "1"), ("b", "1")]
    assert pairs(servers, changes)[2:] == [("a", "2")]


def test_a_watermark_on_a_field_of_the_record_has_a_column_of_its_own(
    spark: SparkSession, broker: BrokerThread, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    topics = FilledTopics(servers)
    source, target = topics.create("stamped"), topics.create("stamped-windows")
    for minute in (0, 0, 20):
        topics.fill(source, [said("a", 0)], timestamp=1_767_268_800_000 + minute * 60_000)
    sql = "SELECT CAST(count(*) AS STRING) AS value FROM records GROUP BY window(record_timestamp, '1 minute')"
    tables = stateful(servers, source, target, sql=sql, watermark="record.timestamp 1 minute")
    run_in_session(spark, "transform", tables, tmp_path / "checkpoint")
    topics.fill(source, [said("a", 0)], timestamp=1_767_268_800_000 + 21 * 60_000)
    run_in_session(spark, "transform", tables, tmp_path / "checkpoint")
    assert [value for _, value in pairs(servers, target)] == ["2"]


@pytest.mark.parametrize("watermark", ["nowhere 1 minute", "word 1 minute", "at soon", "at 5 parsecs"])
def test_a_watermark_that_cannot_be_is_told_with_its_setting(
    watermark: str, spark: SparkSession, broker: BrokerThread, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    source = FilledTopics(servers).create("unmarked")
    tables = stateful(servers, source, "t", sql=WINDOWS, watermark=watermark)
    with pytest.raises(InvalidSettings, match=r"\[query\] watermark"):
        run_in_session(spark, "transform", tables, tmp_path / "checkpoint")
