"""Exactly once through `foreachBatch`: the entrance into the sink for output mode `update`, and for Spark 3.5.

    counts.writeStream.outputMode("update").foreachBatch(
        exactly_once_batch(topic="counts", **{"kafka.bootstrap.servers": "localhost:9092"})
    ).option("checkpointLocation", "/checkpoints/counts").start()

Only the way in differs from `df.writeStream.format("tidelog")`: here Spark calls a function with each micro-batch. It
lets tasks do what they do for the data source, collects what they hand to the driver, and commits that as the data
source does. Which query it is, and where its checkpoint is, `tidelog.spark.sink.running_query` finds out.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelog.spark.sink.checkpoint import planned_in
from tidelog.spark.sink.columns import sink_columns
from tidelog.spark.sink.delivery import delivery_mode, plan_micro_batch
from tidelog.spark.sink.errors import InvalidSinkOptions, PublishFailed
from tidelog.spark.sink.modes import SinkMode
from tidelog.spark.sink.options import DeliveryGuarantee, SinkOptions, sink_options
from tidelog.spark.sink.plan import SinkPlan, TaskPlace
from tidelog.spark.sink.running_query import running_query
from tidelog.spark.versions.messages import WriterCommitMessage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_TASK = "task"
_MESSAGE = "message"


def exactly_once_batch(options: Mapping[str, str] | None = None, /, **named: str) -> ExactlyOnceBatch:
    """A function for `foreachBatch` that publishes each micro-batch exactly once.

    The options are those of `format("tidelog")`, as a mapping, by name, or both. checkpointLocation is needed only with
    Spark Connect, and is then that of the query.
    """
    chosen = sink_options({**(options or {}), **named})
    if chosen.job_id is not None:
        raise InvalidSinkOptions("jobId is for df.write; a streaming query has its id in the checkpoint")
    if chosen.delivery is not DeliveryGuarantee.EXACTLY_ONCE:
        raise InvalidSinkOptions(
            f"delivery={chosen.delivery} contradicts exactly_once_batch. Leave it out, or use format('tidelog')"
        )
    return ExactlyOnceBatch(chosen)


@dataclass(frozen=True, eq=False)
class ExactlyOnceBatch:
    """What `foreachBatch` takes. Spark Connect pickles it and calls it in a process beside the server."""

    options: SinkOptions

    def __call__(self, rows: DataFrame, batch: int) -> None:
        query = running_query(rows.sparkSession, self.options.checkpoint_location)
        options = replace(self.options, checkpoint_location=query.checkpoint)
        mode = delivery_mode(options)
        plan = plan_micro_batch(options, sink_columns(rows.schema, options))
        messages: list[WriterCommitMessage] = []
        try:
            # Where the checkpoint is, is known: no property of a job has to say it.
            planned = planned_in(plan.planned, query.query_id, batch, lambda _: None)
            place = TaskPlace(query_id=query.query_id, batch=batch, task=0, attempt=0, run=query.run, planned=planned)
            messages = _run_tasks(rows, mode, plan, place)
            mode.commit(options, messages, batch)
        except BaseException:
            mode.abort(options, messages, plan)
            raise


def _run_tasks(rows: DataFrame, mode: SinkMode, plan: SinkPlan, driver: TaskPlace) -> list[WriterCommitMessage]:
    """What the tasks hand to the driver, in their order. One action: a second one would run them again."""

    def run_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        place = replace(driver, task=context.partitionId(), attempt=context.taskAttemptId())
        message = pickle.dumps(mode.run_task(plan, place, batches))
        columns = {_TASK: pa.array([place.task], pa.int32()), _MESSAGE: pa.array([message], pa.binary())}
        yield pa.RecordBatch.from_pydict(columns)

    found = rows.mapInArrow(run_task, f"{_TASK} int, {_MESSAGE} binary").collect()
    messages = {row[_TASK]: pickle.loads(row[_MESSAGE]) for row in found}
    if len(messages) != len(found):
        raise PublishFailed(f"micro-batch {driver.batch} has {len(found)} results of {len(messages)} tasks")
    if not messages:
        # A micro-batch without partitions, such as one that only cleans up state. It leaves its note all the same.
        return [mode.run_task(plan, driver, iter(()))]
    return [messages[task] for task in sorted(messages)]
