from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.consensus.progress import MAX_OBSERVERS, OBSERVER_SESSION_TIMEOUT_MS, QuorumProgress
from tidelog.model.ids import ZERO_UUID


def progress_of(voters: int, epoch_start_offset: int = 10, now_ms: float = 0.0) -> QuorumProgress:
    """The book of leader 1."""
    return QuorumProgress(
        followers=range(2, voters + 1),
        majority=voters // 2 + 1,
        epoch_start_offset=epoch_start_offset,
        now_ms=now_ms,
    )


def fetch(progress: QuorumProgress, replica_id: int, offset: int, now_ms: float = 0.0, end: int = 100) -> None:
    progress.replica(replica_id, ZERO_UUID, now_ms).record_fetch(offset, end, now_ms)


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        (11, (), 11),
        (12, (11,), 11),
        (12, (-1,), None),
        (12, (11, -1), 11),
        (12, (11, 12), 12),
        (11, (15, 14), 14),
        (20, (18, 16, 14, 12), 16),
        (20, (18, 16, 14, -1), 16),
        (20, (18, 16, -1, -1), 16),
        (20, (18, -1, -1, -1), None),
        (20, (18, 16, 14), 16),
    ],
)
def test_high_watermark_is_what_a_majority_has(own: int, others: tuple[int, ...], expected: int | None) -> None:
    for order in permutations(others):
        progress = progress_of(len(others) + 1)
        for voter, offset in enumerate(order, start=2):
            fetch(progress, voter, offset)
        assert progress.advance(own) is (expected is not None)
        assert progress.high_watermark == expected


@pytest.mark.parametrize("reached", [5, 9, 10])
def test_records_of_earlier_epochs_are_not_committed_by_counting(reached: int) -> None:
    progress = progress_of(3, epoch_start_offset=10)
    fetch(progress, 2, reached)
    fetch(progress, 3, reached)
    assert not progress.advance(30)
    fetch(progress, 2, 11)
    assert progress.advance(30)
    assert progress.high_watermark == 11


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 40)), max_size=40))
def test_high_watermark_never_goes_back(fetches: list[tuple[int, int]]) -> None:
    progress = progress_of(5)
    own, last = 0, -1
    for voter, offset in fetches:
        if voter == 1:
            own = max(own, offset)
        else:
            fetch(progress, voter, offset)
        progress.advance(own)
        current = -1 if progress.high_watermark is None else progress.high_watermark
        assert current >= last
        last = current


def test_observers_do_not_count() -> None:
    progress = progress_of(3)
    for observer in (7, 8, 9):
        fetch(progress, observer, 50)
    assert not progress.advance(50)


def test_silent_observers_are_forgotten() -> None:
    progress = progress_of(1)
    fetch(progress, 7, 5, now_ms=1_000)
    fetch(progress, 8, 5, now_ms=2_000)
    progress.forget_silent_observers(OBSERVER_SESSION_TIMEOUT_MS + 1_500)
    assert [replica_id for replica_id, _ in progress.observers] == [8]


def test_the_number_of_observers_is_bounded() -> None:
    progress = progress_of(1)
    for observer in range(2, MAX_OBSERVERS + 4):
        progress.observers[observer, ZERO_UUID] = progress.replica(1, ZERO_UUID, 0.0)
    fetch(progress, 0, 5, now_ms=5_000)
    assert len(progress.observers) == MAX_OBSERVERS
    assert (0, ZERO_UUID) in progress.observers


@pytest.mark.parametrize(
    ("voters", "fetches", "expires_ms"),
    [
        (1, {}, float("inf")),
        (2, {}, 3_000),
        (3, {}, 3_000),
        (3, {2: 500}, 3_500),
        (3, {2: 500, 3: 900}, 3_900),
        (5, {2: 500}, 3_000),
        (5, {2: 500, 3: 900}, 3_500),
        (5, {2: 500, 3: 900, 4: 1_000, 5: 1_100}, 4_000),
    ],
)
def test_leadership_expires_after_the_last_majority(voters: int, fetches: dict[int, float], expires_ms: float) -> None:
    progress = progress_of(voters)
    for voter, now_ms in fetches.items():
        fetch(progress, voter, 0, now_ms)
    assert progress.quorum_expires_ms(3_000) == expires_ms


def test_successors_with_the_longest_logs_come_first() -> None:
    progress = progress_of(5)
    for voter, offset in ((2, 10), (3, 12), (5, 12)):
        fetch(progress, voter, offset)
    assert progress.successors() == (3, 5, 2, 4)


def test_a_follower_one_fetch_behind_was_caught_up_at_the_fetch_before() -> None:
    progress = progress_of(3)
    fetch(progress, 2, 20, now_ms=100, end=30)
    assert progress.followers[2].last_caught_up_ms is None
    fetch(progress, 2, 30, now_ms=200, end=40)
    assert progress.followers[2].last_caught_up_ms == 100
    fetch(progress, 2, 40, now_ms=300, end=40)
    assert progress.followers[2].last_caught_up_ms == 300


def test_leader_introduces_itself_at_once_and_then_only_to_the_silent() -> None:
    follower = progress_of(3).followers[2]
    assert follower.introduction_due_ms(1_000, start_ms=50) == 50
    follower.last_introduction_ms = 50
    assert follower.introduction_due_ms(1_000, start_ms=50) == 1_050
    follower.record_fetch(0, 10, now_ms=400)
    assert follower.introduction_due_ms(1_000, start_ms=50) == 1_400
