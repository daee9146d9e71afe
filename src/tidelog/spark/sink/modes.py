"""What the kinds of delivery have in common: a part in the tasks, a part in the driver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from tidelog.records.content_digest import ContentDigest
from tidelog.spark.sink.batch_identity import BatchIdentity
from tidelog.spark.sink.crash_points import crash_point
from tidelog.spark.sink.errors import PublishFailed
from tidelog.spark.sink.options import SinkOptions
from tidelog.spark.sink.plan import SinkPlan, TaskMessage, TaskPlace, WrittenRows
from tidelog.spark.sink.reports import SinkReport, leave_report
from tidelog.spark.versions.messages import WriterCommitMessage

if TYPE_CHECKING:
    import pyarrow as pa

M = TypeVar("M", bound=TaskMessage)

Messages = Sequence[WriterCommitMessage | None]


class SinkMode(ABC):
    """One kind of delivery. Holds no state: each call comes in another process."""

    @abstractmethod
    def run_task(self, plan: SinkPlan, place: TaskPlace, rows: Iterator[pa.RecordBatch]) -> TaskMessage:
        """In a worker."""

    @abstractmethod
    def commit(self, options: SinkOptions, messages: Messages, batch: int) -> None:
        """In the driver, after all tasks have succeeded."""

    @abstractmethod
    def abort(self, options: SinkOptions, messages: Messages, plan: SinkPlan | None) -> None:
        """In the driver, after a task or a commit has failed. So it says nothing about what is in the topics."""


def encode_rows(
    plan: SinkPlan, place: TaskPlace, rows: Iterator[pa.RecordBatch], emit: Callable[[str, int, int, bytes], None]
) -> WrittenRows:
    """For a task: all rows as record batches, which are emitted as they are complete."""
    # Only tasks need numpy and pyarrow, which take longer to load than a commit should.
    from tidelog.spark.sink.encode import TaskEncoder

    encoder = TaskEncoder(plan, emit, task=place.task)
    for some in rows:
        encoder.add(some)
        crash_point("in-write", place.batch)
    encoder.finish()
    return WrittenRows(place=place, digest=encoder.digest, volumes=encoder.volumes)


def discard(topic: str, partition: int, count: int, content: bytes) -> None:
    """Emits nothing: rows that are in the topics are only read again, to see whether they are the same."""


def all_tasks(kind: type[M], messages: Messages, batch: int) -> list[M]:
    """The messages of all tasks, in the order of the tasks. All of them have worked for the same query."""
    found = [message for message in messages if isinstance(message, kind)]
    if len(found) != len(messages) or not found:
        raise PublishFailed(f"only {len(found)} of {len(messages)} tasks have reported their result")
    query_id = found[0].written.place.query_id
    if {(task.written.place.query_id, task.written.place.batch) for task in found} != {(query_id, batch)}:
        raise PublishFailed(f"tasks of other micro-batches than {batch} of query {query_id} are among the results")
    return found


def identity_of(written: Sequence[WrittenRows]) -> BatchIdentity:
    """What the micro-batch of these tasks is."""
    first = written[0].place
    digest = ContentDigest.of_all(one.digest for one in written)
    # Tasks that look by themselves may see different things; then nothing is known.
    planned = first.planned if all(one.place.planned == first.planned for one in written) else None
    return BatchIdentity(
        batch=first.batch,
        rows=digest.rows,
        content=str(digest),
        reads=None if planned is None else planned.reads,
        run=first.run,
        is_job=first.is_job,
    )


def finish_batch(
    batch: int,
    tasks: Sequence[TaskMessage],
    *,
    skipped: bool = False,
    transaction_ms: float | None = None,
    commit_ms: float | None = None,
) -> None:
    """For the driver, once the micro-batch is in the topics: report it, from what its tasks say of themselves."""
    topics: dict[str, int] = {}
    size = 0
    for task in tasks:
        for topic, volume in task.written.volumes.items():
            topics[topic] = topics.get(topic, 0) + volume.rows
            size += volume.bytes
    report = SinkReport(
        batch=batch,
        rows=sum(task.written.digest.rows for task in tasks),
        bytes=size,
        topics=topics,
        skipped=skipped,
        transaction_ms=transaction_ms,
        commit_ms=commit_ms,
    )
    leave_report(tasks[0].written.place.query_id, report)
    crash_point("before-commit-log", batch)
