from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.spark.mirror.runs import (
    RECENT_RUNS,
    OffsetRun,
    Stretch,
    extend,
    joined,
    match,
    read_runs,
    stretches,
    translate,
    write_runs,
)
from tidelog.spark.sink.note import MAX_METADATA


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ([], []),
        ([5], [Stretch(5, 1)]),
        ([5, 6, 7], [Stretch(5, 3)]),
        ([0, 2, 3, 9], [Stretch(0, 1), Stretch(2, 2), Stretch(9, 1)]),
    ],
)
def test_offsets_become_stretches_without_gaps(offsets: list[int], expected: list[Stretch]) -> None:
    assert stretches(offsets) == expected


def test_stretches_that_touch_are_joined() -> None:
    assert joined([Stretch(0, 2), Stretch(2, 3), Stretch(6, 1)]) == [Stretch(0, 5), Stretch(6, 1)]


def test_records_are_matched_in_their_order() -> None:
    runs = match([Stretch(10, 3), Stretch(20, 2)], [Stretch(0, 4), Stretch(7, 1)])
    assert runs == [OffsetRun(10, 0, 3), OffsetRun(20, 3, 1), OffsetRun(21, 7, 1)]
    with pytest.raises(ValueError, match="different numbers"):
        match([Stretch(0, 2)], [Stretch(0, 1)])


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        # Before everything that was mirrored: at its beginning.
        (0, 100),
        (10, 100),
        (12, 102),
        # Behind the run, and in the gap: the next record that was mirrored.
        (13, 103),
        (19, 103),
        (20, 104),
        (21, 105),
        # Not mirrored yet.
        (99, 106),
    ],
)
def test_offsets_are_translated_to_the_same_record(offset: int, expected: int) -> None:
    assert translate([OffsetRun(10, 100, 3), OffsetRun(20, 104, 2)], offset) == expected


def test_nothing_is_known_of_a_partition_without_runs() -> None:
    assert translate([], 5) is None


SOURCES = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 20)), min_size=1, max_size=30)


@st.composite
def mirrored(draw: st.DrawFn) -> list[list[int]]:
    """Micro-batches of source offsets, with gaps as transactions leave them."""
    batches: list[list[int]] = []
    offset = 0
    for _ in range(draw(st.integers(1, 12))):
        batch: list[int] = []
        for gap, count in draw(SOURCES):
            offset += gap
            batch += range(offset, offset + count)
            offset += count
        batches.append(batch)
    return batches


@given(mirrored(), st.sampled_from([600, 1500, MAX_METADATA]), st.integers(0, 50))
def test_a_translation_never_passes_over_a_record_and_is_exact_for_recent_ones(
    batches: list[list[int]], limit: int, ahead: int
) -> None:
    history: list[OffsetRun] = []
    place: dict[int, int] = {}
    target = ahead
    for batch in batches:
        placed = Stretch(target, len(batch))
        place.update({offset: target + number for number, offset in enumerate(batch)})
        history = read_runs(write_runs(extend(history, match(stretches(batch), [placed]), limit)))
        # The marker of the transaction.
        target += len(batch) + 1
        assert len(write_runs(history)) <= limit
    exact_from = history[-min(len(history), RECENT_RUNS // 4)].source
    for offset in range(max(place) + 3):
        # The record that somebody whose next offset is this one would read at the target.
        following = [there for source, there in place.items() if source >= offset]
        first = min(following, default=target)
        found = translate(history, offset)
        assert found is not None
        assert found <= first
        if offset >= exact_from:
            # Between the two there is nothing but markers.
            assert not [there for there in place.values() if found <= there < first]


def test_metadata_of_others_is_no_history() -> None:
    for text in ("", "{}", "null", '{"runs":[[1]]}', '{"runs":3}', "nonsense"):
        assert read_runs(text) == []
