"""The data source that a query writes to: `df.writeStream.format("tidelog-database")`.

Register it first: `spark.dataSource.register(DatabaseSink)`. The tables have to be there (`Database.prepare`); the
ready pipeline `sink-db` does both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.types import StructType

from tidelog.records.content_digest import ContentDigest
from tidelog.spark.databases.options import DatabaseSinkOptions, parse_sink_options, table_columns
from tidelog.spark.databases.progress import BatchRefused, PipelineBatch
from tidelog.spark.databases.store import StagedRows, open_database
from tidelog.spark.sink.batch_identity import BatchIdentity
from tidelog.spark.sink.checkpoint import PlannedBatch, planned_batch, planned_in, stop_if_overtaken
from tidelog.spark.versions.data_sources import DataSource, DataSourceStreamArrowWriter
from tidelog.spark.versions.messages import WriterCommitMessage
from tidelog.spark.workers.errors import spoken
from tidelog.spark.workers.planning import planned

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "tidelog-database"


@dataclass
class StagedMessage(WriterCommitMessage):
    """What a task tells the driver."""

    query_id: str
    staged: StagedRows
    planned: PlannedBatch | None = None
    run: str = ""


@spoken
class DatabaseSink(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamWriter(self, schema: StructType, overwrite: bool) -> DatabaseStreamWriter:
        del overwrite
        return planned(DatabaseStreamWriter(parse_sink_options(self.options), tuple(schema.fieldNames())))


@spoken
class DatabaseStreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: DatabaseSinkOptions, names: tuple[str, ...]) -> None:
        table_columns(names, options.keys)
        self._options = options
        self._names = names
        self._planned: PlannedBatch | None = None

    def plan(self) -> None:
        """In the driver, when Spark has just written what the micro-batch reads."""
        self._planned = planned_batch(self._options.checkpoint_location)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        query_id = context.getLocalProperty("sql.streaming.queryId")
        batch = context.getLocalProperty("streaming.sql.batchId")
        if query_id is None or batch is None:
            raise RuntimeError("Spark did not say which query and batch this task belongs to")
        planned = planned_in(self._planned, query_id, int(batch), context.getLocalProperty)
        staged = open_database(self._options).stage(iterator, self._names, int(batch))
        run = context.getLocalProperty("spark.jobGroup.id") or ""
        return StagedMessage(query_id=query_id, staged=staged, planned=planned, run=run)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        tasks = [message for message in messages if isinstance(message, StagedMessage)]
        if len(tasks) != len(messages):
            raise RuntimeError(f"{len(messages) - len(tasks)} of {len(messages)} tasks did not report what they wrote")
        if not tasks:
            return
        planned = tasks[0].planned if all(task.planned == tasks[0].planned for task in tasks) else None
        digest = ContentDigest.of_all(task.staged.digest for task in tasks)
        coming = PipelineBatch(
            pipeline=self._options.pipeline,
            query_id=tasks[0].query_id,
            identity=BatchIdentity(
                batch=batchId,
                rows=digest.rows,
                content=str(digest),
                reads=None if planned is None else planned.reads,
                run=tasks[0].run,
            ),
            takes_over=self._options.takes_over,
            starting=self._options.starting,
        )
        stop_if_overtaken(planned)
        try:
            open_database(self._options).apply([task.staged for task in tasks], self._names, coming)
        except BatchRefused:
            # If another driver has gone on meanwhile, that is the reason.
            stop_if_overtaken(planned)
            raise

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Also called after a commit that failed, perhaps only seemingly: the rows stay as they are."""
        del batchId
        tasks = [message for message in messages if isinstance(message, StagedMessage)]
        open_database(self._options).discard([task.staged for task in tasks])
