"""What a batch reads: how far it goes, which ranges that makes, how they are split over tasks, what is missing. No I/O.

Asking brokers for offsets is the business of `tidelog.spark.source.cluster`.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from tidelog.model.ids import TopicPartition
from tidelog.spark.source.offsets import PartitionOffsets


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class OffsetRange:
    """Records of one partition from `start` to before `end`. There may be fewer than offsets: logs have gaps."""

    partition: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class RangePlan:
    """`losses` are sentences about records that should be there and are not."""

    ranges: tuple[OffsetRange, ...]
    losses: tuple[str, ...]


def plan_ranges(
    start: PartitionOffsets,
    end: PartitionOffsets,
    earliest: PartitionOffsets,
    *,
    recreated: Collection[str] = (),
    started_at_end: Collection[TopicPartition] = (),
) -> RangePlan:
    """The ranges of a batch between two offsets of a query.

    `earliest` has the first offset of each partition in `end` that `start` does not know, and of those of topics that
    were `recreated`. `started_at_end` are partitions where the query itself begins at their end, wherever that is now.
    """
    ranges: list[OffsetRange] = []
    losses: list[str] = []
    for partition in sorted(start.keys() - end.keys()):
        losses.append(f"partition {partition} is gone; the query had read it up to offset {start[partition]}")
    for partition in sorted(end):
        until = end[partition]
        first = earliest.get(partition, 0)
        since = start.get(partition)
        if since is None:
            # A partition that appeared while the query ran is read from its beginning, which should be 0.
            since = first
            if first > 0:
                losses.append(f"the new partition {partition} begins at offset {first}, not at 0")
        elif partition.topic in recreated:
            # All offsets of the topic's former life mean nothing in its new one.
            since = first
        elif since > until:
            if partition not in started_at_end:
                losses.append(
                    f"partition {partition} ends at offset {until}, but the query had read it up to offset {since}"
                )
            continue
        if since < until:
            ranges.append(OffsetRange(partition=partition, start=since, end=until))
    return RangePlan(ranges=tuple(ranges), losses=tuple(losses))


def split_ranges(
    ranges: Iterable[OffsetRange], *, min_partitions: int | None = None, max_records: int | None = None
) -> list[OffsetRange]:
    """Cut ranges so that none has more than `max_records` offsets and there are at least `min_partitions` of them.

    The longest are cut first, into equal pieces; a range is never cut below one offset.
    """
    whole = [one for one in ranges if one.size > 0]
    pieces = [1 if max_records is None else -(-one.size // max_records) for one in whole]
    missing = (min_partitions or 0) - sum(pieces)
    if missing > 0:
        # The range whose pieces are the longest gets the next cut. Negative, since a heap gives the smallest.
        longest = [(-one.size / count, index) for index, (one, count) in enumerate(zip(whole, pieces, strict=True))]
        heapq.heapify(longest)
        while missing > 0 and longest:
            _, index = heapq.heappop(longest)
            if pieces[index] < whole[index].size:
                pieces[index] += 1
                missing -= 1
                heapq.heappush(longest, (-whole[index].size / pieces[index], index))
    return [piece for one, count in zip(whole, pieces, strict=True) for piece in _cut(one, count)]


def limit_offsets(
    limit: int, start: PartitionOffsets, latest: PartitionOffsets, earliest: PartitionOffsets
) -> dict[TopicPartition, int]:
    """How far to read if about `limit` offsets are allowed: each partition gets its share, and at least one.

    At least one, because a partition with little to read would never get its turn beside one with much. So a limit
    below the number of partitions is exceeded, as it is in Spark's own connector.
    """
    begins = {partition: start.get(partition, earliest.get(partition, 0)) for partition in latest}
    sizes = {partition: max(end - begins[partition], 0) for partition, end in latest.items()}
    total = sum(sizes.values())
    if total <= limit:
        return dict(latest)
    return {
        partition: begins[partition] + min(size, max(limit * size // total, 1)) if size else latest[partition]
        for partition, size in sizes.items()
    }


def new_offsets(start: PartitionOffsets, latest: PartitionOffsets, earliest: PartitionOffsets) -> int:
    """How many offsets there are to read."""
    return sum(max(end - start.get(partition, earliest.get(partition, 0)), 0) for partition, end in latest.items())


def lag(read: PartitionOffsets, latest: PartitionOffsets) -> Mapping[TopicPartition, int]:
    """How many offsets each partition has that were not read yet."""
    return {partition: max(end - read.get(partition, 0), 0) for partition, end in latest.items()}


def _cut(whole: OffsetRange, count: int) -> Iterable[OffsetRange]:
    edges = (whole.start + whole.size * index // count for index in range(count + 1))
    return (OffsetRange(partition=whole.partition, start=begin, end=end) for begin, end in pairwise(edges))
