"""How dirty a log is, which part of it can be compacted now, and which log is worth it most. Decides only.

A log is clean up to some offset, from there on dirty, and from a later offset on not to be touched:

    | compacted before | dirty | too young, undecided or still being written |
                       ^       ^
       first dirty offset      first uncleanable offset

Compaction works on whole segments, never on the active one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.storage.log.config import LogConfig


class SegmentFacts(Protocol):
    """What the decisions need to know of a segment."""

    @property
    def base_offset(self) -> int: ...

    @property
    def size(self) -> int: ...

    def first_timestamp(self) -> int:
        """Of the first batch; -1 if it has none."""
        ...

    def largest_timestamp(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanableRange:
    """What a compaction of a log would cover."""

    first_dirty_offset: int
    # The beginning of a segment.
    first_uncleanable_offset: int
    clean_bytes: int
    dirty_bytes: int
    # Whether max.compaction.lag.ms asks for it, however small the dirty part is.
    overdue: bool

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_worth_it(self, config: LogConfig) -> bool:
        return (self.overdue and self.dirty_bytes > 0) or self.dirty_ratio > config.min_cleanable_dirty_ratio


def cleanable_range(
    segments: Sequence[SegmentFacts],
    config: LogConfig,
    *,
    cleaned_up_to: int | None,
    log_start_offset: int,
    log_end_offset: int,
    last_stable_offset: int,
    now_ms: int,
) -> CleanableRange:
    """`segments` are all of the log, the active one last. `cleaned_up_to` is what the checkpoint says."""
    first_dirty_offset = log_start_offset
    # A checkpoint outside of the log is stale: everything counts as dirty.
    if cleaned_up_to is not None and log_start_offset <= cleaned_up_to <= log_end_offset:
        first_dirty_offset = cleaned_up_to
    active = segments[-1]
    first_dirty = _index_of(segments, first_dirty_offset)
    dirty = segments[first_dirty:-1]
    # Undecided transactions cannot be compacted, and what is not committed may still be lost.
    bound = min(last_stable_offset, active.base_offset)
    if config.min_compaction_lag_ms > 0:
        youngest = now_ms - config.min_compaction_lag_ms
        too_young = next((segment for segment in dirty if segment.largest_timestamp() > youngest), None)
        if too_young is not None:
            bound = min(bound, too_young.base_offset)
    first_uncleanable = _index_of(segments, max(bound, first_dirty_offset))
    return CleanableRange(
        first_dirty_offset=first_dirty_offset,
        first_uncleanable_offset=segments[first_uncleanable].base_offset,
        clean_bytes=sum(segment.size for segment in segments[:first_dirty]),
        dirty_bytes=sum(segment.size for segment in segments[first_dirty:first_uncleanable]),
        overdue=_is_overdue(dirty, config, now_ms),
    )


def _index_of(segments: Sequence[SegmentFacts], offset: int) -> int:
    """Of the segment that holds `offset`."""
    return max(bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1, 0)


def _is_overdue(dirty: Iterable[SegmentFacts], config: LogConfig, now_ms: int) -> bool:
    deadline = now_ms - config.max_compaction_lag_ms
    # The default, no maximum lag, is far in the past: no segment needs to be read.
    if deadline <= 0:
        return False
    return any(0 < segment.first_timestamp() < deadline for segment in dirty)
