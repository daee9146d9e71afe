"""Lag from the progress of a query."""

from __future__ import annotations

import pytest

from tidelog.spark.source.progress import source_metrics


def metrics(end: str | None, latest: str | None) -> dict[str, str]:
    return source_metrics({"description": "x", "startOffset": None, "endOffset": end, "latestOffset": latest})


@pytest.mark.parametrize(
    ("end", "latest", "numbers"),
    [
        ('{"a":{"0":5,"1":9}}', '{"a":{"0":10,"1":10}}', ("3", "5", "1")),
        ('{"b":{"0":1}}', '{"b":{"0":1}}', ("0", "0", "0")),
    ],
)
def test_lag_is_told_with_the_names_of_sparks_connector(end: str, latest: str, numbers: tuple[str, ...]) -> None:
    told = metrics(end, latest)

    assert tuple(told[f"{name}OffsetsBehindLatest"] for name in ("avg", "max", "min")) == numbers


def test_a_partition_that_is_new_is_behind_by_all_it_has() -> None:
    told = metrics('{"a":{"0":5}}', '{"a":{"0":5,"1":4}}')

    assert told["maxOffsetsBehindLatest"] == "4"
    assert told["lag.a-1"] == "4"


@pytest.mark.parametrize("end", [None, "7", "{}", '{"a": 1}', "not json"])
def test_sources_that_tell_no_such_offsets_have_no_lag(end: str | None) -> None:
    assert metrics(end, end) == {}
