"""How fast counters grow, from the readings of the last seconds. No I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

# Long enough that a producer that sends every few seconds has a rate that does not jump.
_WINDOW_SECONDS = 10.0


class Rates(Generic[K]):
    """Offsets and sizes only grow, but logs are also cut and topics recreated: what shrinks begins again."""

    def __init__(self, window_seconds: float = _WINDOW_SECONDS) -> None:
        self._window = window_seconds
        self._readings: deque[tuple[float, Mapping[K, int]]] = deque()

    def note(self, at: float, counts: Mapping[K, int]) -> None:
        if self._readings and at < self._readings[-1][0]:
            # The clock was set back: nothing is known of the time in between, and old readings must not pile up.
            self._readings.clear()
        self._readings.append((at, counts))
        # One reading before the window stays: the rate of a slow feed needs two.
        while len(self._readings) > 2 and self._readings[1][0] <= at - self._window:
            self._readings.popleft()

    def per_second(self, key: K) -> float | None:
        """None until there are two readings of it."""
        if not self._readings:
            return None
        last_at, last_counts = self._readings[-1]
        last = last_counts.get(key)
        if last is None:
            return None
        since: tuple[float, int] | None = None
        following = last
        for at, counts in reversed(self._readings):
            count = counts.get(key)
            if count is None or count > following:
                break
            following = count
            since = (at, count)
        if since is None or since[0] >= last_at:
            return None
        return (last - since[1]) / (last_at - since[0])

    def total_per_second(self) -> float | None:
        """Of all keys of the last reading that have a rate."""
        if len(self._readings) < 2:
            return None
        found = [rate for key in self._readings[-1][1] if (rate := self.per_second(key)) is not None]
        return sum(found) if found else 0.0
