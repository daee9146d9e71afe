"""Rates over sampled windows and buckets of tokens: examples worked out by hand, and a slow model of the rule."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.security.quotas.rates import QuotaWindows, SampledRate, TokenBucket

WINDOWS = QuotaWindows()


@dataclass
class Sample:
    began_ms: int
    last_ms: int
    total: float = 0.0


class SlowRate:
    """The rule of Kafka without any shortcut: every sample is looked at each time."""

    def __init__(self, windows: QuotaWindows) -> None:
        self.windows = windows
        self.samples: list[Sample] = []
        self.current = 0

    def record(self, value: float, now_ms: int) -> None:
        if not self.samples:
            self.samples.append(Sample(now_ms, now_ms))
        if now_ms - self.samples[self.current].began_ms >= self.windows.size_ms:
            self.current = (self.current + 1) % (self.windows.count + 1)
            self.samples[self.current : self.current + 1] = [Sample(now_ms, now_ms)]
        sample = self.samples[self.current]
        sample.total += value
        sample.last_ms = now_ms

    def window_ms(self, now_ms: int) -> int:
        self._reset_expired(now_ms)
        elapsed_ms = now_ms - min(sample.began_ms for sample in self.samples)
        complete = elapsed_ms // self.windows.size_ms
        missing = max(0, self.windows.count - 1 - complete)
        return max(1, elapsed_ms + missing * self.windows.size_ms)

    def per_second(self, now_ms: int) -> float:
        self._reset_expired(now_ms)
        return sum(sample.total for sample in self.samples) / (self.window_ms(now_ms) / 1_000)

    def _reset_expired(self, now_ms: int) -> None:
        for number, sample in enumerate(self.samples):
            if now_ms - sample.last_ms >= self.windows.span_ms:
                self.samples[number] = Sample(now_ms, now_ms)
        if not self.samples:
            self.samples.append(Sample(now_ms, now_ms))


windows = st.builds(QuotaWindows, count=st.integers(1, 12), size_ms=st.sampled_from([1, 10, 1_000]))
# Pauses in tenths of a window, so that windows often end exactly at an event.
steps = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 3, 9, 10, 11, 25, 100, 109, 110, 111, 119, 120, 130]),
        st.sampled_from(["record", "record", "measure"]),
        st.integers(-1_000, 100_000),
    ),
    max_size=80,
)


@given(windows, steps)
def test_the_rate_is_that_of_the_slow_model(windows: QuotaWindows, steps: list[tuple[int, str, int]]) -> None:
    fast, slow, now = SampledRate(windows), SlowRate(windows), 0
    for tenths, kind, value in steps:
        now += tenths * windows.size_ms // 10
        if kind == "record":
            fast.record(value, now)
            slow.record(value, now)
        else:
            assert fast.window_ms(now) == slow.window_ms(now)
            assert fast.per_second(now) == slow.per_second(now)


@given(windows, steps, st.integers(0, 300), steps)
def test_after_a_whole_span_without_events_a_new_rate_counts_the_same(
    windows: QuotaWindows, before: list[tuple[int, str, int]], pause: int, after: list[tuple[int, str, int]]
) -> None:
    old, now = SampledRate(windows), 0
    for tenths, _, value in before:
        now += tenths * windows.size_ms // 10
        old.record(value, now)
    assert old.is_forgotten(now) == (not before)
    now += windows.span_ms + pause * windows.size_ms // 10
    assert old.is_forgotten(now)
    new = SampledRate(windows)
    for tenths, kind, value in after:
        now += tenths * windows.size_ms // 10
        if kind == "record":
            old.record(value, now)
            new.record(value, now)
        else:
            old_ms, new_ms = old.window_ms(now), new.window_ms(now)
            assert abs(old_ms - new_ms) < 2 * windows.size_ms
            assert round(old.per_second(now) * old_ms / 1_000) == round(new.per_second(now) * new_ms / 1_000)


def test_a_sample_without_events_can_be_the_oldest() -> None:
    """Why an old rate is not exactly a new one."""
    old, new = SampledRate(WINDOWS), SampledRate(WINDOWS)
    old.record(5, 0)
    old.record(5, 1_000)
    for rate in (old, new):
        rate.record(100, 20_000)
        # This resets the two samples of the old rate that have expired.
        assert rate.window_ms(20_300) == 10_300
    # Now the event has expired, but those two were reset a little later than it was recorded.
    assert (old.window_ms(31_100), new.window_ms(31_100)) == (10_800, 10_000)


def test_the_first_events_are_spread_over_all_complete_windows() -> None:
    rate = SampledRate(WINDOWS)
    rate.record(5_000, 0)
    assert (rate.window_ms(0), rate.per_second(0)) == (10_000, 500.0)
    # The fraction of the current window counts, complete ones that are missing are added.
    assert (rate.window_ms(250), rate.per_second(250)) == (10_250, 5_000 / 10.25)
    assert rate.window_ms(3_250) == 10_250
    assert rate.window_ms(9_999) == 10_999
    # From here on it is the time since the first event.
    assert rate.window_ms(10_000) == 10_000
    assert rate.window_ms(10_999) == 10_999


def test_a_sample_counts_until_its_last_event_is_as_old_as_all_windows() -> None:
    rate = SampledRate(WINDOWS)
    rate.record(100, 0)
    rate.record(100, 900)
    rate.record(50, 1_000)
    assert rate.per_second(11_899) == 250 / 11.899
    # Now the first window has gone, and the oldest is the second one, which began at 1000.
    assert rate.per_second(11_900) == 50 / 10.9


def test_the_sample_that_overlaps_the_span_counts_as_well() -> None:
    rate = SampledRate(WINDOWS)
    rate.record(1, 0)
    rate.record(1, 900)
    for second in range(1, 12):
        rate.record(1, second * 1_000)
    # Eleven windows have begun since the first one ended, whose last event is not older than all windows together.
    assert rate.per_second(11_000) == 13 / 11


def test_what_is_taken_back_in_the_same_window_leaves_nothing() -> None:
    rate = SampledRate(WINDOWS)
    rate.record(0.1, 0)
    before = rate.per_second(500)
    rate.record(1_000_000, 500)
    rate.record(-1_000_000, 500)
    assert rate.per_second(500) == pytest.approx(before, rel=1e-9)


def test_a_single_window_of_no_length_is_a_millisecond() -> None:
    rate = SampledRate(QuotaWindows(count=1))
    rate.record(3, 0)
    assert (rate.window_ms(0), rate.per_second(0)) == (1, 3_000.0)


def test_measuring_nothing_begins_the_first_window() -> None:
    rate = SampledRate(WINDOWS)
    assert rate.per_second(5_000) == 0.0
    rate.record(10, 5_500)
    assert rate.window_ms(15_100) == 10_100


def test_a_bucket_begins_full_and_is_filled_at_a_constant_rate() -> None:
    bucket = TokenBucket(5.0, WINDOWS, 7_000)
    assert (bucket.burst, bucket.tokens(7_000)) == (55.0, 55.0)
    bucket.take(60, 7_000)
    assert bucket.tokens(7_000) == -5.0
    assert not bucket.is_forgotten(8_000)
    assert bucket.tokens(8_000) == 0.0
    assert bucket.tokens(18_999) == pytest.approx(54.995)
    assert bucket.tokens(99_000) == 55.0
    assert bucket.is_forgotten(99_000)


def test_what_is_given_back_does_not_overfill_a_bucket() -> None:
    bucket = TokenBucket(1.0, WINDOWS, 0)
    bucket.take(3, 0)
    bucket.take(-10, 0)
    assert bucket.tokens(0) == 11.0
    bucket.take(-10, 0)
    # Not even for a later time with a higher rate.
    bucket.per_second = 100.0
    assert bucket.tokens(0) == 11.0


def test_a_lower_rate_makes_the_bucket_smaller_at_once() -> None:
    bucket = TokenBucket(10.0, WINDOWS, 0)
    bucket.per_second = 2.0
    assert bucket.tokens(0) == 22.0
    bucket.per_second = 4.0
    assert (bucket.tokens(0), bucket.tokens(1_000)) == (22.0, 26.0)


@given(
    st.floats(0.01, 1_000.0),
    st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 500)), min_size=1, max_size=100),
)
def test_a_bucket_gives_out_no_more_than_its_burst_its_rate_and_one_request(
    per_second: float, requests: list[tuple[int, int]]
) -> None:
    bucket, now, total = TokenBucket(per_second, WINDOWS, 0), 0, 0
    for pause, permits in requests:
        now += pause
        if bucket.tokens(now) >= 0:
            bucket.take(permits, now)
            total += permits
    most = bucket.burst + per_second * now / 1_000 + max(permits for _, permits in requests)
    assert total <= most * (1 + 1e-9)
