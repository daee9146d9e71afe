"""How often a process that dies is started again."""

from __future__ import annotations

from tidelog.cli.local_cluster.restarts import MOST_RESTARTS, WINDOW_SECONDS, Restarts


def test_the_first_restart_comes_at_once_and_the_next_ones_after_growing_pauses() -> None:
    restarts = Restarts()
    assert [restarts.pause_after_death(float(now)) for now in range(MOST_RESTARTS)] == [0, 1, 2, 4, 8]


def test_a_process_that_dies_too_often_is_given_up() -> None:
    restarts = Restarts()
    for now in range(MOST_RESTARTS):
        assert restarts.pause_after_death(float(now)) is not None
    assert restarts.pause_after_death(WINDOW_SECONDS - 1) is None


def test_deaths_of_long_ago_are_forgotten() -> None:
    restarts = Restarts()
    for now in range(MOST_RESTARTS):
        restarts.pause_after_death(float(now))
    assert restarts.pause_after_death(WINDOW_SECONDS + MOST_RESTARTS) == 0
