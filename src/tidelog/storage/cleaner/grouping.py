"""Which neighbouring segments become one: what is left of several small ones fits into one of the usual size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidelog.storage.log.config import LogConfig
from tidelog.storage.segments.segment import MAX_RELATIVE_OFFSET


class SizedSegment(Protocol):
    @property
    def base_offset(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def index_sizes(self) -> tuple[int, int]:
        """Bytes of the offset index and of the time index."""
        ...


def group_segments(segments: Sequence[SizedSegment], config: LogConfig, end_offset: int) -> list[range]:
    """Split `segments`, which end at `end_offset`, into runs, by their numbers, that stay within the limits of one
    segment each.

    Sizes are those from before the compaction, so the results are at most as large. One segment is never split, even
    if it is over the limit by itself.
    """
    groups: list[range] = []
    size = offset_index_size = time_index_size = 0
    ends = [segment.base_offset for segment in segments[1:]] + [end_offset]
    for number, (segment, end) in enumerate(zip(segments, ends, strict=True)):
        index_sizes = segment.index_sizes
        size += segment.size
        offset_index_size += index_sizes[0]
        time_index_size += index_sizes[1]
        if (
            groups
            and size <= config.segment_bytes
            and max(offset_index_size, time_index_size) <= config.segment_index_bytes
            and end - 1 - segments[groups[-1].start].base_offset <= MAX_RELATIVE_OFFSET
        ):
            groups[-1] = range(groups[-1].start, number + 1)
        else:
            groups.append(range(number, number + 1))
            size = segment.size
            offset_index_size, time_index_size = index_sizes
    return groups
