"""What makes a broker gone for certain, and what does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidelog.controller.departures import Departures
from tidelog.metadata.image import ClusterImage

MakeCluster = Callable[..., ClusterImage]

PATIENCE_MS = 1_000.0
# When broker 2 loses its connection.
LOST_MS = 5_000.0


@pytest.fixture
def departures(make_cluster: MakeCluster) -> Departures:
    """Of three brokers, of which the second has just lost its connection."""
    watched = Departures(PATIENCE_MS)
    watched.begin(make_cluster(1, 2, 3), connected={1, 2, 3}, now_ms=0.0)
    watched.disconnected(2, LOST_MS)
    return watched


def refuse(departures: Departures, *after_ms: float) -> None:
    for each in after_ms:
        departures.refused(2, LOST_MS + each)


def test_only_absent_brokers_that_count_as_alive_are_asked_for(make_cluster: MakeCluster) -> None:
    departures = Departures(PATIENCE_MS)
    image = make_cluster(1, 2, 3, 4, fenced=(4,))
    departures.begin(image, connected={1}, now_ms=0.0)
    assert departures.suspects(image) == [2, 3]
    departures.connected(2)
    departures.disconnected(1, 100.0)
    assert departures.suspects(image) == [1, 3]


def test_a_broker_that_is_refused_throughout_is_gone(departures: Departures) -> None:
    refuse(departures, 0.0, 500.0, 999.0)
    assert not departures.is_gone(2, LOST_MS + 999.0)
    refuse(departures, 1_000.0)
    assert departures.is_gone(2, LOST_MS + 1_000.0)
    assert not departures.is_gone(1, LOST_MS + 1_000.0)


def test_two_refusals_are_too_few_however_far_apart(departures: Departures) -> None:
    refuse(departures, 0.0, 60_000.0)
    assert not departures.is_gone(2, LOST_MS + 60_000.0)


@pytest.mark.parametrize("sign", [Departures.not_refused, Departures.seen])
def test_an_answer_at_its_ports_or_any_other_sign_of_life_voids_the_evidence(
    departures: Departures, sign: Callable[[Departures, int], None]
) -> None:
    refuse(departures, 0.0, 400.0, 800.0)
    sign(departures, 2)
    refuse(departures, 1_000.0, 1_400.0, 1_800.0)
    assert not departures.is_gone(2, LOST_MS + 1_900.0)
    refuse(departures, 2_000.0)
    assert departures.is_gone(2, LOST_MS + 2_000.0)


def test_a_heartbeat_ends_the_absence(departures: Departures) -> None:
    refuse(departures, 0.0, 500.0, 1_000.0)
    departures.connected(2)
    assert not departures.is_gone(2, LOST_MS + 1_000.0)
    refuse(departures, 1_100.0, 1_200.0, 2_200.0)
    assert not departures.is_gone(2, LOST_MS + 9_000.0)


def test_a_broker_that_loses_one_connection_after_the_other_starts_over_each_time(departures: Departures) -> None:
    refuse(departures, 0.0, 400.0, 800.0)
    departures.connected(2)
    departures.disconnected(2, LOST_MS + 900.0)
    refuse(departures, 900.0, 1_200.0, 1_500.0)
    assert not departures.is_gone(2, LOST_MS + 1_500.0)


def test_a_process_that_starts_where_another_listened_replaces_it_once_that_would_have_been_heard_of(
    departures: Departures,
) -> None:
    departures.not_refused(2)
    assert not departures.is_replaceable(2, LOST_MS + 999.0)
    assert departures.is_replaceable(2, LOST_MS + 1_000.0)
    assert not departures.is_replaceable(1, LOST_MS + 1_000.0)


def test_without_patience_nobody_is_ever_found_gone(make_cluster: MakeCluster) -> None:
    departures = Departures(-1)
    image = make_cluster(1, 2)
    departures.begin(image, connected={1}, now_ms=0.0)
    for after_ms in range(0, 100_000, 100):
        departures.refused(2, float(after_ms))
    assert departures.suspects(image) == []
    assert not departures.is_gone(2, 1e9)
    assert not departures.is_replaceable(2, 1e9)
