"""Bounds on the bytes per second that replication may take (KIP-73), and to which replicas they apply. Pure arithmetic.

As in Kafka, the rate is that of the last windows together: what has flowed in them, divided by the time since the first
of them began. A replica that is in sync is never held back: a bound is for those that have much to catch up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

EVERY_REPLICA = "*"
UNLIMITED = (1 << 63) - 1


class RateLimit:
    """`record` what has flowed; while the limit is `exceeded`, let nothing flow."""

    __slots__ = ("_samples", "_total", "_window_ms", "_windows", "bytes_per_second")

    def __init__(self, bytes_per_second: int = UNLIMITED, *, windows: int, window_ms: float) -> None:
        self.bytes_per_second = bytes_per_second
        self._windows = windows
        self._window_ms = window_ms
        # When each window began, and the bytes in it.
        self._samples: deque[tuple[float, int]] = deque()
        self._total = 0

    @property
    def unlimited(self) -> bool:
        return self.bytes_per_second >= UNLIMITED

    def change(self, bytes_per_second: int) -> None:
        self.bytes_per_second = bytes_per_second

    def record(self, size: int, now_ms: float) -> None:
        self._forget(now_ms)
        self._total += size
        if self._samples and now_ms - self._samples[-1][0] < self._window_ms:
            began_ms, before = self._samples.pop()
            self._samples.append((began_ms, before + size))
        else:
            self._samples.append((now_ms, size))

    def rate(self, now_ms: float) -> float:
        """Bytes per second."""
        self._forget(now_ms)
        if not self._samples:
            return 0.0
        return self._total * 1_000.0 / max(now_ms - self._samples[0][0], self._window_ms)

    def exceeded(self, now_ms: float) -> bool:
        return not self.unlimited and self.rate(now_ms) > self.bytes_per_second

    def wait_ms(self, now_ms: float) -> float:
        """How long nothing may flow, if nothing flows meanwhile. At most one window: then ask again."""
        if not self.exceeded(now_ms):
            return 0.0
        elapsed_ms = now_ms - self._samples[0][0]
        needed_ms = self._total * 1_000.0 / max(1, self.bytes_per_second)
        return min(self._window_ms, max(1.0, needed_ms - elapsed_ms))

    def _forget(self, now_ms: float) -> None:
        oldest_ms = now_ms - self._windows * self._window_ms
        while self._samples and self._samples[0][0] <= oldest_ms:
            self._total -= self._samples.popleft()[1]


def is_throttled(replicas: Collection[str], partition: int, *, broker: int) -> bool:
    """Whether a topic's list of throttled replicas, entries like `0:1` or `*`, names this one."""
    return bool(replicas) and (EVERY_REPLICA in replicas or f"{partition}:{broker}" in replicas)
