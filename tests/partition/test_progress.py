"""Replica progress and the high watermark."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.partition.progress import PartitionProgress, follower_high_watermark

LAG = 30_000


def leader_of(
    *, replicas: tuple[int, ...] = (1, 2, 3), in_sync: tuple[int, ...] = (1, 2, 3), min_in_sync: int = 1, end: int = 10
) -> PartitionProgress:
    return PartitionProgress(
        local_id=1,
        replicas=replicas,
        in_sync=in_sync,
        log_end_offset=end,
        high_watermark=0,
        now_ms=1_000_000,
        min_in_sync=min_in_sync,
        max_lag_ms=LAG,
    )


NOW = 1_000_000


def test_a_single_replica_commits_what_it_appends() -> None:
    progress = leader_of(replicas=(1,), in_sync=(1,))

    assert progress.record_append(15, now_ms=NOW)
    assert progress.high_watermark == 15
    assert not progress.record_append(15, now_ms=NOW)


def test_min_in_sync_cannot_ask_for_more_replicas_than_there_are() -> None:
    progress = leader_of(replicas=(1,), in_sync=(1,), min_in_sync=2)

    assert progress.has_enough_in_sync
    assert progress.record_append(15, now_ms=NOW)


def test_a_record_is_committed_when_all_in_sync_replicas_have_it() -> None:
    progress = leader_of()

    assert not progress.record_append(12, now_ms=NOW)
    assert not progress.record_fetch(2, fetch_offset=12, log_start_offset=0, now_ms=NOW)
    assert progress.high_watermark == 0
    assert progress.record_fetch(3, fetch_offset=11, log_start_offset=0, now_ms=NOW)
    assert progress.high_watermark == 11
    assert progress.record_fetch(3, fetch_offset=12, log_start_offset=0, now_ms=NOW)
    assert progress.high_watermark == 12


def test_the_watermark_never_goes_back() -> None:
    progress = leader_of()
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    progress.record_fetch(3, fetch_offset=10, log_start_offset=0, now_ms=NOW)

    # A follower that lost its disk begins at 0.
    assert not progress.record_fetch(3, fetch_offset=0, log_start_offset=0, now_ms=NOW)
    assert progress.high_watermark == 10


def test_unknown_brokers_are_not_counted() -> None:
    progress = leader_of()

    assert not progress.record_fetch(9, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    assert progress.follower(9) is None


def test_the_watermark_stands_still_below_min_insync_replicas() -> None:
    """Scenario 6, at the level of one partition."""
    progress = leader_of(in_sync=(1,), min_in_sync=2)

    assert not progress.has_enough_in_sync
    assert not progress.record_append(20, now_ms=NOW + 10 * LAG)
    assert progress.high_watermark == 0
    assert progress.confirm({1, 2}, NOW + 10 * LAG) is False
    assert progress.record_fetch(2, fetch_offset=20, log_start_offset=0, now_ms=NOW + 10 * LAG)
    assert progress.high_watermark == 20


def test_a_follower_that_stops_fetching_is_lagging_after_the_limit() -> None:
    """Scenario 5."""
    progress = leader_of()
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    progress.record_fetch(3, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    progress.record_append(11, now_ms=NOW)
    progress.record_fetch(2, fetch_offset=11, log_start_offset=0, now_ms=NOW + LAG)

    assert progress.lagging(NOW + LAG) == frozenset()
    assert progress.lagging(NOW + LAG + 1) == {3}


def test_a_follower_at_the_end_is_not_lagging_however_long_nothing_happens() -> None:
    progress = leader_of()
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    progress.record_fetch(3, fetch_offset=10, log_start_offset=0, now_ms=NOW)

    assert progress.lagging(NOW + 100 * LAG) == frozenset()


def test_a_follower_one_request_behind_under_steady_load_is_caught_up() -> None:
    progress = leader_of(replicas=(1, 2), in_sync=(1, 2))
    end = 10
    for step in range(100):
        now = NOW + step * 1_000
        progress.record_fetch(2, fetch_offset=end, log_start_offset=0, now_ms=now)
        end += 5
        progress.record_append(end, now_ms=now)
        # The follower's next fetch comes after two more appends: it never reaches the end.
        progress.record_append(end + 5, now_ms=now + 500)
    assert progress.lagging(NOW + 100_000) == frozenset()


def test_a_follower_that_falls_further_behind_with_each_fetch_is_lagging() -> None:
    progress = leader_of(replicas=(1, 2), in_sync=(1, 2))
    for step in range(100):
        progress.record_append(10 + step * 10, now_ms=NOW + step * 1_000)
        progress.record_fetch(2, fetch_offset=5 + step, log_start_offset=0, now_ms=NOW + step * 1_000)

    assert progress.lagging(NOW + 99_000) == {2}


def test_while_the_set_is_being_changed_the_watermark_waits_for_both_sets() -> None:
    """Scenario 5: the controller's lost reply never makes the leader commit too early."""
    progress = leader_of()
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    progress.record_fetch(3, fetch_offset=4, log_start_offset=0, now_ms=NOW)
    assert progress.high_watermark == 4
    later = NOW + 2 * LAG
    progress.propose({1, 2})

    assert not progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=later)
    assert progress.high_watermark == 4
    assert progress.lagging(later) == frozenset()
    assert progress.maximal_in_sync == {1, 2, 3}
    assert progress.confirm({1, 2}, later)
    assert progress.high_watermark == 10


def test_a_refused_change_leaves_the_set_as_it_was() -> None:
    progress = leader_of()
    progress.propose({1, 2})
    progress.withdraw()

    assert progress.in_sync == progress.maximal_in_sync == {1, 2, 3}


def test_a_follower_may_join_once_it_has_all_that_is_committed_in_this_epoch() -> None:
    progress = leader_of(in_sync=(1, 2))
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    assert progress.high_watermark == 10

    progress.record_fetch(3, fetch_offset=9, log_start_offset=0, now_ms=NOW)
    assert not progress.may_join(3)
    progress.record_fetch(3, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    assert progress.may_join(3)
    assert not progress.may_join(2)
    progress.propose({1, 2, 3})
    assert not progress.may_join(3)


def test_a_follower_that_has_not_reached_the_leaders_epoch_may_not_join() -> None:
    # The watermark of the new leader is old: being above it is no proof of having this leader's history.
    progress = leader_of(in_sync=(1,), replicas=(1, 2), min_in_sync=2)
    progress.record_fetch(2, fetch_offset=9, log_start_offset=0, now_ms=NOW)

    assert progress.high_watermark == 0
    assert not progress.may_join(2)
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    assert progress.may_join(2)


def test_the_watermark_waits_for_a_follower_that_is_about_to_join() -> None:
    progress = leader_of(replicas=(1, 2), in_sync=(1,))
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW)

    assert not progress.record_append(11, now_ms=NOW)
    assert progress.high_watermark == 10
    # It stops fetching before it could join, so it is not waited for any longer.
    assert progress.record_append(12, now_ms=NOW + LAG + 1)
    assert progress.high_watermark == 12


def test_a_follower_takes_the_leaders_watermark_up_to_its_own_end() -> None:
    assert follower_high_watermark(3, leader_high_watermark=10, log_end_offset=7) == 7
    assert follower_high_watermark(3, leader_high_watermark=5, log_end_offset=7) == 5
    assert follower_high_watermark(6, leader_high_watermark=5, log_end_offset=7) == 6


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 5), st.just(0)),
        st.tuples(st.just("fetch"), st.sampled_from([2, 3]), st.integers(0, 60)),
        st.tuples(st.just("propose"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("answer"), st.booleans(), st.just(0)),
        st.tuples(st.just("wait"), st.integers(1, 2 * LAG), st.just(0)),
    ),
    min_size=15,
    max_size=60,
)


@given(steps)
def test_no_record_is_committed_that_a_member_of_a_possible_in_sync_set_lacks(
    history: list[tuple[str, int, int]],
) -> None:
    progress = leader_of()
    now = NOW
    has = {1: 10, 2: -1, 3: -1}
    watermark = progress.high_watermark
    for action, value, offset in history:
        moved = False
        match action:
            case "append":
                has[1] += value
                moved = progress.record_append(has[1], now_ms=now)
            case "fetch":
                has[value] = min(offset, has[1])
                moved = progress.record_fetch(value, fetch_offset=has[value], log_start_offset=0, now_ms=now)
            case "propose" if progress.proposed is None:
                progress.propose({1, 2, 3} if value == 0 else {1, value} if value > 1 else {1})
            case "answer" if progress.proposed is not None:
                if value:
                    moved = progress.confirm(progress.proposed, now)
                else:
                    progress.withdraw()
            case "wait":
                now += value
        assert moved == (progress.high_watermark > watermark)
        if moved:
            assert progress.high_watermark <= min(has[member] for member in progress.maximal_in_sync)
        watermark = progress.high_watermark


def test_a_broker_that_may_not_join_is_not_waited_for() -> None:
    """A dead broker was caught up until it died; the others must not wait until its lag shows."""
    alive = {2, 3}
    progress = PartitionProgress(
        local_id=1,
        replicas=(1, 2, 3),
        in_sync=(1, 2, 3),
        log_end_offset=10,
        high_watermark=0,
        now_ms=NOW,
        eligible=lambda broker_id, epoch: broker_id in alive,
    )
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    progress.record_fetch(3, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    alive.discard(3)
    progress.confirm((1, 2), NOW)
    progress.record_append(20, now_ms=NOW)

    assert progress.record_fetch(2, fetch_offset=20, log_start_offset=0, now_ms=NOW)
    assert progress.high_watermark == 20
    assert not progress.may_join(3)


def test_only_the_process_whose_fetches_were_seen_may_join() -> None:
    progress = PartitionProgress(
        local_id=1,
        replicas=(1, 2),
        in_sync=(1,),
        log_end_offset=10,
        high_watermark=0,
        now_ms=NOW,
        eligible=lambda broker_id, epoch: epoch == 8,
    )
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW, broker_epoch=7)
    assert not progress.may_join(2)
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW, broker_epoch=8)
    assert progress.may_join(2)


def test_out_of_sync_followers_count_for_nothing_even_when_the_clock_has_just_begun() -> None:
    progress = PartitionProgress(
        local_id=1, replicas=(1, 2), in_sync=(1,), log_end_offset=0, high_watermark=0, now_ms=0, max_lag_ms=LAG
    )
    assert progress.record_append(5, now_ms=1)
    assert progress.high_watermark == 5


def test_replicas_can_be_added_and_taken_away_while_a_leader_leads() -> None:
    progress = leader_of(replicas=(1, 2), in_sync=(1, 2))
    progress.record_fetch(2, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    assert progress.high_watermark == 10
    progress.change_replicas((3, 1, 2))
    assert not progress.may_join(3)
    progress.record_fetch(3, fetch_offset=10, log_start_offset=0, now_ms=NOW)
    assert progress.may_join(3)
    known = progress.follower(2)
    assert known is not None
    assert known.log_end_offset == 10
    progress.change_replicas((1, 2))
    assert progress.follower(3) is None
