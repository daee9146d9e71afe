"""How a pipeline is doing, for probes and Prometheus. Fed by the loop that watches the query; threads may read.

Healthy is a pipeline that has shown that it works: a batch was completed, or the query waits for records, which it does
only after its source has answered. It is not healthy before that, while it retries, and when nothing of the kind has
been seen for longer than `stalled_after`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tidelog.model.pipeline_status import HealthReport
from tidelog.spark.pipelines.durations import Duration
from tidelog.spark.pipelines.progress import BatchReport
from tidelog.spark.pipelines.settings import TEN_MINUTES

M = TypeVar("M", Counter, Gauge, Histogram)

REASON_CHARACTERS = 300

_BATCH_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


class Stage(Enum):
    STARTING = "starting"
    RUNNING = "running"
    RETRYING = "retrying"
    STALLED = "stalled"
    STOPPING = "stopping"


class PipelineHealth:
    def __init__(
        self,
        name: str,
        *,
        stalled_after: Duration = TEN_MINUTES,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._name = name
        self._stalled_after = stalled_after
        self._clock = clock
        self._wall_clock = wall_clock
        self._stage = Stage.STARTING
        self._reason = "Spark and the query are starting"
        self._last_error = ""
        self._last: BatchReport | None = None
        self._rows = 0
        self._starts = 0
        self._retries = 0
        self._progress_at: float | None = None
        self._next_attempt_at: float | None = None
        self._query = ""
        # How often the pipeline has shown that it works.
        self.signs_of_work = 0
        self.registry = CollectorRegistry()
        self._make_metrics()

    # -- what happens --------------------------------------------------------------------------------------------

    def query_starts(self) -> None:
        if self._starts:
            self._restarts_total.inc()
        self._starts += 1
        self._next_attempt_at = None

    def query_runs(self, query: str) -> None:
        """The id of the query, which stays the same as long as its checkpoint."""
        self._query = query

    def batch_done(self, report: BatchReport) -> None:
        self._rows_total.inc(report.rows)
        if self._last is None or report.batch > self._last.batch:
            self._batches_total.inc()
        self._bytes_total.inc(report.bytes_written or 0)
        self._batch_seconds.observe(report.seconds)
        self._write_seconds.observe(report.write_seconds)
        for partition, behind in report.partition_lag.items():
            self._lag.labels(self._name, partition.topic, str(partition.partition)).set(behind)
        self._last = report
        self._rows += report.rows
        self._works()

    def waits_for_records(self) -> None:
        """The source has answered, and there is nothing new."""
        self._works()

    def retries(self, reason: str, pause_seconds: float) -> None:
        self._retries += 1
        self._retries_total.inc()
        self._note_error(reason)
        self._stage, self._reason = Stage.RETRYING, reason
        self._next_attempt_at = self._clock() + pause_seconds

    def fails(self, reason: str) -> None:
        self._note_error(reason)
        self._stage, self._reason = Stage.STOPPING, reason

    def stops(self) -> None:
        self._stage, self._reason = Stage.STOPPING, "it was asked to stop"

    # -- what is seen --------------------------------------------------------------------------------------------

    @property
    def is_retrying(self) -> bool:
        """Since a failure, until the pipeline has shown that it works again."""
        return self._stage is Stage.RETRYING

    def report(self) -> HealthReport:
        now = self._clock()
        stage, reason = self._stage, self._reason
        since = None if self._progress_at is None else now - self._progress_at
        if stage is Stage.RUNNING and since is not None and since > self._stalled_after.seconds:
            stage = Stage.STALLED
            reason = f"no batch was completed for {since:.0f} s, which is longer than stalled_after"
        coming = self._next_attempt_at
        return HealthReport(
            pipeline=self._name,
            healthy=stage is Stage.RUNNING,
            status=stage.value,
            reason=reason,
            batch=None if self._last is None else self._last.batch,
            rows=self._rows,
            lag=None if self._last is None else self._last.lag,
            seconds_since_progress=None if since is None else round(since, 3),
            next_attempt_in_seconds=None if coming is None else round(max(0.0, coming - now), 3),
            retries=self._retries,
            restarts=max(0, self._starts - 1),
            last_error=self._last_error,
            query=self._query,
        )

    # -- inside --------------------------------------------------------------------------------------------------

    def _works(self) -> None:
        self.signs_of_work += 1
        self._progress_at = self._clock()
        self._progress_timestamp.set(self._wall_clock())
        if self._stage is not Stage.STOPPING:
            self._stage, self._reason = Stage.RUNNING, ""

    def _note_error(self, reason: str) -> None:
        self._last_error = reason
        # One reason at a time: each would be a time series of its own for ever.
        self._errors.clear()
        self._errors.labels(self._name, reason[:REASON_CHARACTERS]).set(self._wall_clock())

    def _make_metrics(self) -> None:
        def made(kind: type[M], name: str, description: str, *labels: str, **more: Any) -> M:
            names = ["pipeline", *labels]
            metric = kind(f"tidelog_pipeline_{name}", description, names, registry=self.registry, **more)
            return metric if labels else metric.labels(self._name)

        made(Gauge, "up", "1 while the pipeline works, 0 while it starts, retries, is stalled or stops").set_function(
            lambda: float(self.report().healthy)
        )
        self._rows_total = made(Counter, "rows", "Rows that were read from the source")
        self._bytes_total = made(Counter, "written_bytes", "Bytes of record batches that were written to topics")
        self._batches_total = made(Counter, "batches", "Completed micro-batches")
        self._batch_seconds = made(Histogram, "batch_seconds", "How long micro-batches took", buckets=_BATCH_BUCKETS)
        self._write_seconds = made(
            Histogram, "batch_write_seconds", "Of that, running the tasks and committing", buckets=_BATCH_BUCKETS
        )
        self._retries_total = made(Counter, "retries", "How often the pipeline waited for a broker or database")
        self._restarts_total = made(Counter, "restarts", "How often the query was restarted")
        self._progress_timestamp = made(
            Gauge, "last_progress_timestamp_seconds", "When a batch was completed or the source had nothing new"
        )
        self._lag = made(
            Gauge, "lag_records", "Records that wait in a partition, at the end of the last batch", "topic", "partition"
        )
        self._errors = made(
            Gauge, "last_error_timestamp_seconds", "When the last failure happened, with its reason", "reason"
        )
