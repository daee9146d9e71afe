"""tidelog for Spark, through PySpark: the source, the exactly-once sink, and what a job needs around them.

Importing this package imports neither Spark nor Arrow; its modules do, and so does asking for `exactly_once_batch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidelog.spark.session.explanations import explain

if TYPE_CHECKING:
    from tidelog.spark.sink.foreach_batch import exactly_once_batch

__all__ = ["exactly_once_batch", "explain"]


def __getattr__(name: str) -> Any:
    if name != "exactly_once_batch":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tidelog.spark.sink.foreach_batch import exactly_once_batch

    return exactly_once_batch
