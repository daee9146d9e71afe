"""Lags of groups, and when they catch up."""

from __future__ import annotations

import pytest

from tidelog.client.browsing import OutlineRun, RunKind
from tidelog.console.findings.counted_log import CountedLog
from tidelog.console.findings.lag import (
    CatchingUp,
    LagTrend,
    LogMarks,
    OffsetSpan,
    PartitionLag,
    TopicLag,
    catching_up,
    lag_by_topic,
    lag_of,
    total_lag,
    unread,
)
from tidelog.model.ids import TopicPartition

RECORDS, COMMIT, ABORT = RunKind.RECORDS, RunKind.COMMIT, RunKind.ABORT


def known(*runs: tuple[int, RunKind] | tuple[int, RunKind, int], start: int = 0) -> CountedLog:
    """Of runs with their length, kind and producer."""
    log = CountedLog(start)
    position = start
    for run in runs:
        producer = run[2] if len(run) > 2 else None
        log.extend([OutlineRun(position, position + run[0] - 1, run[1], producer)])
        position += run[0]
    return log


def records(count: int, *, exact: bool = True, readable: int | None = None) -> PartitionLag:
    return PartitionLag(records=count, readable=count if readable is None else readable, exact=exact)


def test_a_marker_at_the_end_is_no_lag() -> None:
    lag = lag_of(5, LogMarks(0, 6, 6), known((5, RECORDS, 1), (1, COMMIT, 1)))
    assert (lag.records, lag.exact, lag.control) == (0, True, 1)


def test_what_was_not_looked_at_counts_at_most() -> None:
    lag = lag_of(5, LogMarks(0, 6, 6), None)
    assert (lag.records, lag.exact) == (1, False)


def test_what_was_looked_at_in_part_counts_without_its_markers() -> None:
    lag = lag_of(2, LogMarks(0, 20, 20), known((5, RECORDS, 1), (1, COMMIT, 1), (4, RECORDS)))
    assert (lag.records, lag.exact, lag.control) == (17, False, 1)


def test_a_window_that_begins_later_does_not_help() -> None:
    lag = lag_of(2, LogMarks(0, 20, 20), known((10, RECORDS), start=10))
    assert (lag.records, lag.exact) == (18, False)


def test_aborted_records_are_a_lag_that_readers_of_committed_records_skip() -> None:
    lag = lag_of(0, LogMarks(0, 7, 7), known((2, RECORDS), (4, RECORDS, 1), (1, ABORT, 1)))
    assert (lag.records, lag.readable, lag.aborted, lag.control) == (6, 6, 4, 1)


def test_records_behind_an_open_transaction_are_held_back() -> None:
    log = known((2, RECORDS), (3, RECORDS, 1), (4, RECORDS))
    lag = lag_of(0, LogMarks(0, 2, 9), log)
    assert (lag.records, lag.readable, lag.held, lag.waits) == (9, 2, 7, False)
    lag = lag_of(2, LogMarks(0, 2, 9), log)
    assert (lag.records, lag.readable, lag.held, lag.waits) == (7, 0, 7, True)


def test_a_marker_before_an_open_transaction_does_not_keep_a_group_from_waiting() -> None:
    log = known((2, RECORDS, 2), (1, COMMIT, 2), (3, RECORDS, 1))
    lag = lag_of(2, LogMarks(0, 3, 6), log)
    assert (lag.readable, lag.held, lag.control, lag.waits) == (0, 3, 1, True)


def test_a_reader_of_uncommitted_records_may_be_behind_the_last_stable_offset() -> None:
    lag = lag_of(4, LogMarks(0, 2, 9), known((9, RECORDS)))
    assert (lag.records, lag.readable, lag.held) == (5, 0, 5)


def test_records_that_were_deleted_before_they_were_read_are_lost() -> None:
    lag = lag_of(3, LogMarks(10, 20, 20), known((10, RECORDS), start=10))
    assert (lag.records, lag.exact, lag.lost) == (10, True, 7)


def test_a_committed_offset_behind_the_end_is_told() -> None:
    lag = lag_of(30, LogMarks(10, 20, 20), None)
    assert (lag.records, lag.exact, lag.lost, lag.beyond) == (0, True, 0, 10)


@pytest.mark.parametrize(("committed", "span"), [(0, (5, 9)), (5, (5, 9)), (7, (7, 9)), (9, (9, 9)), (12, (9, 9))])
def test_unread_offsets(committed: int, span: tuple[int, int]) -> None:
    assert unread(committed, LogMarks(5, 9, 9)) == OffsetSpan(*span)


def test_a_total_is_exact_if_all_of_it_is() -> None:
    total = total_lag([records(3), None, records(9, exact=False)])
    assert (total.records, total.exact, total.largest, total.unknown, total.waits) == (12, False, 9, 1, False)
    assert total_lag([]).exact


def test_a_lag_that_nobody_knows_is_not_zero() -> None:
    some, none = total_lag([records(0), None]), total_lag([None, None])
    assert (some.known, some.unknown, none.known, none.unknown) == (1, 1, 0, 2)
    for total in (some, none):
        found = catching_up(total, consumed_per_second=1.0, produced_per_second=0.0)
        assert found.trend is LagTrend.NOT_TOLD
    assert catching_up(total_lag([records(0)]), consumed_per_second=None, produced_per_second=None).trend is (
        LagTrend.CAUGHT_UP
    )


def test_a_group_waits_if_nothing_can_be_read_in_any_partition() -> None:
    waiting = records(4, readable=0)
    assert total_lag([waiting, records(0)]).waits
    assert not total_lag([waiting, records(1)]).waits
    assert not total_lag([records(0)]).waits


def test_the_largest_lag_of_each_topic() -> None:
    orders = [TopicPartition("orders", number) for number in range(2)]
    groups: dict[str, dict[TopicPartition, PartitionLag | None]] = {
        "b": {orders[0]: records(3), orders[1]: records(4, exact=False)},
        "a": {orders[0]: records(7), TopicPartition("other", 0): records(0)},
        "c": {orders[1]: records(2)},
        "d": {orders[1]: None, TopicPartition("unknown", 0): None},
        "without": {},
    }
    assert lag_by_topic(groups) == {
        "orders": TopicLag("a", 7, True, known=1, unknown=0),
        "other": TopicLag("a", 0, True, known=1, unknown=0),
        "unknown": TopicLag("d", 0, True, known=0, unknown=1),
    }


def test_a_lag_of_some_partitions_says_that_it_is_one() -> None:
    orders = [TopicPartition("orders", number) for number in range(2)]
    groups: dict[str, dict[TopicPartition, PartitionLag | None]] = {
        "a": {orders[0]: None, orders[1]: None},
        "b": {orders[0]: records(0), orders[1]: None},
    }
    assert lag_by_topic(groups) == {"orders": TopicLag("b", 0, True, known=1, unknown=1)}


@pytest.mark.parametrize(
    ("lag", "consumed", "produced", "expected"),
    [
        (records(0), None, None, CatchingUp(LagTrend.CAUGHT_UP)),
        (records(5, readable=0), 0.0, 9.0, CatchingUp(LagTrend.WAITS)),
        (records(5), None, 1.0, CatchingUp(LagTrend.UNKNOWN)),
        (records(5), 1.0, None, CatchingUp(LagTrend.UNKNOWN)),
        (records(5), 0.0, 0.0, CatchingUp(LagTrend.STANDS_STILL)),
        (records(5), 3.0, 4.0, CatchingUp(LagTrend.FALLS_BEHIND)),
        (records(5), 4.0, 4.0, CatchingUp(LagTrend.FALLS_BEHIND)),
        (records(5), 2.0, 0.0, CatchingUp(LagTrend.CATCHES_UP, 2500)),
        (total_lag([records(5), records(5)]), 9.0, 4.0, CatchingUp(LagTrend.CATCHES_UP, 2000)),
        # Of the others nobody knows when.
        (total_lag([records(5), None]), 9.0, 4.0, CatchingUp(LagTrend.NOT_TOLD)),
        # It has not caught up yet.
        (records(1), 1e6, 0.0, CatchingUp(LagTrend.CATCHES_UP, 1)),
    ],
)
def test_catching_up(lag: PartitionLag, consumed: float | None, produced: float | None, expected: CatchingUp) -> None:
    assert catching_up(lag, consumed_per_second=consumed, produced_per_second=produced) == expected
