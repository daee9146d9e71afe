"""The ports through which time and randomness come in.

The two other ports live where their vocabulary is: the file system in `tidelog.storage.files.filesystem`, the network
in `tidelog.network.port`. The real implementations are in `tidelog.network.system`; the simulation brings its own.
"""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Both methods are cheap enough for every request. Wall time may jump, monotonic time never goes back."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, for timestamps that are stored or shown."""
        ...

    def monotonic_ms(self) -> float:
        """Milliseconds since some fixed moment, for timeouts and durations."""
        ...


class Randomness(Protocol):
    """The only source of randomness of the server; seeded in simulation."""

    def random_bytes(self, count: int) -> bytes: ...

    def uniform(self, low: float, high: float) -> float: ...

    def below(self, bound: int) -> int:
        """A whole number from 0 up to, not including, `bound`."""
        ...
