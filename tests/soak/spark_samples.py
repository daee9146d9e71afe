"""What a long run on Spark must look like: memory that does not grow, and a rate that does not fall. Pure.

Spark and Python take memory while they warm up, so that the first third of a run says nothing. Of the rest the median
of the first half is compared with that of the second: single peaks (a garbage collection that comes late) do not count.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# What memory may grow by from the first half to the second, and which part of its rate a run has to keep.
GROWTH = 1.15
GROWTH_BYTES = 64 << 20
KEPT_RATE = 0.7
# Fewer samples say nothing.
LEAST_SAMPLES = 6

_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """`seconds` since the run began, rows up to now, and resident memory by kind of process."""

    seconds: float
    rows: int
    memory: Mapping[str, int]


def rates(samples: Sequence[Sample]) -> list[float]:
    """Rows per second between samples."""
    return [
        (later.rows - earlier.rows) / max(later.seconds - earlier.seconds, 1e-9)
        for earlier, later in itertools.pairwise(samples)
    ]


def describe(earlier: Sample, later: Sample) -> str:
    rate = rates([earlier, later])[0]
    memory = ", ".join(f"{kind} {size / _MEGABYTE:,.0f} MB" for kind, size in sorted(later.memory.items()))
    return f"{later.seconds:7.0f} s · {later.rows:13,} rows · {rate:10,.0f} rows/s · {memory}"


def problems(samples: Sequence[Sample]) -> list[str]:
    """What is wrong with a run; samples are taken while there was work to do."""
    steady = samples[len(samples) // 3 :]
    if len(steady) < LEAST_SAMPLES:
        return []
    found = []
    half = len(steady) // 2
    for kind in sorted({kind for sample in steady for kind in sample.memory}):
        before = statistics.median(sample.memory.get(kind, 0) for sample in steady[:half])
        after = statistics.median(sample.memory.get(kind, 0) for sample in steady[half:])
        if after > before * GROWTH + GROWTH_BYTES:
            found.append(
                f"memory of {kind} grows: {before / _MEGABYTE:,.0f} MB in the first half, "
                f"{after / _MEGABYTE:,.0f} MB in the second"
            )
    measured = rates(steady)
    half = len(measured) // 2
    before, after = statistics.median(measured[:half]), statistics.median(measured[half:])
    if after < before * KEPT_RATE:
        found.append(f"the rate falls: {before:,.0f} rows/s in the first half, {after:,.0f} rows/s in the second")
    return found
