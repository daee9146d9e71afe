"""The segments of one log, in the order of their offsets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tidelog.model.invariants import require
from tidelog.storage.segments.segment import Segment


class Segments:
    """Never empty once the log is loaded. The last one is the active one."""

    __slots__ = ("_offsets", "_segments")

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._offsets: list[int] = []

    def __len__(self) -> int:
        return len(self._segments)

    def __contains__(self, segment: object) -> bool:
        return segment in self._segments

    def __iter__(self) -> Iterator[Segment]:
        """Over a copy: the caller may remove segments meanwhile."""
        return iter(self._segments[:])

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def active(self) -> Segment:
        return self._segments[-1]

    @property
    def base_offsets(self) -> list[int]:
        return self._offsets[:]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    def add(self, segment: Segment) -> None:
        """Replaces the segment with the same first offset."""
        at = bisect_left(self._offsets, segment.base_offset)
        if at < len(self._offsets) and self._offsets[at] == segment.base_offset:
            self._segments[at] = segment
        else:
            self._offsets.insert(at, segment.base_offset)
            self._segments.insert(at, segment)

    def remove(self, segment: Segment) -> None:
        at = self._segments.index(segment)
        del self._segments[at]
        del self._offsets[at]

    def exchange(self, old: Sequence[Segment], new: Segment) -> None:
        """Replace `old`, which are neighbours, by `new` in one step: the writer of checkpoints may be reading."""
        at = self._segments.index(old[0])
        segments = [*self._segments[:at], new, *self._segments[at + len(old) :]]
        self._offsets = [segment.base_offset for segment in segments]
        self._segments = segments

    def floor(self, offset: int) -> Segment | None:
        """The last segment that begins at or before `offset`."""
        if self._offsets and offset >= self._offsets[-1]:
            return self._segments[-1]
        at = bisect_right(self._offsets, offset) - 1
        return self._segments[at] if at >= 0 else None

    def after(self, segment: Segment) -> Segment | None:
        at = bisect_right(self._offsets, segment.base_offset)
        return self._segments[at] if at < len(self._segments) else None

    def containing(self, first_offset: int, end_offset: int) -> list[Segment]:
        """Those with offsets from `first_offset` up to, not including, `end_offset`."""
        low = max(bisect_right(self._offsets, first_offset) - 1, 0)
        return self._segments[low : bisect_left(self._offsets, end_offset)]

    def below(self, offset: int) -> list[Segment]:
        """Those that begin below `offset`."""
        return self._segments[: bisect_left(self._offsets, offset)]

    def above(self, offset: int) -> list[Segment]:
        """Those that begin above `offset`."""
        return self._segments[bisect_right(self._offsets, offset) :]

    def check_invariants(self, log_start_offset: int, *, log_end_offset: int) -> None:
        offsets = self._offsets
        in_step = bool(offsets) and offsets == [segment.base_offset for segment in self._segments]
        require(in_step, self._segments, "there is a segment, and each is found by its first offset", offsets=offsets)
        require(all(a < b for a, b in pairwise(offsets)), self._segments, "segments are in the order of their offsets")
        covered = 0 <= offsets[0] <= log_start_offset and offsets[-1] <= log_end_offset
        require(covered, self._segments, "the log lies in its segments", start=log_start_offset, end=log_end_offset)
        for segment, end in zip(self._segments, [*offsets[1:], log_end_offset], strict=True):
            segment.check_invariants(end)
