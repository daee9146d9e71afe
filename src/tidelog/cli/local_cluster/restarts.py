"""How often a process that has died is started again, and after which pause. Pure: the time comes in."""

from __future__ import annotations

from collections import deque

# A process that dies once is started again at once. One that dies each time it starts must not keep the machine busy,
# and the sixth death within a minute is nothing that another start repairs.
MOST_RESTARTS = 5
WINDOW_SECONDS = 60.0
_FIRST_PAUSE_SECONDS = 1.0


class Restarts:
    """Of one process."""

    def __init__(self) -> None:
        self._deaths: deque[float] = deque()

    def pause_after_death(self, now: float) -> float | None:
        """Seconds until it may be started again; None if it has died too often. `now` never goes back."""
        while self._deaths and now - self._deaths[0] >= WINDOW_SECONDS:
            self._deaths.popleft()
        earlier = len(self._deaths)
        if earlier == MOST_RESTARTS:
            return None
        self._deaths.append(now)
        return _FIRST_PAUSE_SECONDS * 2 ** (earlier - 1) if earlier else 0.0
