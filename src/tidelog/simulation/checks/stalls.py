"""I11: nobody waits for what is there already.

A wake-up that gets lost costs no record: the wait ends when its time is up, and everything goes on, only late. So it
shows in the clocks alone. While nothing is broken, whatever clients wait for takes some round trips of milliseconds;
what takes as long as a broker's patience was waited for in vain.

That a single fetch waited in vain is seen by the broker itself, also among faults: it says so on the logger of broken
invariants, and `tidelog.simulation.run` listens.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.simulation.checks.history import (
    Acknowledged,
    Ended,
    Ending,
    Guarantee,
    History,
    Isolation,
    Positioned,
    Read,
    Sent,
)

# The shortest wait in vain is that of a follower's fetch, one second; half of it is far more than any work takes.
PATIENCE_SECONDS = 0.5
# Clients find their brokers, coordinators and positions first.
SETTLING_SECONDS = 8.0


def stalls(history: History, calm_from: float) -> Iterator[str]:
    """What took too long although nothing was broken since `calm_from`."""
    begin = calm_from + SETTLING_SECONDS
    sent: dict[bytes, Sent] = {}
    acknowledged: dict[bytes, float] = {}
    ending: dict[str, float] = {}
    readers: set[str] = set()
    for event in history.events:
        match event:
            case Sent():
                sent[event.value] = event
            case Acknowledged() if event.value in sent:
                record = sent[event.value]
                acknowledged[event.value] = event.time
                took = event.time - record.time
                if record.time >= begin and record.guarantee is not Guarantee.NONE and took > PATIENCE_SECONDS:
                    yield f"{record.producer} waited {took:.3f} s from {record.time:.3f} s on for an acknowledgement"
            case Ending():
                ending[event.transaction] = event.time
            case Ended() if event.transaction in ending:
                took = event.time - ending[event.transaction]
                if ending[event.transaction] >= begin and took > PATIENCE_SECONDS:
                    yield f"transaction {event.transaction} took {took:.3f} s to end"
            case Positioned() if event.offset >= 0 and event.isolation is Isolation.UNCOMMITTED:
                # Members of groups wait for each other, and readers of committed records for transactions.
                readers.add(event.reader)
            case Read() if event.reader in readers and event.value in acknowledged:
                took = event.time - acknowledged[event.value]
                if acknowledged[event.value] >= begin and took > PATIENCE_SECONDS:
                    yield f"{event.reader} read {event.value.decode()} {took:.3f} s after it was acknowledged"
            case _:
                pass
