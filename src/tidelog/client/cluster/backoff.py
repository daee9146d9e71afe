"""How long to wait before the next try: doubling from a first pause to a longest one, with some jitter (KIP-580)."""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Randomness

JITTER = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    first_ms: float
    longest_ms: float

    def pause_ms(self, failures: int, randomness: Randomness) -> float:
        """The pause after so many failures in a row, which is at least 1.

        Jitter keeps clients that lost the same broker at the same moment from coming back at the same moment.
        """
        doublings = min(failures - 1, 30)
        pause = min(self.first_ms * 2.0**doublings, max(self.first_ms, self.longest_ms))
        return pause * randomness.uniform(1 - JITTER, 1 + JITTER)
