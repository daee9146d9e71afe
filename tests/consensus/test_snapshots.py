"""When snapshots are taken and dropped, and what a log and its snapshots mean together after a crash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.default_settings import snapshot_rules

from tidelog.consensus.messages import SnapshotId
from tidelog.consensus.snapshots import (
    KeepLog,
    Opening,
    RestartLog,
    SnapshotRules,
    StoredSnapshot,
    next_log_start,
    plan_opening,
)
from tidelog.consensus.transitions import QuorumInvariantBroken

DAY_MS = 24 * 3_600_000


@pytest.mark.parametrize(
    ("new_bytes", "elapsed_ms", "due"),
    [
        (0, 10 * DAY_MS, False),
        (1, 999, False),
        (1, 1_000, True),
        (99, 0, False),
        (100, 0, True),
    ],
)
def test_a_snapshot_is_due_after_enough_bytes_or_enough_time_with_something_new(
    new_bytes: int, elapsed_ms: float, due: bool
) -> None:
    rules = snapshot_rules(max_bytes=100, interval_ms=1_000)
    assert rules.is_due(new_bytes=new_bytes, elapsed_ms=elapsed_ms) is due


def test_an_interval_of_zero_leaves_it_to_the_size() -> None:
    rules = snapshot_rules(max_bytes=100, interval_ms=0)
    assert not rules.is_due(new_bytes=99, elapsed_ms=10 * DAY_MS)
    assert rules.until_due_ms(10 * DAY_MS) == float("inf")


def stored(*ends: int, size_bytes: int = 10, timestamp_ms: int = 0) -> list[StoredSnapshot]:
    return [StoredSnapshot(SnapshotId(end, 1), size_bytes, timestamp_ms) for end in ends]


@pytest.mark.parametrize(
    ("rules", "snapshots", "log_bytes", "start"),
    [
        # The last one stays, however large and old.
        (snapshot_rules(retention_bytes=0, retention_ms=0), stored(10), 1_000, None),
        (snapshot_rules(retention_bytes=0, retention_ms=0), [], 1_000, None),
        (snapshot_rules(retention_bytes=1_020, retention_ms=-1), stored(10, 20), 1_000, None),
        (snapshot_rules(retention_bytes=1_019, retention_ms=-1), stored(10, 20), 1_000, SnapshotId(20, 1)),
        (snapshot_rules(retention_bytes=-1, retention_ms=500), stored(10, 20), 1_000, SnapshotId(20, 1)),
        (snapshot_rules(retention_bytes=-1, retention_ms=1_000), stored(10, 20), 1_000, None),
        (snapshot_rules(retention_bytes=-1, retention_ms=-1), stored(10, 20), 1 << 40, None),
    ],
)
def test_the_oldest_snapshot_goes_when_all_is_too_large_or_it_is_too_old(
    rules: SnapshotRules, snapshots: list[StoredSnapshot], log_bytes: int, start: SnapshotId | None
) -> None:
    assert next_log_start(rules, snapshots, log_bytes=log_bytes, now_ms=1_000) == start


def opening(snapshots: list[SnapshotId], start: int, end: int, epoch: int = 1) -> Opening:
    return plan_opening(snapshots, start_offset=start, end_offset=end, epoch_at=lambda _: epoch)


FIRST, SECOND = SnapshotId(10, 1), SnapshotId(20, 1)


@pytest.mark.parametrize(
    ("snapshots", "start", "end", "expected"),
    [
        ([], 0, 0, KeepLog(None)),
        ([], 0, 30, KeepLog(None)),
        ([FIRST], 0, 30, KeepLog(None)),
        ([FIRST], 10, 30, KeepLog(FIRST)),
        ([FIRST], 10, 10, KeepLog(FIRST)),
        # The log was cut in whole segments only: it begins a little before the snapshot.
        ([FIRST, SECOND], 7, 30, KeepLog(FIRST)),
        # The older snapshot was not yet removed.
        ([FIRST, SECOND], 15, 30, KeepLog(SECOND)),
        # A fetched snapshot is in place, and the log is not emptied yet.
        ([SECOND], 0, 12, RestartLog(SECOND)),
        ([FIRST, SECOND], 10, 12, RestartLog(SECOND)),
        ([SECOND], 0, 0, RestartLog(SECOND)),
    ],
)
def test_what_becomes_of_a_log_and_its_snapshots_at_a_start(
    snapshots: list[SnapshotId], start: int, end: int, expected: Opening
) -> None:
    assert opening(snapshots, start, end) == expected


def test_a_log_of_another_history_than_the_fetched_snapshot_is_emptied() -> None:
    assert opening([SnapshotId(20, 3)], 0, 30, epoch=1) == RestartLog(SnapshotId(20, 3))
    assert opening([SnapshotId(20, 3)], 0, 30, epoch=3) == KeepLog(None)


def test_a_log_whose_beginning_is_in_no_snapshot_is_not_used() -> None:
    with pytest.raises(QuorumInvariantBroken, match="begins at offset 11"):
        opening([FIRST], 11, 30)


@given(st.lists(st.integers(1, 50), unique=True), st.integers(0, 50), st.integers(0, 50))
def test_a_log_that_is_kept_begins_with_a_snapshot_or_at_zero(ends: list[int], start: int, length: int) -> None:
    snapshots = [SnapshotId(end, 1) for end in sorted(ends)]
    try:
        plan = opening(snapshots, start, start + length)
    except QuorumInvariantBroken:
        assert not any(start <= each.end_offset for each in snapshots)
        return
    match plan:
        case RestartLog(at):
            assert at == snapshots[-1]
            assert at.end_offset > start + length
        case KeepLog(None):
            assert start == 0
        case KeepLog(snapshot):
            assert snapshot is not None
            assert start <= snapshot.end_offset <= start + length
