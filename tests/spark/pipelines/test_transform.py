from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

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
        ("no_such_module:f", "say with path"),
        ("json:no_such_function", "no_such_function"),
        ("json:decoder.JSONDecodeError.__doc__", "not a function"),
    ],
)
def test_functions_that_cannot_be_found_are_told(function: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "")
    with pytest.raises(InvalidSettings, match=told):
        load_function(Query(function=function))
