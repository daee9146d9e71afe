"""The wall clock of a machine, which may be wrong and may jump, and randomness that a seed repeats."""

from __future__ import annotations

import random

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.simulation.machines.loop import SimulatedLoop

# Where wall clocks begin: some day in 2023, so that timestamps look like timestamps.
EPOCH_MS = 1_700_000_000_000


@dataclass(slots=True)
class SimulatedClock:
    """Belongs to a machine, so it survives restarts. Monotonic time is that of the loop."""

    loop: SimulatedLoop
    skew_ms: int = 0

    def now_ms(self) -> int:
        return EPOCH_MS + int(self.loop.now_ms) + self.skew_ms

    def monotonic_ms(self) -> float:
        return self.loop.now_ms


@dataclass(frozen=True, slots=True)
class SeededRandomness:
    """The randomness port of one process."""

    chance: random.Random

    def random_bytes(self, count: int) -> bytes:
        return self.chance.randbytes(count)

    def uniform(self, low: float, high: float) -> float:
        return self.chance.uniform(low, high)

    def below(self, bound: int) -> int:
        return self.chance.randrange(bound)


def draw_from(seed: int, *names: object) -> random.Random:
    """An independent source of chance for each purpose, so that more draws for one do not change another."""
    return random.Random("/".join(map(str, (seed, *names))))
