"""I11: what takes as long as a broker's patience while nothing is broken was waited for in vain."""

from __future__ import annotations

import pytest

from tidelog.model.ids import TopicPartition
from tidelog.simulation.checks.history import (
    Acknowledged,
    Ended,
    Ending,
    Event,
    Guarantee,
    History,
    Isolation,
    Outcome,
    Positioned,
    Read,
    Sent,
)
from tidelog.simulation.checks.stalls import PATIENCE_SECONDS, SETTLING_SECONDS, stalls

PLACE = TopicPartition("t", 0)
LATE = PATIENCE_SECONDS + 0.01
SOON = PATIENCE_SECONDS - 0.01
THEN = SETTLING_SECONDS


def sent(at: float = THEN, guarantee: Guarantee = Guarantee.EXACTLY_ONCE) -> Sent:
    return Sent(at, "p", 0, PLACE, b"v", guarantee)


def acknowledged(after: float, at: float = THEN) -> Acknowledged:
    return Acknowledged(at + after, b"v", PLACE, 0)


def positioned(isolation: Isolation = Isolation.UNCOMMITTED, offset: int = 0) -> Positioned:
    return Positioned(0.0, "r", PLACE, offset, isolation)


def read(after: float, isolation: Isolation = Isolation.UNCOMMITTED) -> Read:
    return Read(THEN + after, "r", PLACE, 0, b"v", isolation)


@pytest.mark.parametrize(
    "events",
    [
        [sent(), acknowledged(LATE)],
        [Ending(THEN, "x", commit=True), Ended(THEN + LATE, "x", Outcome.COMMITTED)],
        [positioned(), sent(), acknowledged(0.0), read(LATE)],
    ],
)
def test_what_takes_too_long_is_told(events: list[Event]) -> None:
    assert len(list(stalls(History(events), 0.0))) == 1


@pytest.mark.parametrize(
    "events",
    [
        [sent(), acknowledged(SOON)],
        # Before clients have found everything, and where nobody was promised anything.
        [sent(THEN - 1), acknowledged(LATE, THEN - 1)],
        [sent(guarantee=Guarantee.NONE), acknowledged(LATE)],
        [Ending(THEN, "x", commit=True), Ended(THEN + SOON, "x", Outcome.COMMITTED)],
        [positioned(), sent(), acknowledged(0.0), read(SOON)],
        # It may wait for an open transaction, or for its group.
        [positioned(Isolation.COMMITTED), sent(), acknowledged(0.0), read(LATE, Isolation.COMMITTED)],
        [positioned(offset=-1), sent(), acknowledged(0.0), read(LATE)],
    ],
)
def test_what_is_quick_or_may_be_slow_is_not(events: list[Event]) -> None:
    assert list(stalls(History(events), 0.0)) == []
