"""How dirty a log is and which part of it may be compacted: tables over segments that exist only as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from support.default_settings import log_config

from tidelog.storage.cleaner.grouping import group_segments
from tidelog.storage.cleaner.selection import CleanableRange, cleanable_range

NOW = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    base_offset: int
    size: int = 100
    index_sizes: tuple[int, int] = (0, 0)
    first: int = NOW - 5000
    largest: int = NOW - 4000

    def first_timestamp(self) -> int:
        return self.first

    def largest_timestamp(self) -> int:
        return self.largest


def segments(*offsets: int, **fields: Any) -> list[Numbers]:
    return [Numbers(base_offset=offset, **fields) for offset in offsets]


def judge(
    given: list[Numbers],
    *,
    cleaned: int | None = None,
    start: int = 0,
    end: int = 45,
    stable: int | None = None,
    **config: object,
) -> CleanableRange:
    return cleanable_range(
        given,
        log_config(compact=True, **config),
        cleaned_up_to=cleaned,
        log_start_offset=start,
        log_end_offset=end,
        last_stable_offset=end if stable is None else stable,
        now_ms=NOW,
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # (first dirty, first uncleanable, clean bytes, dirty bytes)
        ({}, (0, 40, 0, 400)),
        ({"cleaned": 20}, (20, 40, 200, 200)),
        # Half of the third segment is clean, which makes all of it part of the next compaction.
        ({"cleaned": 25}, (25, 40, 200, 200)),
        ({"cleaned": 40}, (40, 40, 400, 0)),
        # Checkpoints of an earlier life.
        ({"cleaned": 46}, (0, 40, 0, 400)),
        ({"cleaned": 5, "start": 12}, (12, 40, 100, 300)),
        # An open transaction, or records that are not committed, in the third segment.
        ({"stable": 20}, (0, 20, 0, 200)),
        ({"stable": 29}, (0, 20, 0, 200)),
        ({"stable": 30}, (0, 30, 0, 300)),
        ({"stable": 5, "cleaned": 20}, (20, 20, 200, 0)),
    ],
)
def test_range_lies_between_what_is_clean_and_what_may_not_be_touched(
    options: dict[str, int], expected: tuple[int, ...]
) -> None:
    found = judge(segments(0, 10, 20, 30, 40), **options)
    assert (
        found.first_dirty_offset,
        found.first_uncleanable_offset,
        found.clean_bytes,
        found.dirty_bytes,
    ) == expected


def test_log_with_one_segment_has_nothing_to_clean() -> None:
    found = judge(segments(0))
    assert (found.first_uncleanable_offset, found.dirty_bytes, found.dirty_ratio) == (0, 0, 0.0)
    assert not found.is_worth_it(log_config(min_cleanable_dirty_ratio=0.0))


def test_segments_younger_than_the_least_lag_are_left_alone() -> None:
    given = [*segments(0, 10), Numbers(base_offset=20, largest=NOW - 500), *segments(30, 40)]
    assert judge(given, min_compaction_lag_ms=1000).first_uncleanable_offset == 20
    assert judge(given, min_compaction_lag_ms=500).first_uncleanable_offset == 40
    # What is clean already has been old enough once.
    assert judge(given, min_compaction_lag_ms=1000, cleaned=30).first_dirty_offset == 30


def test_log_is_overdue_once_a_dirty_segment_has_waited_for_the_most_lag() -> None:
    given = [Numbers(base_offset=0, size=10_000, first=NOW - 9000), *segments(10, 20, 30, 40)]
    young = log_config(compact=True, max_compaction_lag_ms=9001)
    assert not judge(given, max_compaction_lag_ms=9001).overdue
    assert judge(given, max_compaction_lag_ms=8999).overdue
    # Clean segments do not count.
    found = judge(given, max_compaction_lag_ms=4999, cleaned=20)
    assert found.overdue
    assert found.dirty_ratio < 0.02
    assert found.is_worth_it(young)
    assert not judge(given, max_compaction_lag_ms=8999, cleaned=10).overdue


def test_ratio_decides_whether_it_is_worth_it() -> None:
    found = judge(segments(0, 10, 20, 30, 40), cleaned=20)
    assert found.dirty_ratio == 0.5
    assert not found.is_worth_it(log_config(min_cleanable_dirty_ratio=0.5))
    assert found.is_worth_it(log_config(min_cleanable_dirty_ratio=0.49))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (segments(0, 10, 20, size=300), [[0, 10, 20]]),
        (segments(0, 10, 20, size=400), [[0, 10], [20]]),
        (segments(0, 10, 20, size=2000), [[0], [10], [20]]),
        ([Numbers(base_offset=0, size=900), *segments(10, 20, 30, size=100)], [[0, 10], [20, 30]]),
        ([Numbers(base_offset=at, index_sizes=(60, 0)) for at in (0, 10)], [[0], [10]]),
        ([Numbers(base_offset=at, index_sizes=(0, 60)) for at in (0, 10)], [[0], [10]]),
        (segments(0, 1 << 30, (1 << 31) - 10, size=1), [[0, 1 << 30, (1 << 31) - 10]]),
        (segments(0, 1 << 30, 1 << 31, size=1), [[0, 1 << 30], [1 << 31]]),
    ],
)
def test_groups_stay_within_the_limits_of_one_segment(given: list[Numbers], expected: list[list[int]]) -> None:
    config = log_config(segment_bytes=1000, segment_index_bytes=100)
    groups = group_segments(given, config, given[-1].base_offset + 10)
    assert [[given[number].base_offset for number in group] for group in groups] == expected
