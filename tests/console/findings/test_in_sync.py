"""Followers that keep up, fall behind and come back, as readings of log ends show them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.console.findings.in_sync import FollowerLag, FollowerWatch

LEADER, FOLLOWER = 1, 2
LIMIT = 10_000

pauses = st.integers(1, 5_000)
growths = st.integers(0, 1_000_000)


def noted(
    watch: FollowerWatch,
    now_ms: int,
    ends: dict[int, int],
    *,
    leader: int | None = LEADER,
    in_sync: tuple[int, ...] = (LEADER, FOLLOWER),
    limit: int | None = LIMIT,
) -> dict[int, FollowerLag]:
    return watch.note(now_ms, leader=leader, log_ends=ends, in_sync=in_sync, lag_time_max_ms=limit)


def test_a_follower_that_stops_has_so_much_time_left() -> None:
    watch = FollowerWatch()
    assert noted(watch, 0, {1: 100, 2: 100}) == {2: FollowerLag(0, 0, None)}
    # What was written since the last reading is still on its way.
    assert noted(watch, 1000, {1: 150, 2: 100}) == {2: FollowerLag(50, 0, None)}
    assert noted(watch, 2000, {1: 200, 2: 100}) == {2: FollowerLag(100, 1000, 9000)}
    assert noted(watch, 11_500, {1: 200, 2: 100}) == {2: FollowerLag(100, 10_500, -500)}
    left = noted(watch, 12_000, {1: 200, 2: 100}, in_sync=(LEADER,))
    assert left == {2: FollowerLag(100, 11_000, None)}
    assert noted(watch, 13_000, {1: 200, 2: 200}, in_sync=(LEADER,)) == {2: FollowerLag(0, 0, None)}


def test_a_follower_that_does_not_answer_any_more_is_about_to_leave() -> None:
    watch = FollowerWatch()
    noted(watch, 0, {1: 100, 2: 100})
    assert noted(watch, 4000, {1: 100}) == {2: FollowerLag(0, 4000, 6000)}


def test_of_a_follower_that_has_never_answered_nothing_is_said() -> None:
    """This console may not reach it, and its leader may."""
    watch = FollowerWatch()
    for now in (0, 60_000):
        assert noted(watch, now, {1: 100})[2].leaves_in_ms is None


def test_without_the_property_no_time_is_left_to_tell() -> None:
    watch = FollowerWatch()
    noted(watch, 0, {1: 100, 2: 100}, limit=None)
    noted(watch, 1000, {1: 200, 2: 100}, limit=None)
    assert noted(watch, 2000, {1: 200, 2: 100}, limit=None) == {2: FollowerLag(100, 1000, None)}


def test_a_new_leader_is_a_new_beginning() -> None:
    watch = FollowerWatch()
    noted(watch, 0, {1: 100, 2: 100, 3: 50})
    assert noted(watch, 5000, {1: 100, 2: 100, 3: 50})[3].behind_for_ms == 5000
    found = noted(watch, 6000, {1: 100, 2: 100, 3: 50}, leader=2)
    assert found == {1: FollowerLag(0, 0, None), 3: FollowerLag(50, 0, None)}


def test_without_a_leader_nobody_is_behind() -> None:
    watch = FollowerWatch()
    found = noted(watch, 0, {2: 5, 3: 7}, leader=None, in_sync=())
    assert found == {2: FollowerLag(0, 0, None), 3: FollowerLag(0, 0, None)}


@given(st.lists(st.tuples(pauses, growths), min_size=1, max_size=30))
def test_who_has_what_was_there_at_the_last_reading_keeps_up(steps: list[tuple[int, int]]) -> None:
    watch = FollowerWatch()
    now, end = 0, 0
    for pause, growth in steps:
        before, now, end = end, now + pause, end + growth
        assert noted(watch, now, {1: end, 2: before})[2] == FollowerLag(growth, 0, None)


@given(st.lists(pauses, min_size=1, max_size=30), st.integers(1, 1000))
def test_who_stands_still_while_the_leader_grows_is_behind_since_it_was_seen_to_have_everything(
    steps: list[int], growth: int
) -> None:
    watch = FollowerWatch()
    noted(watch, 0, {1: 0, 2: 0})
    # Everything that was there at the reading before.
    noted(watch, 1, {1: growth, 2: 0})
    now, end = 1, growth
    for pause in steps:
        now, end = now + pause, end + growth
        assert noted(watch, now, {1: end, 2: 0})[2] == FollowerLag(end, now - 1, LIMIT - (now - 1))


readings = st.lists(
    st.tuples(
        pauses,
        st.sampled_from([None, 1, 1, 1, 2]),
        st.dictionaries(st.integers(1, 4), st.integers(0, 100), max_size=4),
        st.lists(st.integers(1, 4), unique=True).map(tuple),
        st.one_of(st.none(), st.integers(1, 60_000)),
    ),
    max_size=30,
)


@given(readings)
def test_whatever_is_read_makes_sense(
    given_readings: list[tuple[int, int | None, dict[int, int], tuple[int, ...], int | None]],
) -> None:
    watch = FollowerWatch()
    now = 0
    for pause, leader, ends, in_sync, limit in given_readings:
        now += pause
        found = noted(watch, now, ends, leader=leader, in_sync=in_sync, limit=limit)
        assert set(found) == {*ends, *in_sync} - {leader}
        for broker, lag in found.items():
            assert lag.behind >= 0
            assert 0 <= lag.behind_for_ms <= now
            if lag.leaves_in_ms is not None:
                assert limit is not None
                assert broker in in_sync
                assert lag.leaves_in_ms == limit - lag.behind_for_ms < limit
            if leader in ends and ends.get(broker, -1) >= ends[leader]:
                assert lag.behind == 0
