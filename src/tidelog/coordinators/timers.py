"""Deadlines as data: which keys are due, and when somebody should look again.

Most deadlines only ever move back, because each heartbeat of a member renews its session. So a later deadline costs one
entry in a dictionary; the heap learns of it when the old one comes up.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Generic, TypeVar

from tidelog.model.invariants import require

K = TypeVar("K", bound=Hashable)

# When a timer whose decision failed fires again (Kafka's coordinator runtime waits as long).
FAILED_TIMER_RETRY_MS = 500.0


class Timers(Generic[K]):
    """At most one deadline for each key."""

    def __init__(self) -> None:
        self._deadlines: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        # The one entry of the heap that counts for a key; others for the same key are leftovers.
        self._queued: dict[K, float] = {}
        # Breaks ties in the order of scheduling, so that keys need not be comparable.
        self._count = 0
        # What the deadlines were before each change since the last savepoint; None until there is one.
        self._changes: list[tuple[K, float | None]] | None = None

    def __len__(self) -> int:
        return len(self._deadlines)

    def __contains__(self, key: K) -> bool:
        return key in self._deadlines

    def schedule(self, key: K, deadline_ms: float) -> None:
        """Set the deadline of `key`, whatever it was before."""
        self._note(key)
        self._deadlines[key] = deadline_ms
        queued = self._queued.get(key)
        if queued is None or deadline_ms < queued:
            self._push(key, deadline_ms)

    def cancel(self, key: K) -> None:
        self._note(key)
        self._deadlines.pop(key, None)

    def next_deadline(self) -> float | None:
        """Nothing is due before this. It may be early, never late; `due` makes it exact."""
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: float) -> K | None:
        """Take out the key with the earliest deadline that has come."""
        while self._heap and self._heap[0][0] <= now_ms:
            queued, _, key = heappop(self._heap)
            if self._queued.get(key) != queued:
                continue
            del self._queued[key]
            deadline = self._deadlines.get(key)
            if deadline is None:
                continue
            if deadline > queued:
                self._push(key, deadline)
                continue
            self._note(key)
            del self._deadlines[key]
            return key
        return None

    def set_savepoint(self) -> None:
        """`roll_back` returns to here. There is one savepoint at a time."""
        self._changes = []

    def roll_back(self) -> None:
        """Undo all changes since the savepoint. What they left in the heap fires early and finds nothing."""
        changes, self._changes = self._changes or [], None
        for key, deadline_ms in reversed(changes):
            if deadline_ms is None:
                self.cancel(key)
            else:
                self.schedule(key, deadline_ms)

    def check_invariants(self) -> None:
        """Every deadline comes up: the heap has an entry for it that is not late."""
        queued = {(deadline_ms, key) for deadline_ms, _, key in self._heap}
        for key, deadline_ms in self._deadlines.items():
            at_ms = self._queued.get(key)
            require(at_ms is not None and at_ms <= deadline_ms, key, "is looked at in time", queued=at_ms)
            require((at_ms, key) in queued, key, "is in the heap", queued=at_ms)

    def _note(self, key: K) -> None:
        if self._changes is not None:
            self._changes.append((key, self._deadlines.get(key)))

    def _push(self, key: K, deadline_ms: float) -> None:
        self._count += 1
        self._queued[key] = deadline_ms
        heappush(self._heap, (deadline_ms, self._count, key))
