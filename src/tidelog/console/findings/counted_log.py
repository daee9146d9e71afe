"""How many records there are between two offsets of a partition: without control records and without what compaction
has removed. No I/O.

What is known of a log is a window of offsets, and the places in it where there are no records. What lies below the high
watermark stays as it is, so that each part is read once. (Compaction may remove more of it later: then a count is too
high until the window is read again.)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from typing import NamedTuple

from tidelog.client.browsing import OutlineRun, RunKind

# Of one partition. A log with more of them in its window is known from a later offset on only.
MOST_HOLES = 20_000


class RangeCount(NamedTuple):
    """`records` are those that consumers get. `aborted` ones are among them, which only readers of uncommitted records
    get; a transaction whose end is not known does not count as aborted."""

    records: int
    control: int
    gaps: int
    aborted: int


class _KnownRange(NamedTuple):
    offset: int
    last_offset: int


class CountedLog:
    """Everything from `start` up to `end` is known."""

    def __init__(self, start: int, *, most_holes: int = MOST_HOLES) -> None:
        self.start = start
        self.end = start
        self._most_holes = most_holes
        # In the order of the log. Ranges of one list do not overlap.
        self._control: list[_KnownRange] = []
        self._gaps: list[_KnownRange] = []
        self._aborted: list[_KnownRange] = []
        # Of transactions whose end is not known yet, by producer id.
        self._undecided: dict[int, list[_KnownRange]] = {}
        self._undecided_count = 0

    def extend(self, runs: Iterable[OutlineRun]) -> None:
        """With the runs from `end` on."""
        for run in runs:
            assert run.offset == self.end, "an outline has to begin where the last one has ended"
            self.end = run.last_offset + 1
            self._add(run)
        if self._hole_count() > self._most_holes:
            self._forget_half()

    def covers(self, first: int, end: int) -> bool:
        return self.start <= first and end <= self.end

    def count(self, first: int, end: int) -> RangeCount:
        """Of the offsets from `first` up to `end`, all of which have to be known."""
        assert self.covers(first, end), f"{first} to {end} is not within {self.start} to {self.end}"
        control, gaps = _total(self._control, first, end), _total(self._gaps, first, end)
        return RangeCount(max(0, end - first) - control - gaps, control, gaps, _total(self._aborted, first, end))

    def _add(self, run: OutlineRun) -> None:
        place = _KnownRange(run.offset, run.last_offset)
        if run.kind is RunKind.GAP:
            self._gaps.append(place)
        elif run.kind is RunKind.RECORDS:
            if run.producer_id is not None:
                self._undecided.setdefault(run.producer_id, []).append(place)
                self._undecided_count += 1
        else:
            self._control.append(place)
            if run.kind in (RunKind.COMMIT, RunKind.ABORT) and run.producer_id is not None:
                self._decide(run.producer_id, aborted=run.kind is RunKind.ABORT)

    def _decide(self, producer_id: int, *, aborted: bool) -> None:
        ended = self._undecided.pop(producer_id, [])
        self._undecided_count -= len(ended)
        if aborted:
            for place in ended:
                insort(self._aborted, place)

    def _hole_count(self) -> int:
        return len(self._control) + len(self._gaps) + len(self._aborted) + self._undecided_count

    def _forget_half(self) -> None:
        places = sorted([*self._control, *self._gaps, *self._aborted, *self._open_places()])
        self.start = places[len(places) // 2].offset
        self._control, self._gaps, self._aborted = (
            [place for place in ranges if place.last_offset >= self.start]
            for ranges in (self._control, self._gaps, self._aborted)
        )
        self._undecided = {
            producer_id: kept
            for producer_id, ranges in self._undecided.items()
            if (kept := [place for place in ranges if place.last_offset >= self.start])
        }
        self._undecided_count = len(self._open_places())

    def _open_places(self) -> list[_KnownRange]:
        return [place for ranges in self._undecided.values() for place in ranges]


def _total(ranges: list[_KnownRange], first: int, end: int) -> int:
    """How many offsets from `first` up to `end` are in these ranges."""
    if not ranges:
        return 0
    begin = bisect_left(ranges, first, key=lambda place: place.last_offset)
    behind = bisect_right(ranges, end - 1, key=lambda place: place.offset)
    return sum(min(place.last_offset, end - 1) - max(place.offset, first) + 1 for place in ranges[begin:behind])
