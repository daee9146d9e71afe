"""Exactly once with atomicity=batch: tasks encode, and the driver publishes everything in one transaction.

Tasks touch no broker, so that it does not matter how often they run, and how rows are divided among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidelog.spark.sink.crash_points import crash_point
from tidelog.spark.sink.modes import Messages, SinkMode, TaskPlace, all_of, check_places, run
from tidelog.spark.sink.options import SinkOptions
from tidelog.spark.sink.plan import BatchEntry, SinkPlan, TaskOutput
from tidelog.spark.sink.publish import Publication, publish
from tidelog.spark.sink.reports import leave_report, report_of
from tidelog.spark.sink.staging import StagingWriter, remove_folder, remove_others
from tidelog.spark.sink.states import BatchState

if TYPE_CHECKING:
    import pyarrow as pa


class BatchMode(SinkMode):
    def run_task(self, plan: SinkPlan, place: TaskPlace, rows: Iterator[pa.RecordBatch]) -> TaskOutput:
        # Only tasks need numpy and pyarrow, which take longer to load than a commit should.
        from tidelog.spark.sink.encode import TaskEncoder

        name = f"{place.query_id}.{place.batch}.{place.task}.{place.attempt}"
        assert plan.folder is not None
        staged = StagingWriter(plan.folder, name, plan.options.inline_bytes)
        entries: list[BatchEntry] = []

        def emit(topic: str, partition: int, count: int, content: bytes) -> None:
            entries.append(BatchEntry(topic, partition, staged.append(content), len(content), count))

        encoder = TaskEncoder(plan, emit, task=place.task)
        try:
            for some in rows:
                encoder.add(some)
                crash_point("in-write", place.batch)
            encoder.finish()
            content = staged.finish()
        except BaseException:
            staged.discard()
            raise
        return TaskOutput(
            written=place.written(encoder.digest, encoder.volumes),
            entries=tuple(entries),
            content=content,
            folder=plan.folder,
        )

    def publication(
        self, options: SinkOptions, outputs: Sequence[TaskOutput], query_id: str, batch: int
    ) -> Publication:
        name = f"{options.transactional_id_prefix}-{query_id}"
        return Publication(options=options, name=name, batch=batch, outputs=outputs)

    def commit(self, options: SinkOptions, messages: Messages, batch: int) -> None:
        outputs = all_of(TaskOutput, messages)
        query_id = check_places([output.written for output in outputs], batch)
        progress = run(publish(self.publication(options, outputs, query_id, batch)))
        report = report_of(
            batch,
            [output.written for output in outputs],
            skipped=progress.state is BatchState.SKIPPED,
            transaction_ms=progress.transaction_ms,
            commit_ms=progress.commit_ms,
        )
        leave_report(query_id, report)
        folder = outputs[0].folder
        remove_folder(folder)
        remove_others(folder, query_id)
        crash_point("before-commit-log", batch)

    def abort(self, options: SinkOptions, messages: Messages, plan: SinkPlan | None) -> None:
        folders = {message.folder for message in messages if isinstance(message, TaskOutput)}
        if plan is not None and plan.folder is not None:
            folders.add(plan.folder)
        for folder in folders:
            remove_folder(folder)
