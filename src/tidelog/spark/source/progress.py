"""What the offsets in a query's progress say about its source: which topics, and how far behind. No I/O.

Spark's own connector puts such numbers into `metrics` of a source. Spark asks a source in Python for none, but for the
latest offsets, from which the same numbers follow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidelog.model.ids import TopicPartition
from tidelog.spark.source.offsets import PartitionOffsets, offsets_from_json
from tidelog.spark.source.ranges import lag


def source_lag(source: Mapping[str, Any]) -> Mapping[TopicPartition, int] | None:
    """How many records wait in each partition; None if the source tells no offsets of topics."""
    read, known = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
    return None if read is None or known is None else lag(read, known)


def source_metrics(source: Mapping[str, Any]) -> dict[str, str]:
    """As Spark's progress has metrics: the names of Spark's connector, and the lag of each partition."""
    behind = source_lag(source)
    if not behind:
        return {}
    numbers = behind.values()
    return {
        "avgOffsetsBehindLatest": f"{sum(numbers) / len(numbers):g}",
        "maxOffsetsBehindLatest": f"{max(numbers):g}",
        "minOffsetsBehindLatest": f"{min(numbers):g}",
        **{f"lag.{partition}": str(number) for partition, number in sorted(behind.items())},
    }


def describe_source(source: Mapping[str, Any]) -> str | None:
    """`tidelog[orders, payments]`; None for offsets that are not those of topics."""
    for name in ("endOffset", "latestOffset", "startOffset"):
        known = _offsets(source.get(name))
        if known:
            return f"tidelog[{', '.join(sorted({partition.topic for partition in known}))}]"
    return None


def _offsets(given: Any) -> PartitionOffsets | None:
    """Spark gives offsets as JSON, or as text of it. Those of other sources have other shapes."""
    try:
        return offsets_from_json(json.loads(given) if isinstance(given, str) else given)
    except (ValueError, AttributeError, TypeError):
        return None
