from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from tidelog.model.ids import TopicPartition
from tidelog.spark.pipelines.progress import BatchReport, Display, Totals, describe, read_report
from tidelog.spark.session.explanations import explain


def progress(batch: int, rows: int, **changes: Any) -> dict[str, Any]:
    source = {"endOffset": '{"orders": {"0": 10, "1": 5}}', "latestOffset": '{"orders": {"0": 13, "1": 5, "2": 4}}'}
    return {
        "batchId": batch,
        "numInputRows": rows,
        "processedRowsPerSecond": 1234.5,
        "durationMs": {"triggerExecution": 810, "addBatch": 500},
        "sources": [source],
        **changes,
    }


def test_a_report_is_read_from_sparks_progress() -> None:
    assert read_report(progress(3, 1000)) == BatchReport(
        batch=3,
        rows=1000,
        rows_per_second=1234.5,
        seconds=0.81,
        write_seconds=0.5,
        lag=7,
        partition_lag={
            TopicPartition("orders", 0): 3,
            TopicPartition("orders", 1): 0,
            TopicPartition("orders", 2): 4,
        },
    )


@pytest.mark.parametrize(
    ("sink", "written"),
    [
        (None, None),
        ({"description": "x"}, None),
        ({"metrics": {"rows": "3", "bytes": "1234"}}, 1234),
        ({"metrics": {"bytes": "many"}}, None),
    ],
)
def test_bytes_are_known_where_the_sink_tells_them(sink: object, written: int | None) -> None:
    assert read_report(progress(1, 1, sink=sink)).bytes_written == written


@pytest.mark.parametrize(
    ("sources", "lag"),
    [
        ([], None),
        ([{"endOffset": {"t": {"0": 1}}, "latestOffset": {"t": {"0": 4}}}], 3),
        # Other sources have other offsets, or none.
        ([{"endOffset": '{"low": 1}', "latestOffset": '{"low": 5}'}], None),
        ([{"endOffset": None, "latestOffset": None}], None),
        ([{"endOffset": "x", "latestOffset": "y"}], None),
    ],
)
def test_lag_is_known_where_offsets_are_those_of_topics(sources: list[dict[str, Any]], lag: int | None) -> None:
    assert read_report(progress(1, 1, sources=sources)).lag == lag


@pytest.mark.parametrize("rate", ["NaN", "Infinity", None, "x"])
def test_numbers_that_spark_does_not_know_are_zero(rate: object) -> None:
    assert read_report(progress(1, 1, processedRowsPerSecond=rate)).rows_per_second == 0


def test_a_batch_is_counted_once() -> None:
    totals = Totals()
    assert [totals.add(read_report(progress(batch, 5))) for batch in (0, 0, 1, 1, 0)] == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert (totals.rows, totals.batches) == (10, 2)
    assert totals.last is not None
    assert "batch 1 · 5 rows" in describe(totals.last, totals)


def test_rows_count_that_come_under_the_number_of_a_batch_that_was_empty() -> None:
    totals = Totals()
    reports = [(4, 0), (4, 0), (4, 7), (4, 7), (4, 0), (5, 0), (5, 2), (6, 1)]
    news = [totals.add(read_report(progress(batch, rows))) for batch, rows in reports]
    assert news == [True, False, True, False, False, True, True, True]
    assert (totals.rows, totals.batches) == (10, 3)


def test_without_a_terminal_every_batch_with_rows_is_a_line() -> None:
    shown = io.StringIO()
    with Display("orders", shown) as display:
        for batch, rows in ((0, 3), (0, 3), (1, 0), (2, 4)):
            display.show(progress(batch, rows))
    lines = shown.getvalue().splitlines()
    assert [line.split(" · ")[0] for line in lines] == ["orders: batch 0", "orders: batch 2"]
    assert "7 rows in all" in lines[1]
    assert "lag 7" in lines[1]


def test_on_a_terminal_one_line_is_kept_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    shown = io.StringIO()
    assert Console(file=shown).is_terminal
    with Display("orders", shown) as display:
        display.show(progress(0, 3))
    assert "batch 0" in shown.getvalue()
    assert shown.getvalue().count("\n") <= 2


TRACE = """[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted
Traceback (most recent call last):
  File "x.py", line 3, in commit
    raise BatchRefused("...")
tidelog.spark.databases.progress.BatchRefused: pipeline 'orders' is written by another query now
\tat org.apache.spark.Something
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TRACE, "pipeline 'orders' is written by another query now"),
        ("first line\nValueError: bad thing\n\tat x", "ValueError: bad thing"),
        (
            "a\n[USER_RAISED_EXCEPTION] the value of t-0 does not fit SQLSTATE: P0001\nb",
            "the value of t-0 does not fit",
        ),
        ("[SOMETHING] else happened\nmore", "[SOMETHING] else happened"),
        ("", "unknown"),
    ],
)
def test_failures_are_told_in_the_words_of_who_raised_them(text: str, told: str) -> None:
    assert explain(text) == told


def test_offsets_may_be_objects_or_text() -> None:
    as_text = progress(0, 1)
    as_objects = json.loads(json.dumps(as_text))
    as_objects["sources"] = [{name: json.loads(text) for name, text in as_text["sources"][0].items()}]
    assert read_report(as_text) == read_report(as_objects)
