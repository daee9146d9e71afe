"""Sessions of brokers: who is taken for dead, and when, also right after the controller has changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidelog.controller.heartbeats import BrokerSessions
from tidelog.metadata.image import ClusterImage

MakeCluster = Callable[..., ClusterImage]

TIMEOUT_MS = 9_000.0
INTERVAL_MS = 2_000.0


def sessions() -> BrokerSessions:
    return BrokerSessions(TIMEOUT_MS, INTERVAL_MS)


def test_a_broker_is_silent_once_its_session_timeout_has_passed(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, 2)
    kept = sessions()
    kept.begin(image, 0.0)
    kept.heard(1, 5_000.0)
    assert kept.silent(image, 8_999.0) == []
    assert kept.next_end_ms(image) == 9_000.0
    assert kept.silent(image, 9_000.0) == [2]
    assert kept.silent(image, 14_000.0) == [1, 2]


def test_fenced_brokers_have_no_session_that_could_end(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, fenced=(1,))
    kept = sessions()
    kept.begin(image, 0.0, heard_earlier={1: 0.0})
    assert kept.silent(image, 1e9) == []
    assert kept.next_end_ms(image) == float("inf")


def test_a_new_controller_counts_the_silence_of_its_predecessor_from_when_it_began(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, 2, 3)
    kept = sessions()
    # Node 1 led until it died at 100 s; node 2 is elected three seconds later.
    kept.begin(image, 103_000.0, heard_earlier={1: 100_000.0})
    kept.heard(2, 103_100.0)
    kept.heard(3, 103_100.0)
    assert kept.silent(image, 108_999.0) == []
    assert kept.silent(image, 109_000.0) == [1]


@pytest.mark.parametrize("heard_ms", [0.0, 93_000.0])
def test_after_a_long_election_the_predecessor_still_has_the_time_for_a_heartbeat(
    make_cluster: MakeCluster, heard_ms: float
) -> None:
    image = make_cluster(1, 2)
    kept = sessions()
    kept.begin(image, 103_000.0, heard_earlier={1: heard_ms})
    assert kept.silent(image, 103_000.0 + INTERVAL_MS - 1) == []
    assert kept.silent(image, 103_000.0 + INTERVAL_MS) == [1]


def test_a_predecessor_that_lives_keeps_its_session_with_the_first_heartbeat(make_cluster: MakeCluster) -> None:
    image = make_cluster(1, 2)
    kept = sessions()
    kept.begin(image, 103_000.0, heard_earlier={1: 95_000.0})
    kept.heard(1, 103_500.0)
    kept.heard(2, 103_500.0)
    assert kept.silent(image, 112_499.0) == []
