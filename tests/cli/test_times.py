"""Times and durations as people type them."""

from __future__ import annotations

import pytest

from tidelog.cli.times import parse_datetime_ms, parse_duration_ms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("1970-01-01T00:00:01.5", 1500),
        ("1970-01-01T01:00:00.000+01:00", 0),
        ("1970-01-01T00:00:00Z", 0),
        ("2020-01-01T00:00:00.123", 1577836800123),
        ("1969-12-31T23:59:59.999", -1),
    ],
)
def test_times(text: str, expected: int) -> None:
    assert parse_datetime_ms(text) == expected


@pytest.mark.parametrize("text", ["", "2020-01-01", "yesterday", "2020-13-01T00:00:00", "T"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_datetime_ms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PT1S", 1000),
        ("PT0.25S", 250),
        ("P1D", 86_400_000),
        ("P1DT2H3M4S", 93_784_000),
        ("pt90m", 5_400_000),
        ("-PT1H", -3_600_000),
        ("PT-1H", -3_600_000),
    ],
)
def test_durations(text: str, expected: int) -> None:
    assert parse_duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "P", "PT", "1H", "P1H", "PT1D", "P1Y", "an hour"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration_ms(text)
