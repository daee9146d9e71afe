"""How clients measure themselves, under Kafka's names. What they measure is in `producer.metrics`, `consumer.metrics`.

Everything is counted per batch, request or chunk of records, never per record. Averages, maxima and rates are those of
the last 30 to 60 seconds, as in Kafka (two samples of 30 seconds); totals are since the start. Without a sample an
average or maximum is NaN.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar, Final

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock

SAMPLE_MS: Final = 30_000.0
# A rate over less time than this would say more about the moment than about the client.
_LEAST_ELAPSED_MS: Final = 1_000.0
NOTHING: Final = float("nan")


@dataclass(slots=True, eq=False)
class Samples:
    """Sum, number and maximum of values: in all, and in the current and the previous sample."""

    _started_ms: float
    total: float = 0.0
    _sum: float = 0.0
    _count: int = 0
    _most: float = -float("inf")
    # Start, sum, number and maximum of the sample before.
    _before: tuple[float, float, int, float] | None = None

    def add(self, value: float, now_ms: float) -> None:
        if now_ms - self._started_ms >= SAMPLE_MS:
            self._roll(now_ms)
        self.total += value
        self._sum += value
        self._count += 1
        if value > self._most:
            self._most = value

    def _roll(self, now_ms: float) -> None:
        recent = now_ms - self._started_ms < 2 * SAMPLE_MS
        self._before = (self._started_ms, self._sum, self._count, self._most) if recent else None
        self._started_ms = now_ms
        self._sum, self._count, self._most = 0.0, 0, -float("inf")

    def read(self, now_ms: float) -> tuple[float, float, float]:
        """(rate per second, average, maximum)."""
        if now_ms - self._started_ms >= SAMPLE_MS:
            self._roll(now_ms)
        start, total, count, most = self._started_ms, self._sum, self._count, self._most
        if self._before is not None:
            start = self._before[0]
            total += self._before[1]
            count += self._before[2]
            most = max(most, self._before[3])
        rate = total * 1000 / max(now_ms - start, _LEAST_ELAPSED_MS)
        return (rate, total / count, most) if count else (rate, NOTHING, NOTHING)


class SampledMetrics:
    """Each name in `RATES` becomes a `-rate` and a `-total`; in `AVERAGES` an `-avg`, with `True` also a `-max`."""

    RATES: ClassVar[Collection[str]]
    AVERAGES: ClassVar[Mapping[str, bool]]

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        now_ms = clock.monotonic_ms()
        self._samples = {name: Samples(now_ms) for name in (*self.RATES, *self.AVERAGES)}

    def snapshot(self) -> dict[str, float]:
        now_ms = self._clock.monotonic_ms()
        found: dict[str, float] = {}
        for name, samples in self._samples.items():
            rate, average, most = samples.read(now_ms)
            if name in self.RATES:
                found[f"{name}-rate"] = rate
                found[f"{name}-total"] = samples.total
            else:
                found[f"{name}-avg"] = average
                if self.AVERAGES[name]:
                    found[f"{name}-max"] = most
        return found
