"""The real time and the real randomness. Nothing else in the server reads a clock or draws a number."""

from __future__ import annotations

import os
import random
import time


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000


class SystemRandomness:
    def random_bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def uniform(self, low: float, high: float) -> float:
        return random.uniform(low, high)

    def below(self, bound: int) -> int:
        return random.randrange(bound)
