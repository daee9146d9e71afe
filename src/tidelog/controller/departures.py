"""Which brokers are gone for certain, so that the active controller need not wait for their sessions to end.

A process that ends leaves two traces that nothing else leaves together: the connection over which it sent heartbeats
ends, and its machine, which still answers, refuses connections to the ports on which it listened. Neither is proof
alone. A paused process keeps its ports; a machine that is cut off or without power says nothing; a live broker that
lost a connection opens another at once. So a broker is gone if it is absent (no connection of its own with heartbeats)
and has been refused throughout a time in which a live one would have been heard from again.

Pure: `tidelog.server.quorum.absent_brokers` notices connections, asks at the ports and carries out the verdict.
"""

from __future__ import annotations

from collections.abc import Collection

from tidelog.metadata.image import ClusterImage
from tidelog.model.lazy_dataclasses import dataclass

# However short the time, one refusal may be a coincidence.
LEAST_REFUSALS = 3


@dataclass(slots=True)
class _Absence:
    since_ms: float
    # Of the refusals without anything else in between.
    refused_since_ms: float | None = None
    refusals: int = 0

    def start_over(self) -> None:
        self.refused_since_ms = None
        self.refusals = 0


class Departures:
    """`patience_ms` is how long a broker must be refused; below 0 nobody is ever found gone."""

    def __init__(self, patience_ms: float) -> None:
        self._patience_ms = patience_ms
        self._absences: dict[int, _Absence] = {}

    @property
    def _enabled(self) -> bool:
        return self._patience_ms >= 0

    # -- what happens --------------------------------------------------------------------------------------------

    def begin(self, image: ClusterImage, connected: Collection[int], now_ms: float) -> None:
        """This node has become the active controller: who lives will connect in a moment."""
        away = (broker.id for broker in image.brokers.values() if broker.id not in connected)
        self._absences = {broker_id: _Absence(now_ms) for broker_id in away}

    def connected(self, broker_id: int) -> None:
        """A heartbeat of its current incarnation has come."""
        self._absences.pop(broker_id, None)

    def disconnected(self, broker_id: int, now_ms: float) -> None:
        """The connection over which its heartbeats came has ended."""
        self._absences[broker_id] = _Absence(now_ms)

    def seen(self, broker_id: int) -> None:
        """Another sign of life. Only heartbeats end an absence, but all evidence so far is void."""
        if broker_id in self._absences:
            self._absences[broker_id].start_over()

    def refused(self, broker_id: int, now_ms: float) -> None:
        """Where the broker listened nobody does now."""
        absence = self._absences.get(broker_id)
        if absence is not None:
            if absence.refused_since_ms is None:
                absence.refused_since_ms = now_ms
            absence.refusals += 1

    def not_refused(self, broker_id: int) -> None:
        """Somebody listens there, or nobody can tell."""
        self.seen(broker_id)

    # -- what follows --------------------------------------------------------------------------------------------

    def suspects(self, image: ClusterImage) -> list[int]:
        """Whose ports to ask: brokers that count as alive and are absent."""
        if not self._enabled:
            return []
        brokers = ((broker_id, image.brokers.get(broker_id)) for broker_id in sorted(self._absences))
        return [broker_id for broker_id, broker in brokers if broker is not None and not broker.fenced]

    def is_gone(self, broker_id: int, now_ms: float) -> bool:
        absence = self._absences.get(broker_id)
        if absence is None or absence.refused_since_ms is None or not self._enabled:
            return False
        return absence.refusals >= LEAST_REFUSALS and now_ms - absence.refused_since_ms >= self._patience_ms

    def is_replaceable(self, broker_id: int, now_ms: float) -> bool:
        """Whether a new process at the same address may take the place of the last one.

        Two processes cannot listen on one port. So the last one is gone, unless something is wrong with what they
        advertise; and a live one would have connected again by now.
        """
        absence = self._absences.get(broker_id)
        return self._enabled and absence is not None and now_ms - absence.since_ms >= self._patience_ms
