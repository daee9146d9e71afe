"""The two measures that quotas are compared with: a rate over sampled windows, and a bucket of tokens (KIP-599).

Their numbers are those of Kafka's `Rate` and `TokenBucket`. What follows from a number is in `throttling.py`, and whom
it is measured for in `usage.py`.

A rate is measured for every produce and fetch of a client that has a quota. Kafka walks over all samples for each of
them. Here a walk is made only when a window begins or ends, that is, about once per window, and its results are kept:
the sum of all samples but the current one, the beginning of the oldest one, and a time before which none can expire.
Between two walks, recording and measuring are a few additions and comparisons, whatever the number of windows, and
allocate nothing but the numbers themselves.

Times are whole milliseconds of a clock that never goes back. (Kafka reads the wall clock.)
"""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaWindows:
    """quota.window.num and quota.window.size.seconds, or their counterparts that begin with `controller.`.

    The default is ten complete windows and the current one.
    """

    count: int = 11
    size_ms: int = 1_000

    @property
    def span_ms(self) -> int:
        """After this long without an event, nothing is left of a rate."""
        return self.count * self.size_ms


class SampledRate:
    """What was recorded in the last windows, divided by the time that they cover.

    A window begins with the first event after the end of the one before, so windows are not aligned to the clock, and
    a pause belongs to no window. One more sample is kept than there are windows: the oldest may have begun before the
    span that is measured and still have events in it. A sample is reset when its last event is as old as that span.
    """

    __slots__ = (
        "_began_ms",
        "_current",
        "_expiry_ms",
        "_last_ms",
        "_least_ms",
        "_oldest_ms",
        "_other_sums",
        "_samples",
        "_size_ms",
        "_span_ms",
        "_sums",
    )

    def __init__(self, windows: QuotaWindows) -> None:
        self._size_ms = windows.size_ms
        self._span_ms = windows.span_ms
        # A rate is never that of less time than all complete windows: the first event would seem infinitely fast.
        self._least_ms = (windows.count - 1) * windows.size_ms
        self._samples = windows.count + 1
        # Of each sample: when it began, when its last event was, and the sum of its events.
        self._began_ms: list[int] = []
        self._last_ms: list[int] = []
        self._sums: list[float] = []
        self._current = 0
        # Kept from the last walk over the samples.
        self._other_sums = 0.0
        self._oldest_ms = 0
        # No sample expires before this time. It may be too early, because events make a sample live longer.
        self._expiry_ms = 0

    def record(self, value: float, now_ms: int) -> None:
        """A negative value takes back what was recorded, as long as its window is the current one."""
        if not self._sums:
            self._begin(now_ms)
        if now_ms - self._began_ms[self._current] >= self._size_ms:
            self._advance(now_ms)
        current = self._current
        self._sums[current] += value
        self._last_ms[current] = now_ms

    def per_second(self, now_ms: int) -> float:
        window_ms = self.window_ms(now_ms)
        return (self._other_sums + self._sums[self._current]) / (window_ms / 1_000.0)

    def window_ms(self, now_ms: int) -> int:
        """The time that the rate is measured over: since the oldest sample began, but at least all complete windows.

        If it is less, the missing windows count as complete ones without events. Never 0, which one window could be.
        """
        if now_ms >= self._expiry_ms:
            self._reset_expired(now_ms)
        elapsed_ms = now_ms - self._oldest_ms
        if elapsed_ms < self._least_ms:
            elapsed_ms = self._least_ms + elapsed_ms % self._size_ms
        return elapsed_ms if elapsed_ms > 0 else 1

    def is_forgotten(self, now_ms: int) -> bool:
        """Whether a new rate would count the same events from now on.

        The time that it divides them by may be different, by less than two windows: samples that have been reset stay,
        without events, and the oldest of them can be older than the first event.
        """
        return not self._last_ms or now_ms - max(self._last_ms) >= self._span_ms

    def _begin(self, now_ms: int) -> None:
        self._began_ms.append(now_ms)
        self._last_ms.append(now_ms)
        self._sums.append(0.0)
        self._oldest_ms = now_ms
        self._expiry_ms = now_ms + self._span_ms

    def _advance(self, now_ms: int) -> None:
        """The next sample becomes the current one, and is reset if it has been used before."""
        current = self._current = (self._current + 1) % self._samples
        if current == len(self._sums):
            self._began_ms.append(now_ms)
            self._last_ms.append(now_ms)
            self._sums.append(0.0)
        else:
            self._reset(current, now_ms)
        self._walk()

    def _reset_expired(self, now_ms: int) -> None:
        if not self._sums:
            self._begin(now_ms)
            return
        for sample, last_ms in enumerate(self._last_ms):
            if now_ms - last_ms >= self._span_ms:
                self._reset(sample, now_ms)
        self._expiry_ms = min(self._last_ms) + self._span_ms
        self._walk()

    def _reset(self, sample: int, now_ms: int) -> None:
        self._began_ms[sample] = now_ms
        self._last_ms[sample] = now_ms
        self._sums[sample] = 0.0

    def _walk(self) -> None:
        self._oldest_ms = min(self._began_ms)
        others = 0.0
        for sample, value in enumerate(self._sums):
            if sample != self._current:
                others += value
        self._other_sums = others


class TokenBucket:
    """Tokens flow in at a constant rate, up to what flows in during all windows together; mutations take them out.

    Taking may leave less than none. A quota is exhausted while there are less than none, so one large request passes
    and those after it wait until it is paid for.
    """

    __slots__ = ("_refilled_ms", "_span_seconds", "_tokens", "per_second")

    def __init__(self, per_second: float, windows: QuotaWindows, now_ms: int) -> None:
        # May be changed at any time. What has flowed in since the last refill then counts at the new rate.
        self.per_second = per_second
        self._span_seconds = windows.count * (windows.size_ms / 1_000.0)
        # Kafka starts with nothing at the time 0, that is, in 1970: the first refill fills the bucket.
        self._tokens = self.burst
        self._refilled_ms = now_ms

    @property
    def burst(self) -> float:
        """How many tokens there are at most."""
        return self._span_seconds * self.per_second

    def tokens(self, now_ms: int) -> float:
        self._refill(now_ms)
        return self._tokens

    def take(self, permits: float, now_ms: int) -> None:
        self._refill(now_ms)
        self._tokens = min(self.burst, self._tokens - permits)

    def is_forgotten(self, now_ms: int) -> bool:
        """Whether a new bucket would have the same tokens from now on."""
        return self.tokens(now_ms) >= self.burst

    def _refill(self, now_ms: int) -> None:
        flowed = self.per_second * ((now_ms - self._refilled_ms) / 1_000.0)
        self._tokens = min(self.burst, self._tokens + flowed)
        self._refilled_ms = now_ms
