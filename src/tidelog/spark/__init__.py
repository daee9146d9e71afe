"""tidelog for Spark, through PySpark: the source, the exactly-once sink, and what a job needs around them.

    source/ sink/       topics as a DataFrame, and a DataFrame into topics exactly once
    session/            the session, its progress, its errors as people read them
    pipelines/ demo/    ready jobs that settings describe, and one that is killed for show
    mirror/ databases/  the targets of pipelines: another cluster, a table
    outbox/ log_files/  more sources: events in a database, the files of a log directory
    workers/ daemon.py  what holds in Spark's Python processes, and what they are forked from
    versions/           what differs between versions of Spark

What jobs import is here by name; everything else may move. Importing this package imports neither Spark nor Arrow;
asking for one of the names does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidelog.spark.session.explanations import explain

if TYPE_CHECKING:
    from tidelog.spark.session.query_progress import progress, report_metrics
    from tidelog.spark.session.session import spark_session
    from tidelog.spark.sink.foreach_batch import exactly_once_batch

__all__ = ["exactly_once_batch", "explain", "progress", "report_metrics", "spark_session"]

_HOMES = {
    "exactly_once_batch": "tidelog.spark.sink.foreach_batch",
    "progress": "tidelog.spark.session.query_progress",
    "report_metrics": "tidelog.spark.session.query_progress",
    "spark_session": "tidelog.spark.session.session",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
