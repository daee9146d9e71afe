"""Rates from readings of counters, at any pace, with counters that begin again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.console.findings.rates import Rates

WINDOW = 10.0

# Pauses between readings, and by how much a counter has grown; None is a reading without it, -1 one that began again.
steps = st.lists(
    st.tuples(st.floats(0.01, 30.0), st.one_of(st.none(), st.just(-1), st.integers(0, 10**12))), min_size=1, max_size=40
)


def readings(given_steps: list[tuple[float, int | None]]) -> list[tuple[float, dict[str, int]]]:
    at, count = 1000.0, 5
    made = []
    for pause, growth in given_steps:
        at += pause
        if growth is None:
            made.append((at, dict[str, int]()))
            continue
        count = 0 if growth == -1 else count + growth
        made.append((at, {"a": count}))
    return made


def test_two_readings_make_a_rate() -> None:
    rates: Rates[str] = Rates()
    assert rates.per_second("a") is None
    assert rates.total_per_second() is None
    rates.note(1.0, {"a": 100})
    assert rates.per_second("a") is None
    assert rates.total_per_second() is None
    rates.note(3.0, {"a": 150, "b": 7})
    assert (rates.per_second("a"), rates.per_second("b"), rates.per_second("c")) == (25.0, None, None)
    assert rates.total_per_second() == 25.0


def test_what_is_recreated_begins_again() -> None:
    rates: Rates[str] = Rates()
    for at, count in ((1.0, 1000), (2.0, 2000), (3.0, 10)):
        rates.note(at, {"a": count})
    assert rates.per_second("a") is None
    assert rates.total_per_second() == 0.0
    rates.note(4.0, {"a": 15})
    assert rates.per_second("a") == 5.0


def test_a_partition_that_was_away_has_no_rate_over_the_time_that_it_was() -> None:
    rates: Rates[str] = Rates()
    rates.note(1.0, {"a": 0})
    rates.note(2.0, {})
    assert rates.per_second("a") is None
    rates.note(3.0, {"a": 1000})
    assert rates.per_second("a") is None
    rates.note(4.0, {"a": 1010})
    assert rates.per_second("a") == 10.0


def test_a_burst_is_forgotten_after_the_window() -> None:
    rates: Rates[str] = Rates(WINDOW)
    rates.note(0.0, {"a": 0})
    rates.note(1.0, {"a": 10_000})
    for second in range(2, 12):
        rates.note(float(second), {"a": 10_000})
    assert rates.per_second("a") == 0.0


def test_a_clock_that_is_set_back_begins_again() -> None:
    rates: Rates[str] = Rates()
    rates.note(5000.0, {"a": 1})
    rates.note(5001.0, {"a": 2})
    rates.note(1400.0, {"a": 3})
    assert rates.per_second("a") is None
    rates.note(1402.0, {"a": 7})
    assert rates.per_second("a") == 2.0


@given(steps)
def test_a_rate_is_between_the_least_and_the_greatest_of_its_steps(given_steps: list[tuple[float, int | None]]) -> None:
    rates: Rates[str] = Rates(WINDOW)
    made = readings(given_steps)
    for number, (at, counts) in enumerate(made):
        rates.note(at, counts)
        found = rates.per_second("a")
        if found is None:
            continue
        # Back to where it last began again, and no further than the window and one reading before it.
        slopes = []
        for (before, first), (after, second) in reversed(list(pairwise(made[: number + 1]))):
            if "a" not in first or "a" not in second or first["a"] > second["a"] or after <= at - WINDOW:
                break
            slopes.append((second["a"] - first["a"]) / (after - before))
        assert slopes
        assert found >= 0.0
        assert min(slopes) * (1 - 1e-9) <= found <= max(slopes) * (1 + 1e-9)
        assert rates.total_per_second() == found


@given(st.floats(0.1, 5.0), st.integers(0, 10**9), st.integers(3, 30))
def test_what_grows_evenly_has_that_rate(pause: float, growth: int, count: int) -> None:
    rates: Rates[str] = Rates(WINDOW)
    for number in range(count):
        rates.note(1e6 + number * pause, {"a": number * growth})
    assert rates.per_second("a") == pytest.approx(growth / pause, rel=1e-6)


@given(steps)
def test_no_more_is_remembered_than_the_window_and_two_readings(given_steps: list[tuple[float, int | None]]) -> None:
    rates: Rates[str] = Rates(WINDOW)
    made = readings(given_steps)
    for number, (at, counts) in enumerate(made, 1):
        rates.note(at, counts)
        within = sum(time > at - WINDOW for time, _ in made[:number])
        assert len(rates._readings) <= max(2, within + 1)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9), max_size=200))
def test_whatever_the_clock_does_rates_are_finite_and_not_negative(times: list[float]) -> None:
    rates: Rates[str] = Rates(WINDOW)
    for count, at in enumerate(times):
        rates.note(at, {"a": count})
        found = rates.per_second("a")
        assert found is None or found >= 0.0
