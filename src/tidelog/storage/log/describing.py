"""What a log's segments are, for those who look at it from outside. Changes nothing."""

from __future__ import annotations

from typing import NamedTuple

from tidelog.model.segment_states import SegmentState
from tidelog.records.batch import NO_TIMESTAMP
from tidelog.storage.indexes.entry_file import CorruptIndex
from tidelog.storage.log.log import Log
from tidelog.storage.segments.segment import Segment


class SegmentFigures(NamedTuple):
    """`next_offset` is where the following segment begins, or the log end: compaction may have removed the records
    before it. `largest_timestamp` is -1 where no record has one."""

    base_offset: int
    next_offset: int
    size: int
    largest_timestamp: int
    state: SegmentState


def describe_segments(log: Log, *, most: int) -> list[SegmentFigures]:
    """The last `most` segments, in the order of their offsets. Raises StorageFailure.

    A segment that was not asked for its largest timestamp since the start reads it from its time index: an open and a
    small read. It remembers it then.
    """
    segments = list(log.segments)[-most:]
    ends = [*(segment.base_offset for segment in segments[1:]), log.log_end_offset]
    with log.guard:
        return [
            SegmentFigures(
                segment.base_offset,
                end,
                segment.size,
                _largest_timestamp(segment),
                _state(log, segment, end),
            )
            for segment, end in zip(segments, ends, strict=True)
        ]


def _largest_timestamp(segment: Segment) -> int:
    try:
        return segment.max_timestamp
    except CorruptIndex:
        # The next start rebuilds the index.
        return NO_TIMESTAMP


def _state(log: Log, segment: Segment, end: int) -> SegmentState:
    if segment is log.segments.active:
        return SegmentState.ACTIVE
    if not log.config.compact:
        return SegmentState.NOT_COMPACTED
    cleaned_up_to = log.cleaned_up_to
    # A checkpoint behind the log end is stale.
    if cleaned_up_to is not None and end <= cleaned_up_to <= log.log_end_offset:
        return SegmentState.CLEAN
    return SegmentState.DIRTY
