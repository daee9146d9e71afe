"""What addresses say about partitions and positions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.console.findings.positions import (
    MOST_TOGETHER,
    chosen_partitions,
    format_partitions,
    format_positions,
    parse_positions,
)

TOO_MANY = ",".join(f"{each}:1" for each in range(MOST_TOGETHER + 1))


@pytest.mark.parametrize(
    ("text", "count", "chosen"),
    [
        ("all", 3, [0, 1, 2]),
        ("all", 200, list(range(MOST_TOGETHER))),
        ("1", 3, [1]),
        ("50-99", 200, list(range(50, 100))),
        ("150-220", 200, list(range(150, 200))),
    ],
)
def test_partitions(text: str, count: int, chosen: list[int]) -> None:
    assert chosen_partitions(text, range(count)) == chosen


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("3", "there is no partition 3: the topic has the partitions 0 to 2"),
        ("x", "partitions must be all, a number or a range"),
        ("", "partitions must be"),
        ("-1", "partitions must be"),
        ("1,2", "partitions must be"),
    ],
)
def test_wrong_partitions(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        chosen_partitions(text, range(3))


def test_too_many_partitions_are_refused() -> None:
    with pytest.raises(ValueError, match="100 partitions are too many"):
        chosen_partitions("0-99", range(200))


@given(st.dictionaries(st.integers(0, 10**6), st.integers(0, 10**18 - 1), min_size=1, max_size=MOST_TOGETHER))
def test_positions_come_back(positions: dict[int, int]) -> None:
    assert parse_positions(format_positions(positions)) == positions


@pytest.mark.parametrize("text", ["", "0", "0:", "a:1", "0:1,", "0:-1", "0:1;1:2", TOO_MANY])
def test_wrong_positions(text: str) -> None:
    with pytest.raises(ValueError, match="positions must be like 0:417"):
        parse_positions(text)


@pytest.mark.parametrize(
    ("partitions", "text"), [([0], "0"), ([2, 0, 1], "0-2"), ([0, 2], "0+2"), ([5, 6], "5-6"), ([], "")]
)
def test_partitions_in_file_names(partitions: list[int], text: str) -> None:
    assert format_partitions(partitions) == text
