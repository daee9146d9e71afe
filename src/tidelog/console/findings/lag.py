"""How far a group is behind in the partitions that it reads, and when it catches up. No I/O.

The lag is the number of records between the committed offset and the high watermark. Control records do not count: no
consumer ever gets them. Nor does what compaction has removed. Both are only known where the log was looked at;
elsewhere the lag is at most the difference of the offsets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from math import ceil
from typing import NamedTuple

from tidelog.console.findings.counted_log import CountedLog, RangeCount
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

# Slower than one offset in a hundred seconds is no speed.
_STANDS_STILL = 0.01


class LogMarks(NamedTuple):
    """Of a partition's leader. `stable` is the last stable offset, `end` the high watermark."""

    start: int
    stable: int
    end: int


class OffsetSpan(NamedTuple):
    """From `first` up to, not including, `end`."""

    first: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """`records` is the lag, at most that where it is not `exact`. `readable` of them come before the last stable
    offset, so that readers of committed records reach them as well; the others are held back by an open transaction.
    Of the readable ones readers of committed records skip those that are `aborted`.

    `lost` offsets were deleted before the group has reached them. `beyond` tells by how much the committed offset lies
    past the end of the log: the log was cut, or the topic recreated.
    """

    records: int
    readable: int
    exact: bool
    control: int = 0
    gaps: int = 0
    aborted: int = 0
    lost: int = 0
    beyond: int = 0

    @property
    def held(self) -> int:
        return self.records - self.readable

    @property
    def waits(self) -> bool:
        """There are records, but for readers of committed records an open transaction is before all of them."""
        return self.held > 0 and self.readable == self.aborted


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalLag:
    records: int
    exact: bool
    # In one partition.
    largest: int
    waits: bool
    # Partitions with a committed offset whose lag is known, and those whose lag is not: without a leader, or not there
    # any more. The total is that of the known ones.
    known: int
    unknown: int


class TopicLag(NamedTuple):
    """The group that is furthest behind in a topic."""

    group: str
    records: int
    exact: bool
    # Partitions whose lag is known, and those whose lag is not.
    known: int
    unknown: int


class LagTrend(StrEnum):
    CAUGHT_UP = "caught up"
    # Everything that is left is behind an open transaction.
    WAITS = "waits"
    CATCHES_UP = "catches up"
    FALLS_BEHIND = "falls behind"
    STANDS_STILL = "stands still"
    # There are not enough readings yet.
    UNKNOWN = "unknown"
    # Nothing is left, or it catches up, where the lag is known, but it is not known of all partitions.
    NOT_TOLD = "not told"


class CatchingUp(NamedTuple):
    trend: LagTrend
    # Only where it catches up.
    in_ms: int | None = None


def unread(committed: int, marks: LogMarks) -> OffsetSpan:
    """The offsets that a lag is about; empty where there are none."""
    first = min(max(committed, marks.start), marks.end)
    return OffsetSpan(first, marks.end)


def lag_of(committed: int, marks: LogMarks, known: CountedLog | None) -> PartitionLag:
    """`known` is what was counted of the partition so far, which may be only a part of what is not read yet."""
    first, end = unread(committed, marks)
    stable = min(max(marks.stable, first), end)
    before, behind = _count(first, stable, known), _count(stable, end, known)
    return PartitionLag(
        records=before.records + behind.records,
        readable=before.records,
        exact=first == end or (known is not None and known.covers(first, end)),
        control=before.control + behind.control,
        gaps=before.gaps + behind.gaps,
        aborted=before.aborted,
        lost=max(0, marks.start - committed),
        beyond=max(0, committed - marks.end),
    )


def _count(first: int, end: int, known: CountedLog | None) -> RangeCount:
    """What is not known counts as records."""
    if known is None or not known.start <= first <= known.end:
        return RangeCount(max(0, end - first), 0, 0, 0)
    counted = known.count(first, min(end, known.end))
    return counted._replace(records=counted.records + max(0, end - known.end))


def total_lag(lags: Iterable[PartitionLag | None]) -> TotalLag:
    """None stands for a partition whose lag is not known."""
    listed = list(lags)
    known = [lag for lag in listed if lag is not None]
    readable = sum(lag.readable - lag.aborted for lag in known)
    return TotalLag(
        records=sum(lag.records for lag in known),
        exact=all(lag.exact for lag in known),
        largest=max((lag.records for lag in known), default=0),
        waits=readable == 0 and any(lag.held for lag in known),
        known=len(known),
        unknown=len(listed) - len(known),
    )


def lag_by_topic(groups: Mapping[str, Mapping[TopicPartition, PartitionLag | None]]) -> dict[str, TopicLag]:
    """For each topic that groups have committed offsets of: the largest lag of one group, in all of the partitions
    together, and which group that is. Of equal ones the first by name; one that is known before those that are not."""
    largest: dict[str, TopicLag] = {}
    for group in sorted(groups):
        by_topic: dict[str, list[PartitionLag | None]] = defaultdict(list)
        for partition, lag in groups[group].items():
            by_topic[partition.topic].append(lag)
        for topic, lags in by_topic.items():
            total = total_lag(lags)
            best = largest.get(topic)
            if best is None or (total.known > 0, total.records) > (best.known > 0, best.records):
                largest[topic] = TopicLag(group, total.records, total.exact, total.known, total.unknown)
    return largest


def catching_up(
    lag: PartitionLag | TotalLag, *, consumed_per_second: float | None, produced_per_second: float | None
) -> CatchingUp:
    """If both go on as they do."""
    if lag.records == 0:
        is_all = isinstance(lag, PartitionLag) or lag.unknown == 0
        return CatchingUp(LagTrend.CAUGHT_UP if is_all else LagTrend.NOT_TOLD)
    if lag.waits:
        return CatchingUp(LagTrend.WAITS)
    if consumed_per_second is None or produced_per_second is None:
        return CatchingUp(LagTrend.UNKNOWN)
    if consumed_per_second < _STANDS_STILL:
        return CatchingUp(LagTrend.STANDS_STILL)
    gained = consumed_per_second - produced_per_second
    if gained < _STANDS_STILL:
        return CatchingUp(LagTrend.FALLS_BEHIND)
    if isinstance(lag, TotalLag) and lag.unknown:
        return CatchingUp(LagTrend.NOT_TOLD)
    return CatchingUp(LagTrend.CATCHES_UP, ceil(lag.records / gained * 1000))
