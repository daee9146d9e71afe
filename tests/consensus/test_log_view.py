"""Comparing logs by offsets and epochs, on logs whose content is known."""

from __future__ import annotations

import pytest
from consensus.simulated_log import Entry, SimulatedLog
from hypothesis import given
from hypothesis import strategies as st

from tidelog.consensus.log_view import (
    MATCHING,
    Diverging,
    SnapshotNeeded,
    compare,
    end_of_epoch,
    last_epoch,
    truncation_offset,
)
from tidelog.consensus.messages import EpochEnd, SnapshotId


def log_of(*epochs: int, snapshot_at: int = 0) -> SimulatedLog:
    """A record's value follows from its epoch and offset: what has the same place in the same epoch is the same."""
    log = SimulatedLog()
    for offset, epoch in enumerate(epochs):
        log.append([Entry(epoch, 1_000 * epoch + offset)])
    log.end_flush(log.begin_flush())
    if snapshot_at:
        log.take_snapshot(snapshot_at)
    return log


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (log_of(), 0),
        (log_of(1, 1, 4), 4),
        (log_of(1, 1, 4, snapshot_at=3), 4),
    ],
    ids=["empty", "records", "only a snapshot"],
)
def test_last_epoch_is_that_of_the_last_record_wherever_it_is(log: SimulatedLog, expected: int) -> None:
    assert last_epoch(log) == expected


LEADER = (1, 1, 3, 3, 5)


@pytest.mark.parametrize(
    ("offset", "epoch", "expected"),
    [
        (0, 0, MATCHING),
        (1, 1, MATCHING),
        (2, 1, MATCHING),
        (3, 3, MATCHING),
        (5, 5, MATCHING),
        (3, 1, Diverging(EpochEnd(1, 2))),
        (4, 2, Diverging(EpochEnd(1, 2))),
        (9, 3, Diverging(EpochEnd(3, 4))),
        (9, 4, Diverging(EpochEnd(3, 4))),
        (9, 5, Diverging(EpochEnd(5, 5))),
        (5, 6, Diverging(EpochEnd(5, 5))),
        (2, 0, Diverging(EpochEnd(0, 0))),
    ],
)
def test_leader_finds_the_last_point_both_can_share(offset: int, epoch: int, expected: object) -> None:
    assert compare(log_of(*LEADER), offset, epoch) == expected


@pytest.mark.parametrize(
    ("offset", "epoch", "expected"),
    [
        (0, 0, SnapshotNeeded(SnapshotId(3, 3))),
        (2, 1, SnapshotNeeded(SnapshotId(3, 3))),
        (3, 1, SnapshotNeeded(SnapshotId(3, 3))),
        (4, 2, SnapshotNeeded(SnapshotId(3, 3))),
        (3, 3, MATCHING),
        (4, 3, MATCHING),
        (5, 3, Diverging(EpochEnd(3, 4))),
        (5, 5, MATCHING),
        (7, 4, Diverging(EpochEnd(3, 4))),
    ],
)
def test_leader_names_its_snapshot_for_what_it_has_dropped(offset: int, epoch: int, expected: object) -> None:
    assert compare(log_of(*LEADER, snapshot_at=3), offset, epoch) == expected


def test_epochs_below_a_snapshot_end_with_it() -> None:
    log = log_of(1, 1, 3, 5, snapshot_at=3)
    assert end_of_epoch(log, 3) == EpochEnd(3, 3)
    assert compare(log, 4, 3) == Diverging(EpochEnd(3, 3))


@pytest.mark.parametrize(
    ("follower", "diverging", "expected"),
    [
        ((1, 1, 2, 2), EpochEnd(1, 2), 2),
        ((1, 1, 2, 2), EpochEnd(1, 1), 1),
        ((1, 2, 2, 2), EpochEnd(1, 3), 1),
        ((1, 4, 4), EpochEnd(3, 3), 1),
        ((1, 4, 4), EpochEnd(0, 0), 0),
    ],
)
def test_follower_cuts_at_the_end_of_what_both_have(
    follower: tuple[int, ...], diverging: EpochEnd, expected: int
) -> None:
    assert truncation_offset(log_of(*follower), diverging) == expected


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two logs that agree up to some point, and then were written in different epochs."""
    common = sorted(draw(st.lists(st.integers(1, 4), max_size=8)))
    start = common[-1] if common else 1
    odd = st.integers(0, 4).map(lambda number: start + 1 + 2 * number)
    even = st.integers(0, 4).map(lambda number: start + 2 + 2 * number)
    return (
        [*common, *sorted(draw(st.lists(odd, max_size=6)))],
        [*common, *sorted(draw(st.lists(even, max_size=6)))],
    )


@given(histories(), st.booleans())
def test_a_follower_ends_with_exactly_what_both_logs_share(logs: tuple[list[int], list[int]], swap: bool) -> None:
    leader_epochs, follower_epochs = reversed(logs) if swap else logs
    leader, follower = log_of(*leader_epochs), log_of(*follower_epochs)
    shared = 0
    while shared < min(len(leader.entries), len(follower.entries)) and (
        leader.entries[shared] == follower.entries[shared]
    ):
        shared += 1
    for _ in range(len(follower_epochs) + 1):
        comparison = compare(leader, follower.end_offset, last_epoch(follower))
        if comparison == MATCHING:
            break
        assert isinstance(comparison, Diverging)
        offset = truncation_offset(follower, comparison.point)
        assert offset < follower.end_offset, "every round cuts something off"
        follower.truncate_to(offset)
    assert follower.entries == leader.entries[:shared]
