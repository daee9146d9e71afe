"""The sink: `df.writeStream.format("tidelog")` and `df.write.format("tidelog")`.

For each micro-batch Spark creates a writer in one process of the driver, which plans, and copies it to the tasks, whose
`write` is called; it calls `commit` or `abort` on another writer, in another process of the driver
(`tidelog.spark.workers.planning`). What these do depends on the kind of delivery (`tidelog.spark.sink.delivery`). The
other entrance into the same sink is `tidelog.spark.sink.foreach_batch`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark import TaskContext

from tidelog.spark.sink.checkpoint import planned_in
from tidelog.spark.sink.columns import SinkColumns, sink_columns
from tidelog.spark.sink.delivery import delivery_mode, plan_micro_batch
from tidelog.spark.sink.errors import InvalidSinkOptions, PublishFailed
from tidelog.spark.sink.options import Atomicity, SinkOptions, sink_options
from tidelog.spark.sink.plan import SinkPlan, TaskPlace
from tidelog.spark.sink.running_query import BATCH_ID, QUERY_ID, RUN_ID
from tidelog.spark.versions.data_sources import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from tidelog.spark.versions.messages import WriterCommitMessage
from tidelog.spark.workers.errors import spoken
from tidelog.spark.workers.planning import PLANNER, planned

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

# A job of `df.write` is one micro-batch.
_ONLY_BATCH = 0


def batch_writer(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> DataSourceWriter:
    """For `df.write`."""
    if overwrite:
        raise InvalidSinkOptions("a topic cannot be overwritten: use mode('append')")
    chosen = sink_options(options)
    if chosen.atomicity is Atomicity.PREPARED and chosen.job_id is None:
        raise InvalidSinkOptions(
            "atomicity=prepared needs the option jobId: prepared transactions have no timeout, and if the driver dies, "
            "they are found again and ended when a job with the same jobId is started"
        )
    return planned(JobWriter(chosen, sink_columns(schema, chosen)))


def stream_writer(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> DataSourceStreamWriter:
    """For `df.writeStream`. Output mode `complete` appends the whole result every time, as Spark's Kafka sink does."""
    chosen = sink_options(options)
    if chosen.job_id is not None:
        raise InvalidSinkOptions("jobId is for df.write; a streaming query has its id in the checkpoint")
    return planned(MicroBatchWriter(chosen, sink_columns(schema, chosen)))


@spoken
class _SinkWriter:
    """What writers of both kinds do."""

    def __init__(self, options: SinkOptions, columns: SinkColumns) -> None:
        self._options = options
        self._columns = columns
        self._mode = delivery_mode(options)
        self._plan: SinkPlan | None = None
        # The name of a job of `df.write`.
        self._job: str | None = None

    def plan(self) -> None:
        """In the driver, before Spark copies the writer to the tasks."""
        self._plan = plan_micro_batch(self._options, self._columns, job=self._job)

    def _planned(self) -> SinkPlan:
        if self._plan is None:
            raise PublishFailed(f"this Spark does not plan writes in {PLANNER}, so its tasks have no plan")
        return self._plan


@spoken
class MicroBatchWriter(_SinkWriter, DataSourceStreamArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        query_id, batch = context.getLocalProperty(QUERY_ID), context.getLocalProperty(BATCH_ID)
        if query_id is None or batch is None:
            raise PublishFailed(f"this Spark does not tell its tasks {QUERY_ID} and {BATCH_ID}")
        plan, number = self._planned(), int(batch)
        place = TaskPlace(
            query_id=query_id,
            batch=number,
            task=context.partitionId(),
            attempt=context.taskAttemptId(),
            run=context.getLocalProperty(RUN_ID) or "",
            planned=planned_in(plan.planned, query_id, number, context.getLocalProperty),
        )
        return self._mode.run_task(plan, place, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._mode.commit(self._options, messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._mode.abort(self._options, messages, self._plan)


@spoken
class JobWriter(_SinkWriter, DataSourceArrowWriter):
    """Without a jobId every job is a new one; with one, a job that was committed is not committed again."""

    def __init__(self, options: SinkOptions, columns: SinkColumns) -> None:
        super().__init__(options, columns)
        self._job: str = f"job-{options.job_id or uuid.uuid4()}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        place = TaskPlace(
            query_id=self._job,
            batch=_ONLY_BATCH,
            task=context.partitionId(),
            attempt=context.taskAttemptId(),
            is_job=True,
        )
        return self._mode.run_task(self._planned(), place, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._mode.commit(self._options, messages, _ONLY_BATCH)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._mode.abort(self._options, messages, self._plan)
