"""Which offset at the target is which offset at the source. Pure.

Offsets of the two clusters differ: the source has gaps (markers and aborted records of transactions, compaction), and
every transaction of the mirror adds a marker at the target. A run is a stretch without gaps on either side. The runs of
a partition are kept in the metadata of the mirror's own offset commit, so that they are there exactly if the records
are. That space is small: old runs are thinned out, which makes the translation of old offsets imprecise, but only ever
to earlier ones. Nobody misses a record then; the last few runs are always exact.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.spark.sink.note import MAX_METADATA

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Never thinned out.
RECENT_RUNS = 24


@dataclass(frozen=True, slots=True)
class OffsetRun:
    """Source offsets source, source + 1, ... are target offsets target, target + 1, ..., `count` of them."""

    source: int
    target: int
    count: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets first, first + 1, ..., `count` of them."""

    first: int
    count: int

    @property
    def end(self) -> int:
        return self.first + self.count


def stretches(offsets: npt.NDArray[np.int64] | Sequence[int]) -> list[Stretch]:
    """Ascending offsets as stretches without gaps."""
    import numpy as np

    numbers = np.asarray(offsets, dtype=np.int64)
    if not len(numbers):
        return []
    begins = np.concatenate(([0], np.flatnonzero(np.diff(numbers) != 1) + 1))
    ends = np.concatenate((begins[1:], [len(numbers)]))
    return [Stretch(int(numbers[begin]), int(end - begin)) for begin, end in zip(begins, ends, strict=True)]


def joined(parts: Iterable[Stretch]) -> list[Stretch]:
    """The same offsets with as few stretches as possible; the parts are in order."""
    result: list[Stretch] = []
    for part in parts:
        if result and result[-1].end == part.first:
            result[-1] = Stretch(result[-1].first, result[-1].count + part.count)
        else:
            result.append(part)
    return result


def match(source: Sequence[Stretch], target: Sequence[Stretch]) -> list[OffsetRun]:
    """Runs from the same records in both orders: the n-th of the one is the n-th of the other."""
    if sum(part.count for part in source) != sum(part.count for part in target):
        raise ValueError("source and target have different numbers of records")
    runs: list[OffsetRun] = []
    stretches_there = iter(joined(target))
    place = Stretch(0, 0)
    for part in joined(source):
        first, left = part.first, part.count
        while left:
            if not place.count:
                place = next(stretches_there)
            taken = min(left, place.count)
            runs.append(OffsetRun(first, place.first, taken))
            first, left = first + taken, left - taken
            place = Stretch(place.first + taken, place.count - taken)
    return runs


def extend(history: Sequence[OffsetRun], news: Sequence[OffsetRun], limit: int = MAX_METADATA) -> list[OffsetRun]:
    """Both together, thinned out until they fit into the metadata of an offset commit."""
    runs = [*history, *news]
    while len(write_runs(runs)) > limit:
        old, recent = runs[1:-RECENT_RUNS], runs[-RECENT_RUNS:]
        if not old:
            # Even the recent ones are too many: huge numbers, or a small limit.
            return [runs[0], *runs[len(runs) // 2 + 1 :]]
        # Every other one: what is old is rarely asked for, and gets rarer with each time.
        runs = [runs[0], *old[1::2], *recent]
    return runs


def translate(runs: Sequence[OffsetRun], offset: int) -> int | None:
    """Where to go on at the target for whom `offset` is the next one at the source; None before anything is known.

    Exact inside of runs that are known. In between it is the end of the one before, behind which come the records that
    were mirrored next; at worst some that are older than asked for.
    """
    if not runs:
        return None
    begun = bisect_right(runs, offset, key=lambda run: run.source)
    if not begun:
        return runs[0].target
    before = runs[begun - 1]
    return before.target + min(offset - before.source, before.count)


def write_runs(runs: Sequence[OffsetRun]) -> str:
    """As text for people too: each is [source, target, count], relative to the end of the one before."""
    numbers = []
    source = target = 0
    for run in runs:
        numbers.append([run.source - source, run.target - target, run.count])
        source, target = run.source + run.count, run.target + run.count
    return json.dumps({"runs": numbers}, separators=(",", ":"))


def read_runs(metadata: str) -> list[OffsetRun]:
    """What `write_runs` wrote; nothing for what somebody else wrote."""
    try:
        numbers = json.loads(metadata)["runs"]
        runs = []
        source = target = 0
        for ahead_source, ahead_target, count in numbers:
            run = OffsetRun(source + int(ahead_source), target + int(ahead_target), int(count))
            runs.append(run)
            source, target = run.source + run.count, run.target + run.count
        return runs
    except (ValueError, KeyError, TypeError):
        return []
