"""Which segments of a log may go: by age, by size, and because the log's start has passed them. Decides only."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.storage.log.config import LogConfig
from tidelog.storage.segments.segment import Segment
from tidelog.storage.segments.segments import Segments


def deletable_segments(
    segments: Segments,
    config: LogConfig,
    *,
    log_start_offset: int,
    log_end_offset: int,
    high_watermark: int,
    now_ms: int,
) -> list[Segment]:
    """The oldest segments, as many as any of the rules allows. The active segment can be among them if it has data.

    Nothing at or above the high watermark goes: otherwise the log's start could pass it.
    """

    def oldest_while(rule: Callable[[Segment, int | None], bool]) -> list[Segment]:
        found = []
        for segment in segments:
            following = segments.after(segment)
            end = log_end_offset if following is None else following.base_offset
            if following is None and segment.size == 0:
                break
            if high_watermark < end or not rule(segment, None if following is None else end):
                break
            found.append(segment)
        return found

    candidates = [oldest_while(lambda segment, end: end is not None and end <= log_start_offset)]
    if config.delete and config.retention_bytes >= 0:
        excess = segments.size - config.retention_bytes

        def exceeds_size(segment: Segment, _: int | None) -> bool:
            nonlocal excess
            excess -= segment.size
            return excess >= 0

        candidates.append(oldest_while(exceeds_size))
    if config.delete and config.retention_ms >= 0:
        candidates.append(oldest_while(lambda segment, _: now_ms - segment.largest_timestamp() > config.retention_ms))
    # All of them begin with the oldest segment.
    return max(candidates, key=len)
