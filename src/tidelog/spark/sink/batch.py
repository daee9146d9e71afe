"""Exactly once with atomicity=batch: tasks encode, and the driver publishes everything in one transaction.

Tasks touch no broker, so that it does not matter how often they run, and how rows are divided among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidelog.spark.sink.event_loop import run
from tidelog.spark.sink.modes import Messages, SinkMode, all_tasks, encode_rows, finish_batch
from tidelog.spark.sink.options import SinkOptions
from tidelog.spark.sink.plan import BatchEntry, SinkPlan, TaskOutput, TaskPlace
from tidelog.spark.sink.publish import Publication, publish
from tidelog.spark.sink.staging import StagingWriter, remove_folder, remove_others
from tidelog.spark.sink.states import BatchState

if TYPE_CHECKING:
    import pyarrow as pa


class BatchMode(SinkMode):
    def run_task(self, plan: SinkPlan, place: TaskPlace, rows: Iterator[pa.RecordBatch]) -> TaskOutput:
        name = f"{place.query_id}.{place.batch}.{place.task}.{place.attempt}"
        assert plan.folder is not None
        staged = StagingWriter(plan.folder, name, plan.options.inline_bytes)
        entries: list[BatchEntry] = []

        def emit(topic: str, partition: int, count: int, content: bytes) -> None:
            entries.append(BatchEntry(topic, partition, staged.append(content), len(content), count))

        try:
            written = encode_rows(plan, place, rows, emit)
            content = staged.finish()
        except BaseException:
            staged.discard()
            raise
        return TaskOutput(written=written, entries=tuple(entries), content=content, folder=plan.folder)

    def publication(
        self, options: SinkOptions, outputs: Sequence[TaskOutput], query_id: str, batch: int
    ) -> Publication:
        return Publication(options=options, name=options.query_name(query_id), batch=batch, outputs=outputs)

    def commit(self, options: SinkOptions, messages: Messages, batch: int) -> None:
        outputs = all_tasks(TaskOutput, messages, batch)
        query_id, folder = outputs[0].written.place.query_id, outputs[0].folder
        progress = run(publish(self.publication(options, outputs, query_id, batch)))
        remove_folder(folder.path)
        remove_others(folder, query_id)
        finish_batch(
            batch,
            outputs,
            skipped=progress.state is BatchState.SKIPPED,
            transaction_ms=progress.transaction_ms,
            commit_ms=progress.commit_ms,
        )

    def abort(self, options: SinkOptions, messages: Messages, plan: SinkPlan | None) -> None:
        folders = {message.folder for message in messages if isinstance(message, TaskOutput)}
        if plan is not None and plan.folder is not None:
            folders.add(plan.folder)
        for folder in folders:
            remove_folder(folder.path)
