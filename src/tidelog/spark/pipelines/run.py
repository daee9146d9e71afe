"""Running a pipeline: start Spark, start the query, show its progress, stop it well, and say why it failed.

The first Ctrl-C (or SIGTERM) lets the current batch finish, within a bound; the second one abandons it. Both are safe:
a batch that was abandoned is either at the target as a whole or not at all, and the next start finds out which.

A query that fails because a broker or a database is away is started again in the same session, which is the same as
starting the pipeline again: `retrying` decides, and `health` tells others.
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

from tidelog.network.system import SystemRandomness
from tidelog.spark.pipelines.failure import PipelineFailed, understand
from tidelog.spark.pipelines.health import PipelineHealth
from tidelog.spark.pipelines.progress import Display
from tidelog.spark.pipelines.retrying import GiveUp, Retries, TryAgain
from tidelog.spark.pipelines.service import serving
from tidelog.spark.pipelines.settings import Mirror, Outbox, Pipeline, Run, SinkDatabase, Spark, Transform
from tidelog.spark.pipelines.spark_version import check_spark
from tidelog.spark.pipelines.status_file import noting
from tidelog.spark.session.query_progress import with_metrics
from tidelog.spark.sink.reports import read_reports

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

logger = logging.getLogger(__name__)

FINISH_BATCH_SECONDS = 30.0
POLL_SECONDS = 0.2
# What Spark says of a query whose trigger has ended well: "Waiting for data to arrive", "Waiting for next trigger".
WAITING = "Waiting for"
SPARK_IS_GONE = (
    "Spark has ended: its JVM was killed (is the machine short of memory?), or the master has removed the job. Start "
    "the pipeline again: it continues where it stopped"
)

_SETTINGS: Mapping[str, str] = {
    # What matters is reported by the pipeline itself, in one line instead of a stack trace.
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
    health = PipelineHealth(pipeline.run.name, stalled_after=pipeline.service.stalled_after)
    with display, serving(pipeline.service, health) as address, noting(pipeline, health, address):
        if address is not None:
            display.tell(f"health at {address}/healthz, metrics at {address}/metrics")
        session = _session(pipeline.run, pipeline.spark)
        try:
            with _stop_signals() as stop:
                keep_running(
                    lambda: watch(_planned(session, pipeline, stop), display, stop, health),
                    Retries(pipeline.run.retry_for, SystemRandomness()),
                    display=display,
                    health=health,
                    stop=stop,
                    is_alive=lambda: _is_alive(session),
                )
        finally:
            # The JVM may be gone, which is then not what is wrong.
            with suppress(Exception):
                session.stop()


def keep_running(
    attempt: Callable[[], None],
    retries: Retries,
    *,
    display: Display,
    health: PipelineHealth,
    stop: StopRequest,
    is_alive: Callable[[], bool] = lambda: True,
) -> None:
    """Start the query again, from its checkpoint, as long as what failed is only away."""
    while not stop.count:
        before = health.signs_of_work
        health.query_starts()
        try:
            attempt()
            return
        except StopAsked:
            break
        except Exception as error:
            if health.signs_of_work > before:
                retries.progressed()
            pause = _pause_after(error, retries, display=display, health=health, is_alive=is_alive)
        until = time.monotonic() + pause
        # In small steps: a signal must not have to wait.
        while not stop.count and time.monotonic() < until:
            time.sleep(min(POLL_SECONDS, max(0.0, until - time.monotonic())))
    health.stops()
    display.say(_ended(display))


def _pause_after(
    error: Exception, retries: Retries, *, display: Display, health: PipelineHealth, is_alive: Callable[[], bool]
) -> float:
    """How long to wait before the next try. Raises where there is none."""
    failure = understand(error)
    if not is_alive():
        health.fails(SPARK_IS_GONE)
        raise PipelineFailed(SPARK_IS_GONE) from error
    if not failure.again:
        health.fails(failure.reason)
        raise failure.exception from error
    match retries.failed(time.monotonic()):
        case GiveUp(tried=0):
            health.fails(failure.reason)
            raise failure.exception from error
        case GiveUp(tried=tried, seconds=seconds):
            health.fails(failure.reason)
            raise PipelineFailed(
                f"{failure.reason}. It was retried {tried} times in {seconds:.0f} s, which is what retry_for allows "
                "without progress. Start the pipeline when what it needs is available: it continues where it stopped"
            ) from error
        case TryAgain(pause_seconds=pause, number=number):
            display.tell(f"{failure.reason} · try {number} follows in {pause:.1f} s ({retries.bound_in_words})")
            health.retries(failure.reason, pause)
            return pause


def watch(job: Job, display: Display, stop: StopRequest, health: PipelineHealth | None = None) -> None:
    """Follow a query to its end."""
    health = health or PipelineHealth("")
    query = job.start()
    health.query_runs(str(query.id))
    beside_at = time.monotonic() + job.beside_every_seconds
    stop_at: float | None = None
    stopping_batch = -1
    while not query.awaitTermination(POLL_SECONDS):  # type: ignore[arg-type]
        _show(query, display, health)
        if job.beside is not None and time.monotonic() >= beside_at:
            job.beside()
            beside_at = time.monotonic() + job.beside_every_seconds
        if stop.count and stop_at is None:
            # While what the batch needs is away, it would not finish.
            stop_at = time.monotonic() + (0.0 if health.is_retrying else FINISH_BATCH_SECONDS)
            stopping_batch = _last_batch(display)
            health.stops()
            display.say("finishing the batch; press Ctrl-C again to leave it to the next start")
        if stop_at is not None and (
            stop.count > 1
            or time.monotonic() >= stop_at
            or _last_batch(display) > stopping_batch
            or not query.status["isTriggerActive"]
        ):
            query.stop()
            break
    _show(query, display, health)
    if job.beside is not None and stop.count < 2:
        job.beside()
    health.stops()
    display.say(_ended(display))


def _ended(display: Display) -> str:
    return f"ended; {display.totals.rows:,} rows in {display.totals.batches} batches"


class StopAsked(BaseException):
    """Somebody asked to stop while nothing was running that would have to finish."""


class StopRequest:
    """How often somebody asked to stop. While `at_once` is set, asking interrupts what is being done."""

    def __init__(self) -> None:
        self.count = 0
        self.at_once = False

    def ask(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.count += 1
        if self.at_once:
            raise StopAsked


def _planned(session: SparkSession, pipeline: Pipeline, stop: StopRequest) -> Job:
    """Planning asks brokers and databases, which may be away and silent for a minute."""
    stop.at_once = True
    try:
        return plan_job(session, pipeline)
    finally:
        stop.at_once = False


def start_query(
    frame: DataFrame, format_name: str, run: Run, options: Mapping[str, str], output_mode: str = "append"
) -> StreamingQuery:
    return _start(frame.writeStream.format(format_name).outputMode(output_mode).options(**options), run)


def start_batches(
    frame: DataFrame, each: Callable[[DataFrame, int], None], run: Run, output_mode: str
) -> StreamingQuery:
    """With a function that writes each micro-batch: Spark knows output mode `update` for no sink in Python."""
    return _start(frame.writeStream.foreachBatch(each).outputMode(output_mode), run)


def _start(unnamed: DataStreamWriter, run: Run) -> StreamingQuery:
    writer = unnamed.queryName(run.name).option("checkpointLocation", run.checkpoint_location)
    trigger = writer.trigger(availableNow=True) if run.once else writer.trigger(processingTime=run.interval)
    return trigger.start()


def plan_job(session: SparkSession, pipeline: Pipeline) -> Job:
    """The query of a pipeline, with everything checked that can be checked before it starts."""
    check_spark(once=pipeline.run.once)
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
    from tidelog.spark.session.session import spark_session

    # Python workers inherit the environment of the JVM. What they print would get between the lines of the display.
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    return spark_session(
        f"tidelog {run.name}", master=spark.master or None, settings={**_SETTINGS, **dict(spark.config)}
    )


def _show(query: StreamingQuery, display: Display, health: PipelineHealth) -> None:
    was_away = health.is_retrying
    status: Any = query.status
    if not status["isTriggerActive"] and str(status["message"]).startswith(WAITING):
        health.waits_for_records()
    last: Any = query.lastProgress
    news: list[Any] = [] if last is None else [last]
    known = display.totals.last
    if last is not None and known is not None and last["batchId"] > known.batch + 1:
        # Several batches ended since we looked.
        news = [*query.recentProgress, last]
    reports = read_reports(str(query.id)) if news else {}
    for progress in news:
        report = display.show(with_metrics(progress, reports))
        if report is not None:
            health.batch_done(report)
    if was_away and not health.is_retrying:
        display.tell("it works again")


def _is_alive(session: SparkSession) -> bool:
    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except Exception:
        # Whatever a JVM that is gone makes of a call.
        return False


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
