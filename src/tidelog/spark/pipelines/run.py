"""Running a pipeline: start Spark, start the query, show its progress, stop it well, and say why it failed.

The first Ctrl-C (or SIGTERM) lets the current batch finish, within a bound; the second one abandons it. Both are safe:
a batch that was abandoned is either at the target as a whole or not at all, and the next start finds out which.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from tidelog.spark.pipelines.failure import PipelineFailed, explain
from tidelog.spark.pipelines.progress import Display
from tidelog.spark.pipelines.settings import Mirror, Outbox, Pipeline, Run, SinkDatabase, Spark, Transform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

logger = logging.getLogger(__name__)

FINISH_BATCH_SECONDS = 30.0
POLL_SECONDS = 0.2

_SETTINGS: Mapping[str, str] = {
    # What matters is told by the pipeline itself, in one line instead of a stack trace.
    "spark.log.level": "FATAL",
    "spark.sql.streaming.stopTimeout": "60s",
    "spark.sql.streaming.pollingDelay": "50ms",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A query ready to start, and what is to be done beside it every now and then (and once more at the end)."""

    start: Callable[[], StreamingQuery]
    beside: Callable[[], None] | None = None
    beside_every_seconds: float = 5.0


def run_pipeline(pipeline: Pipeline, display: Display) -> None:
    """Run until everything is done (`once`), until a signal, or until a failure: PipelineFailed."""
    from pyspark.errors import PySparkException

    with display:
        session = _session(pipeline.run, pipeline.spark)
        try:
            with _stop_signals() as stop:
                watch(plan_job(session, pipeline), display, stop)
        except PySparkException as error:
            raise PipelineFailed(explain(str(error))) from error
        finally:
            # The JVM may be gone, which is then not what is wrong.
            with suppress(Exception):
                session.stop()


def watch(job: Job, display: Display, stop: StopRequest) -> None:
    """Follow a query to its end."""
    query = job.start()
    beside_at = time.monotonic() + job.beside_every_seconds
    stop_at: float | None = None
    stopping_batch = -1
    while not query.awaitTermination(POLL_SECONDS):  # type: ignore[arg-type]
        _show(query, display)
        if job.beside is not None and time.monotonic() >= beside_at:
            job.beside()
            beside_at = time.monotonic() + job.beside_every_seconds
        if stop.count and stop_at is None:
            stop_at = time.monotonic() + FINISH_BATCH_SECONDS
            stopping_batch = _last_batch(display)
            display.say("finishing the batch; press Ctrl-C again to leave it to the next start")
        if stop_at is not None and (
            stop.count > 1
            or time.monotonic() >= stop_at
            or _last_batch(display) > stopping_batch
            or not query.status["isTriggerActive"]
        ):
            query.stop()
            break
    _show(query, display)
    if job.beside is not None and stop.count < 2:
        job.beside()
    display.say(f"ended; {display.totals.rows:,} rows in {display.totals.batches} batches")


class StopRequest:
    """How often somebody asked to stop."""

    def __init__(self) -> None:
        self.count = 0

    def ask(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.count += 1


def start_query(frame: DataFrame, format_name: str, run: Run, options: Mapping[str, str]) -> StreamingQuery:
    writer: DataStreamWriter = (
        frame.writeStream.format(format_name)
        .queryName(run.name)
        .options(**options)
        .option("checkpointLocation", run.checkpoint_location)
    )
    trigger = writer.trigger(availableNow=True) if run.once else writer.trigger(processingTime=run.interval)
    return trigger.start()


def plan_job(session: SparkSession, pipeline: Pipeline) -> Job:
    """The query of a pipeline, with everything checked that can be checked before it starts."""
    # Imported when needed: each brings its own drivers.
    match pipeline:
        case SinkDatabase():
            from tidelog.spark.pipelines.sink_db import plan_sink_db

            return plan_sink_db(session, pipeline)
        case Transform():
            from tidelog.spark.pipelines.transform import plan_transform

            return plan_transform(session, pipeline)
        case Outbox():
            from tidelog.spark.pipelines.outbox import plan_outbox

            return plan_outbox(session, pipeline)
        case Mirror():
            from tidelog.spark.pipelines.mirror import plan_mirror

            return plan_mirror(session, pipeline)


def _session(run: Run, spark: Spark) -> SparkSession:
    from tidelog.spark.session import spark_session

    # Python workers inherit the environment of the JVM. What they print would get between the lines of the display.
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    return spark_session(
        f"tidelog {run.name}", master=spark.master or None, settings={**_SETTINGS, **dict(spark.config)}
    )


def _show(query: StreamingQuery, display: Display) -> None:
    last: Any = query.lastProgress
    if last is None:
        return
    known = display.totals.last
    if known is not None and last["batchId"] > known.batch + 1:
        # Several batches ended since we looked.
        for progress in query.recentProgress:
            display.show(progress)
    display.show(last)


def _last_batch(display: Display) -> int:
    return -1 if display.totals.last is None else display.totals.last.batch


@contextmanager
def _stop_signals() -> Iterator[StopRequest]:
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may decide about signals; whoever runs pipelines elsewhere stops them by other means.
        yield request
        return
    before = {number: signal.signal(number, request.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
