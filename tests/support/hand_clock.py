"""A clock that a test stops and moves on by hand, so that rates and throttle times are exact."""

from __future__ import annotations

from tidelog.network.system import SystemClock


class HandClock(SystemClock):
    """Runs like the system's until it is stopped."""

    def __init__(self) -> None:
        self._stopped_at: float | None = None
        self._step_ms = 0.0

    def stop(self, *, step_ms: float = 0.0) -> None:
        """From now on time passes only by hand, and by so much whenever somebody looks."""
        self._stopped_at = float(int(super().monotonic_ms()))
        self._step_ms = step_ms

    def advance(self, milliseconds: float) -> None:
        assert self._stopped_at is not None, "the clock has not been stopped"
        self._stopped_at += milliseconds

    def monotonic_ms(self) -> float:
        if self._stopped_at is None:
            return super().monotonic_ms()
        self._stopped_at += self._step_ms
        return self._stopped_at
