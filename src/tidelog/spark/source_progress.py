"""How far a streaming query is behind, from the progress that Spark reports. No I/O.

Spark's own connector puts these numbers into `metrics` of a source. A source in Python cannot, but it does report the
latest offsets, from which the same numbers follow.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tidelog.spark.source_offsets import offsets_from_json
from tidelog.spark.source_ranges import lag

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress


def source_lag(progress: StreamingQueryProgress) -> list[dict[str, float]]:
    """For each source of the query the names and numbers of Spark's connector; empty for those that tell no offsets."""
    return [_behind(source.endOffset, source.latestOffset) for source in progress.sources]


def _behind(end: str | None, latest: str | None) -> dict[str, float]:
    try:
        behind = lag(offsets_from_json(json.loads(end or "")), offsets_from_json(json.loads(latest or "")))
    except (ValueError, AttributeError, TypeError):
        return {}
    if not behind:
        return {}
    numbers = behind.values()
    return {
        "avgOffsetsBehindLatest": sum(numbers) / len(numbers),
        "maxOffsetsBehindLatest": float(max(numbers)),
        "minOffsetsBehindLatest": float(min(numbers)),
    }
