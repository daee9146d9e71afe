"""Lag from the progress of a query."""

from __future__ import annotations

import pytest
from pyspark.sql.streaming.listener import StreamingQueryProgress

from tidelog.spark.source.progress import source_lag


def progress(*ends: tuple[str | None, str | None]) -> StreamingQueryProgress:
    rates = {"numInputRows": 0, "inputRowsPerSecond": 0.0, "processedRowsPerSecond": 0.0}
    sources = [
        {"description": "x", "startOffset": None, "endOffset": end, "latestOffset": latest, **rates}
        for end, latest in ends
    ]
    document = {
        "id": "00000000-0000-0000-0000-000000000000",
        "runId": "00000000-0000-0000-0000-000000000000",
        "name": None,
        "timestamp": "2024-01-01T00:00:00.000Z",
        "batchId": 1,
        "batchDuration": 1,
        "stateOperators": [],
        "sources": sources,
        "sink": {"description": "y", "numOutputRows": 0},
    }
    return StreamingQueryProgress.fromJson(document)


def test_lag_is_told_per_source_with_the_names_of_sparks_connector() -> None:
    told = source_lag(progress(('{"a":{"0":5,"1":9}}', '{"a":{"0":10,"1":10}}'), ('{"b":{"0":1}}', '{"b":{"0":1}}')))

    assert told == [
        {"avgOffsetsBehindLatest": 3.0, "maxOffsetsBehindLatest": 5.0, "minOffsetsBehindLatest": 1.0},
        {"avgOffsetsBehindLatest": 0.0, "maxOffsetsBehindLatest": 0.0, "minOffsetsBehindLatest": 0.0},
    ]


def test_a_partition_that_is_new_is_behind_by_all_it_has() -> None:
    (told,) = source_lag(progress(('{"a":{"0":5}}', '{"a":{"0":5,"1":4}}')))

    assert told["maxOffsetsBehindLatest"] == 4.0


@pytest.mark.parametrize("end", [None, "7", "{}", '{"a": 1}', "not json"])
def test_sources_that_tell_no_such_offsets_have_no_lag(end: str | None) -> None:
    assert source_lag(progress((end, end))) == [{}]
