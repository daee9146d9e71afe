"""The sink: `df.writeStream.format("tidelog")` and `df.write.format("tidelog")`.

Spark makes a writer in the driver, copies it to the tasks, whose `write` is called, and calls `commit` or `abort` on
another copy in the driver. What tasks do is in `tidelog.spark.encode`, what the driver does in `tidelog.spark.publish`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import uvloop
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    DataSourceWriter,
    WriterCommitMessage,
)

from tidelog.spark.crash_points import crash_point
from tidelog.spark.encode import TaskEncoder
from tidelog.spark.publish import Publication, publish
from tidelog.spark.sink_columns import SinkColumns, sink_columns
from tidelog.spark.sink_errors import InvalidSinkOptions, PublishFailed
from tidelog.spark.sink_options import SinkOptions, sink_options
from tidelog.spark.sink_plan import BatchEntry, SinkPlan, TaskOutput
from tidelog.spark.sink_topics import partition_counts
from tidelog.spark.staging import StagingFolder, StagingWriter, plan_folder, remove_folder, remove_others

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"
# A job of `df.write` is one micro-batch.
_ONLY_BATCH = 0


def batch_writer(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> DataSourceWriter:
    """For `df.write`."""
    if overwrite:
        raise InvalidSinkOptions("a topic cannot be overwritten: use mode('append')")
    chosen = sink_options(options)
    return JobWriter(chosen, sink_columns(schema, chosen))


def stream_writer(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> DataSourceStreamWriter:
    """For `df.writeStream`. Output mode `complete` appends the whole result every time, as Spark's Kafka sink does."""
    chosen = sink_options(options)
    if chosen.job_id is not None:
        raise InvalidSinkOptions("jobId is for df.write; a streaming query has its id in the checkpoint")
    return MicroBatchWriter(chosen, sink_columns(schema, chosen))


class _Writer:
    """What writers of both kinds do."""

    def __init__(self, options: SinkOptions, columns: SinkColumns) -> None:
        self._options = options
        self._columns = columns
        self._plan: SinkPlan | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Spark copies a writer to make a plan for tasks. Only then the topics are looked at: `commit` and `abort` get a
        # writer that is made anew, and must not depend on a broker that cannot be asked.
        if self._plan is None:
            self._plan = _plan(self._options, self._columns)
        return self.__dict__

    def _encode(self, iterator: Iterator[pa.RecordBatch], query_id: str, batch: int) -> TaskOutput:
        plan = self._plan
        context = TaskContext.get()
        assert plan is not None
        assert context is not None
        name = f"{query_id}.{batch}.{context.partitionId()}.{context.taskAttemptId()}"
        staged = StagingWriter(plan.folder, name, plan.options.inline_bytes)
        entries: list[BatchEntry] = []

        def emit(topic: str, partition: int, rows: int, content: bytes) -> None:
            entries.append(BatchEntry(topic, partition, staged.append(content), len(content), rows))

        encoder = TaskEncoder(plan, emit, task=context.partitionId())
        try:
            for rows in iterator:
                encoder.add(rows)
                crash_point("in-write", batch)
            encoder.finish()
            content = staged.finish()
        except BaseException:
            staged.discard()
            raise
        return TaskOutput(
            query_id=query_id,
            batch=batch,
            rows=encoder.digest.rows,
            digest=str(encoder.digest),
            entries=tuple(entries),
            content=content,
            folder=plan.folder,
        )

    def _publish(self, messages: Sequence[WriterCommitMessage | None], batch: int) -> None:
        outputs = [message for message in messages if isinstance(message, TaskOutput)]
        if len(outputs) != len(messages) or not outputs:
            raise PublishFailed(f"only {len(outputs)} of {len(messages)} tasks have said what they have encoded")
        first = outputs[0]
        if {(output.query_id, output.batch) for output in outputs} != {(first.query_id, batch)}:
            raise PublishFailed(f"tasks of other micro-batches than {batch} of query {first.query_id} are among these")
        name = f"{self._options.transactional_id_prefix}-{first.query_id}"
        _run(publish(Publication(options=self._options, name=name, batch=batch, outputs=outputs)))
        remove_folder(first.folder)
        remove_others(first.folder, first.query_id)
        crash_point("before-commit-log", batch)

    def _clean_up(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Says nothing about what is in the topics: this is called after a failed commit as well."""
        folders: set[StagingFolder] = {message.folder for message in messages if isinstance(message, TaskOutput)}
        if self._plan is not None:
            folders.add(self._plan.folder)
        for folder in folders:
            remove_folder(folder)


class MicroBatchWriter(_Writer, DataSourceStreamArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskOutput:
        context = TaskContext.get()
        assert context is not None
        query_id, batch = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
        if query_id is None or batch is None:
            raise PublishFailed(f"this Spark does not tell its tasks {_QUERY_ID} and {_BATCH_ID}")
        return self._encode(iterator, query_id, int(batch))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._publish(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._clean_up(messages)


class JobWriter(_Writer, DataSourceArrowWriter):
    """Without a jobId every job is a new one; with one, a job that was committed is not committed again."""

    def __init__(self, options: SinkOptions, columns: SinkColumns) -> None:
        super().__init__(options, columns)
        self._job = f"job-{options.job_id or uuid.uuid4()}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskOutput:
        return self._encode(iterator, self._job, _ONLY_BATCH)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._publish(messages, _ONLY_BATCH)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._clean_up(messages)


def _plan(options: SinkOptions, columns: SinkColumns) -> SinkPlan:
    return SinkPlan(
        options=options,
        columns=columns,
        partition_counts=_run(partition_counts(options)),
        folder=plan_folder(options),
    )


def _run(coroutine: Any) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)
