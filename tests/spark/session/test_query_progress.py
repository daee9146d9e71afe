"""Metrics and descriptions in the progress of a query."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.filled_topics import FilledTopics, new_topic_name

from tidelog.spark.session.query_progress import progress, with_metrics
from tidelog.spark.sink.reports import SinkReport, leave_report, read_reports
from tidelog.testing.broker_thread import BrokerThread

_STREAM = "org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStreamWithTriggerAvailableNow@7b1d"
_TABLE = "org.apache.spark.sql.execution.datasources.v2.python.PythonTable@7b1d"


@pytest.fixture
def reports_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def report(batch: int = 3) -> SinkReport:
    return SinkReport(batch=batch, rows=5, bytes=700, topics={"b": 5}, transaction_ms=31.4, commit_ms=2.6)


def document(**given: Any) -> dict[str, Any]:
    source = {
        "description": _STREAM,
        "startOffset": {"a": {"0": 1, "1": 0}},
        "endOffset": {"a": {"0": 5, "1": 0}},
        "latestOffset": {"a": {"0": 9, "1": 0}},
        "numInputRows": 4,
    }
    return {"batchId": 3, "sources": [source], "sink": {"description": _TABLE, "numOutputRows": -1}, **given}


def test_source_and_sink_get_metrics_and_names() -> None:
    filled = with_metrics(document(), {3: report()})

    (source,) = filled["sources"]
    assert source["description"] == "tidelog[a]"
    assert source["metrics"] == {
        "avgOffsetsBehindLatest": "2",
        "maxOffsetsBehindLatest": "4",
        "minOffsetsBehindLatest": "0",
        "lag.a-0": "4",
        "lag.a-1": "0",
    }
    assert filled["sink"]["description"] == "tidelog[b]"
    assert filled["sink"]["metrics"] == {
        "rows": "5",
        "bytes": "700",
        "transactionMs": "31",
        "commitMs": "3",
        "skipped": "false",
        "rows.b": "5",
    }
    assert filled["sink"]["numOutputRows"] == -1


@pytest.mark.parametrize(
    "other",
    [
        {"description": "KafkaV2[Subscribe[a]]", "endOffset": {"a": {"0": 5}}, "latestOffset": {"a": {"0": 5}}},
        {"description": _STREAM, "endOffset": {"position": 5}, "latestOffset": None},
        {"description": _STREAM, "endOffset": None, "latestOffset": None},
    ],
)
def test_what_is_not_ours_stays_as_it_is(other: dict[str, Any]) -> None:
    given = document(sources=[other], sink={"description": "KafkaTable"})

    assert with_metrics(given, {3: report()}) == given


def test_a_micro_batch_without_a_report_keeps_what_spark_says() -> None:
    assert with_metrics(document(), {2: report(2)})["sink"] == document()["sink"]


def test_reports_are_found_by_the_query_and_the_oldest_are_dropped(reports_folder: Path) -> None:
    for batch in range(20):
        leave_report("q", report(batch))
    leave_report("other", report(1))

    assert sorted(read_reports("q")) == list(range(4, 20))
    assert read_reports("q")[19] == report(19)
    assert read_reports("nobody") == {}


def test_reports_are_not_read_from_a_folder_that_others_can_write_to(reports_folder: Path) -> None:
    leave_report("q", report())
    (folder,) = reports_folder.iterdir()
    folder.chmod(0o777)

    assert read_reports("q") == {}
    leave_report("q", report(4))
    assert [one["batch"] for one in json.loads((folder / "q.json").read_text())] == [3]


def test_a_report_that_cannot_be_left_changes_nothing(reports_folder: Path) -> None:
    reports_folder.joinpath("not-a-folder").write_text("")
    tempfile.tempdir = str(reports_folder / "not-a-folder")

    leave_report("q", report())
    assert read_reports("q") == {}


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ({}, {"transactionMs", "commitMs"}),
        ({"atomicity": "task"}, {"commitMs"}),
        ({"atomicity": "prepared"}, {"commitMs"}),
        ({"delivery": "at_least_once"}, set()),
    ],
    ids=["batch", "task", "prepared", "at least once"],
)
def test_sparks_own_progress_has_them(
    spark: SparkSession,
    two_phase_broker: BrokerThread,
    tmp_path: Path,
    options: dict[str, str],
    times: set[str],
) -> None:
    servers = two_phase_broker.bootstrap_servers
    topics = FilledTopics(servers)
    source, target = topics.create("read"), new_topic_name("written")
    topics.fill(source, ["a", "b", "c"], partition=0)
    query = (
        spark.readStream.format("tidelog")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 2)
        .load()
        .select("value")
        .writeStream.format("tidelog")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", target)
        .options(**options)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)

    told = progress(query)
    assert told is not None
    assert told["sources"][0]["metrics"]["lag." + source + "-0"] == "0"

    # Spark tells its listeners in its own time.
    deadline = time.monotonic() + 60
    while True:
        batches = [one for one in query.recentProgress if one.numInputRows]
        if all("rows" in one.sink.metrics for one in batches) or time.monotonic() > deadline:
            break
        time.sleep(0.05)

    assert [(one.sources[0].description, one.sink.description) for one in batches] == [
        (f"tidelog[{source}]", f"tidelog[{target}]")
    ] * 2
    assert [one.sources[0].metrics[f"lag.{source}-0"] for one in batches] == ["1", "0"]
    assert [one.sink.metrics["rows"] for one in batches] == ["2", "1"]
    for one in batches:
        assert int(one.sink.metrics["bytes"]) > 0
        assert {name for name in one.sink.metrics if name.endswith("Ms")} == times
        assert all(int(one.sink.metrics[name]) >= 0 for name in times)
