"""Time and randomness as the machine has them, for server and client: the ports of `tidelog.model.ports`.

Nothing else in the server reads a clock or draws a number.
"""

from __future__ import annotations

import random
import secrets
import time

from mypy_extensions import mypyc_attr


# Tests let time pass faster, and draw numbers that they know.
@mypyc_attr(allow_interpreted_subclasses=True)
class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000


@mypyc_attr(allow_interpreted_subclasses=True)
class SystemRandomness:
    def random_bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)

    def uniform(self, low: float, high: float) -> float:
        return random.uniform(low, high)

    def below(self, bound: int) -> int:
        return random.randrange(bound)
