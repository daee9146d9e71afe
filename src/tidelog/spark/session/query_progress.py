"""Metrics and descriptions in a query's progress, where Spark leaves those of Python sources and sinks empty.

Spark takes both from its own Java object: `metrics` only from one that is a ReportsSourceMetrics or ReportsSinkMetrics,
and the description from its `toString` (ProgressReporter.scala, extractSourceProgress and extractSinkProgress). The
objects that stand for Python (PythonMicroBatchStream.scala, PythonTable.scala) are none and have none, and ask Python
for neither. So they are filled in afterwards, in the driver:

- `progress(query)` gives the last progress with them, at any time.
- `report_metrics(spark)` puts them into Spark's own progress objects as soon as the listeners of the session get them,
  so that `query.lastProgress`, `query.recentProgress` and later listeners have them. `spark_session` does so.

What is in them comes from `tidelog.spark.source.progress` and `tidelog.spark.sink.reports`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tidelog.spark.sink.reports import SinkReport, read_reports
from tidelog.spark.source.progress import describe_source, source_metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

logger = logging.getLogger(__name__)

# How Spark's objects for Python are called, which is the beginning of what their toString gives.
_PYTHON = "org.apache.spark.sql.execution.datasources.v2.python."
_LISTENERS = "org.apache.spark.sql.streaming.PythonStreamingQueryListener"


def progress(query: StreamingQuery) -> dict[str, Any] | None:
    """The last progress of a query as a dictionary, with metrics and descriptions; None before there is one."""
    last = query.lastProgress
    if last is None:
        return None
    document: dict[str, Any] = json.loads(last.json) if hasattr(last, "json") else dict(last)
    return with_metrics(document, read_reports(str(query.id)))


def with_metrics(document: Mapping[str, Any], reports: Mapping[int, SinkReport]) -> dict[str, Any]:
    """A progress as Spark's JSON has it, with what is known of sources and sink filled in."""
    sources = []
    for source in document.get("sources") or ():
        described = describe_source(source)
        if described is not None and source.get("description", "").startswith(_PYTHON):
            source = {**source, "description": described, "metrics": source_metrics(source)}
        sources.append(source)
    filled = {**document, "sources": sources}
    report = reports.get(int(document["batchId"]))
    sink = document.get("sink")
    if sink is not None and report is not None and str(sink.get("description", "")).startswith(_PYTHON):
        described = f"tidelog[{', '.join(sorted(report.topics))}]"
        filled["sink"] = {**sink, "description": described, "metrics": report.metrics()}
    return filled


def report_metrics(spark: SparkSession) -> None:
    """Fill in the progress objects of all queries of this session from now on. Does nothing with Spark Connect."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None or not hasattr(spark, "_jsparkSession"):
        return
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    wrapper = gateway.jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper
    spark.streams._jsqm.addListener(wrapper(_Filling(gateway.jvm)))


class _Filling:
    """Called by Spark, through its Python gateway, with its own progress objects."""

    def __init__(self, jvm: Any) -> None:
        self._types = jvm.org.apache.spark.sql.streaming

    def _ignore(self, event: Any) -> None:
        """There is no new progress in it."""

    onQueryStarted = onQueryIdle = onQueryTerminated = _ignore

    def onQueryProgress(self, event: Any) -> None:
        try:
            self._fill(event.progress())
        except Exception as error:
            # A listener that raises is logged by Spark with two stack traces. The query does not depend on this one.
            logger.warning("the metrics of a micro-batch cannot be shown: %s", error)

    def _fill(self, progress: Any) -> None:
        document = json.loads(progress.json())
        filled = with_metrics(document, read_reports(document["id"]))
        sources = progress.sources()
        for number, (before, after) in enumerate(zip(document["sources"], filled["sources"], strict=True)):
            if after is not before:
                sources[number] = self._source(sources[number], after)
        if filled.get("sink") is not document.get("sink"):
            # An object has no setter for it, as it has none for its sources, but those are an array.
            field = progress.getClass().getDeclaredField("sink")
            field.setAccessible(True)
            after, rows = filled["sink"], progress.sink().numOutputRows()
            field.set(progress, self._types.SinkProgress(after["description"], rows, after["metrics"]))

    def _source(self, before: Any, after: Mapping[str, Any]) -> Any:
        return self._types.SourceProgress(
            after["description"],
            before.startOffset(),
            before.endOffset(),
            before.latestOffset(),
            before.numInputRows(),
            before.inputRowsPerSecond(),
            before.processedRowsPerSecond(),
            after["metrics"],
        )

    class Java:
        """Which interface of Spark's this is, for its Python gateway."""

        implements = (_LISTENERS,)
