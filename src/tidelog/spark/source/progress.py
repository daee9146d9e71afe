"""What the offsets in a query's progress say about its source: which topics, and how far behind. No I/O.

Spark's own connector puts such numbers into `metrics` of a source. Spark asks a source in Python for none, but for the
latest offsets, from which the same numbers follow.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tidelog.spark.source.offsets import PartitionOffsets, offsets_from_json
from tidelog.spark.source.ranges import lag

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress


def source_lag(progress: StreamingQueryProgress) -> list[dict[str, float]]:
    """For each source of the query the names and numbers of Spark's connector; empty for those that tell no offsets."""
    return [_behind(source.endOffset, source.latestOffset) for source in progress.sources]


def source_metrics(end: str | None, latest: str | None) -> dict[str, str]:
    """As Spark's progress has metrics: the names of Spark's connector, and the lag of each partition."""
    read, known = _offsets(end), _offsets(latest)
    if read is None or known is None:
        return {}
    names = {name: f"{number:g}" for name, number in _behind(end, latest).items()}
    return {**names, **{f"lag.{partition}": str(behind) for partition, behind in sorted(lag(read, known).items())}}


def describe_source(*offsets: str | None) -> str | None:
    """`tidelog[orders, payments]`; None for offsets that are not those of topics."""
    for text in offsets:
        known = _offsets(text)
        if known:
            return f"tidelog[{', '.join(sorted({partition.topic for partition in known}))}]"
    return None


def _offsets(text: str | None) -> PartitionOffsets | None:
    try:
        return offsets_from_json(json.loads(text or ""))
    except (ValueError, AttributeError, TypeError):
        return None


def _behind(end: str | None, latest: str | None) -> dict[str, float]:
    read, known = _offsets(end), _offsets(latest)
    if read is None or not known:
        return {}
    numbers = lag(read, known).values()
    return {
        "avgOffsetsBehindLatest": sum(numbers) / len(numbers),
        "maxOffsetsBehindLatest": float(max(numbers)),
        "minOffsetsBehindLatest": float(min(numbers)),
    }
