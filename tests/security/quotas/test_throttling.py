"""How long clients are throttled, and what a client that waits as it is told can get through."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.protocol.messages import ApiKey
from tidelog.security.quotas.rates import QuotaWindows, SampledRate, TokenBucket
from tidelog.security.quotas.throttling import (
    LONGEST_THROTTLE_MS,
    MutationAllowance,
    MutationMode,
    bucket_throttle_ms,
    excess_throttle_ms,
    mutation_mode,
    percent_of_thread,
    rate_throttle_ms,
    rounded,
)

WINDOWS = QuotaWindows()
STRICT, PERMISSIVE = MutationMode.STRICT, MutationMode.PERMISSIVE


@pytest.mark.parametrize(
    ("per_second", "quota", "window_ms", "expected"),
    [
        (560.0, 500.0, 10_000, 1_200),
        (600.0, 500.0, 10_500, 2_100),
        (500.1, 500.0, 10_000, 2),
        (500.01, 500.0, 10_000, 0),
        (1.00048828125, 1.0, 1_024, 1),
        (1e12, 1.0, 10_000, LONGEST_THROTTLE_MS),
        (1.0, 0.0, 10_000, LONGEST_THROTTLE_MS),
    ],
)
def test_the_time_brings_the_rate_back_to_the_quota(
    per_second: float, quota: float, window_ms: int, expected: int
) -> None:
    assert excess_throttle_ms(per_second, quota, window_ms) == expected
    assert excess_throttle_ms(per_second, quota, window_ms, longest_ms=1_000) == min(expected, 1_000)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.49999999999999994, 0),
        (0.5, 1),
        (1.5, 2),
        (2.5, 3),
        (-0.5, 0),
        (-1.5, -1),
        (4503599627370497.0, LONGEST_THROTTLE_MS),
        (math.inf, LONGEST_THROTTLE_MS),
    ],
)
def test_a_half_is_rounded_up(value: float, expected: int) -> None:
    assert rounded(value) == expected


def test_a_rate_at_its_quota_is_not_throttled() -> None:
    rate = SampledRate(WINDOWS)
    rate.record(5_000, 0)
    assert rate_throttle_ms(rate, 500.0, 0) == 0
    rate.record(1, 0)
    assert rate_throttle_ms(rate, 500.0, 0) == 2
    assert rate_throttle_ms(rate, 499.0, 0, longest_ms=10) == 10


def test_a_thread_that_is_always_busy_is_a_hundred_percent() -> None:
    rate = SampledRate(WINDOWS)
    for second in range(20):
        for tenth in range(10):
            rate.record(percent_of_thread(100_000_000), second * 1_000 + tenth * 100)
    assert rate.per_second(20_000) == pytest.approx(100.0, rel=0.02)


# -- what gets through -------------------------------------------------------------------------------------------------


@given(
    st.integers(1, 2_000),
    st.lists(st.tuples(st.integers(0, 15_000), st.integers(0, 40_000)), min_size=1, max_size=120),
)
def test_a_client_that_waits_gets_less_than_twice_its_quota_however_it_bursts(
    quota: int, requests: list[tuple[int, int]]
) -> None:
    """Windows forget a burst after their span, while up to all complete windows' worth of it was free. So a client that
    bursts and then waits out the span gains that much each time: 10 windows in 11, with the default."""
    rate, now, total = SampledRate(WINDOWS), 0, 0
    for pause, size in requests:
        now += pause
        rate.record(size, now)
        total += size
        now += rate_throttle_ms(rate, quota, now)
        free = quota * (WINDOWS.count - 1) * WINDOWS.size_ms / 1_000
        most = quota * now / 1_000 * (2 * WINDOWS.count - 1) / WINDOWS.count + free
        # Each time is rounded to a millisecond.
        assert total <= most + len(requests) * quota / 1_000


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("quota", [100, 1_000, 12_345])
def test_a_client_that_always_has_something_to_send_gets_its_quota(quota: int, size: int) -> None:
    """With requests of at most one window's worth. The first complete windows are free."""
    rate, now, total = SampledRate(WINDOWS), 0, 0
    # Each request takes at least a millisecond.
    while now < 300_000:
        rate.record(size, now)
        total += size
        now += max(1, rate_throttle_ms(rate, quota, now))
    free = quota * (WINDOWS.count - 1)
    assert total <= quota * now / 1_000 + free + size
    if size * 1_000 > quota:
        assert total >= 0.9 * quota * now / 1_000 - size


# -- mutations of the controller ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api_key", "first_strict"),
    [(ApiKey.CREATE_TOPICS, 6), (ApiKey.DELETE_TOPICS, 5), (ApiKey.CREATE_PARTITIONS, 3)],
)
def test_only_new_versions_are_refused(api_key: ApiKey, first_strict: int) -> None:
    assert mutation_mode(api_key, first_strict) is STRICT
    assert mutation_mode(api_key, first_strict - 1) is PERMISSIVE


def test_topics_that_are_created_on_demand_are_not_refused() -> None:
    assert mutation_mode(ApiKey.METADATA, 99) is PERMISSIVE


def test_the_strict_mode_lets_one_request_overdraw_and_refuses_the_next() -> None:
    bucket = TokenBucket(1.0, WINDOWS, 0)
    allowance = MutationAllowance(bucket, STRICT)
    assert allowance.take(31, 0)
    assert (allowance.is_exceeded, allowance.throttle_ms(0)) == (False, 0)
    assert not allowance.take(1, 0)
    assert (allowance.is_exceeded, allowance.throttle_ms(0)) == (True, 20_000)
    # What is refused takes nothing, and the time until the reply counts.
    assert bucket.tokens(0) == -20.0
    assert (allowance.throttle_ms(5_000), allowance.throttle_ms(50_000)) == (15_000, 0)
    assert MutationAllowance(bucket, STRICT).take(1, 20_000)


def test_the_permissive_mode_does_everything_and_throttles() -> None:
    bucket = TokenBucket(2.0, WINDOWS, 0)
    allowance = MutationAllowance(bucket, PERMISSIVE)
    assert allowance.take(22, 0)
    assert allowance.throttle_ms(0) == 0
    assert allowance.take(10, 0)
    assert (allowance.is_exceeded, allowance.throttle_ms(0)) == (False, 5_000)
    assert allowance.take(10, 0)
    assert allowance.throttle_ms(0) == 10_000


def test_without_a_quota_everything_is_allowed() -> None:
    allowance = MutationAllowance(None, STRICT)
    assert allowance.take(1_000_000, 0)
    assert (allowance.is_exceeded, allowance.throttle_ms(0)) == (False, 0)


def test_a_bucket_out_of_debt_throttles_nobody() -> None:
    assert bucket_throttle_ms(0.0, 1.0) == 0
    assert bucket_throttle_ms(-1.0, 0.5) == 2_000
    assert bucket_throttle_ms(-1e12, 0.5) == LONGEST_THROTTLE_MS
