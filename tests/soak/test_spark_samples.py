from __future__ import annotations

from collections.abc import Callable

import pytest
from soak.spark_samples import Sample, describe, problems, rates

MEGABYTE = 1 << 20


def run(
    *,
    memory: Callable[[int], int] = lambda number: 500,
    rate: Callable[[int], float] = lambda number: 50_000,
    count: int = 30,
) -> list[Sample]:
    rows = 0.0
    samples = []
    for number in range(count):
        rows += 60 * rate(number)
        sizes = {"JVM": 1500 * MEGABYTE, "Python": memory(number) * MEGABYTE}
        samples.append(Sample(seconds=60.0 * number, rows=int(rows), memory=sizes))
    return samples


def test_a_steady_run_is_well() -> None:
    assert problems(run()) == []
    assert rates(run(count=3)) == [50_000, 50_000]


def test_warming_up_and_single_peaks_do_not_count() -> None:
    assert problems(run(memory=lambda number: min(500, 50 * number))) == []
    assert problems(run(memory=lambda number: 900 if number in (15, 22, 27) else 500)) == []
    assert problems(run(rate=lambda number: 100 if number == 25 else 50_000 + number)) == []


def test_memory_that_grows_is_told_with_the_kind_of_process() -> None:
    (problem,) = problems(run(memory=lambda number: 300 + 25 * number))
    assert "memory of Python grows" in problem


def test_a_rate_that_falls_is_told() -> None:
    (problem,) = problems(run(rate=lambda number: 60_000 * 0.95**number))
    assert "the rate falls" in problem


@pytest.mark.parametrize("count", [0, 1, 5])
def test_too_short_a_run_says_nothing(count: int) -> None:
    assert problems(run(count=count, memory=lambda number: 1000 * number)) == []


def test_a_sample_is_a_line_for_people() -> None:
    first, second = run(count=2)
    assert describe(first, second) == "     60 s ·     6,000,000 rows ·     50,000 rows/s · JVM 1,500 MB, Python 500 MB"
