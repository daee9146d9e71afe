"""The wall clock of a machine, which may be wrong and may jump, and randomness that a seed repeats."""

from __future__ import annotations

import random

from tidelog.simulation.machines.loop import SimulatedLoop

# Where wall clocks begin: some day in 2023, so that timestamps look like timestamps.
EPOCH_MS = 1_700_000_000_000


class SimulatedClock:
    """Belongs to a machine, so it survives restarts. Monotonic time is that of the loop."""

    def __init__(self, loop: SimulatedLoop, skew_ms: int = 0) -> None:
        self._loop = loop
        self.skew_ms = skew_ms

    def now_ms(self) -> int:
        return EPOCH_MS + int(self._loop.now_ms) + self.skew_ms

    def monotonic_ms(self) -> float:
        return self._loop.now_ms


class SeededRandomness:
    """The randomness port of one process."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def random_bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    def uniform(self, low: float, high: float) -> float:
        return self._chance.uniform(low, high)

    def below(self, bound: int) -> int:
        return self._chance.randrange(bound)


def draw_from(seed: int, *names: object) -> random.Random:
    """An independent source of chance for each purpose, so that more draws for one do not change another."""
    return random.Random("/".join(map(str, (seed, *names))))
