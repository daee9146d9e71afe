"""What the kinds of delivery have in common: a part in the tasks, a part in the driver."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import uvloop

from tidelog.records.content_digest import ContentDigest
from tidelog.spark.sink.batch_identity import BatchIdentity
from tidelog.spark.sink.checkpoint import Overtaken, PlannedBatch, stop_if_overtaken
from tidelog.spark.sink.errors import PublishFailed, PublishFenced
from tidelog.spark.sink.options import SinkOptions
from tidelog.spark.sink.plan import SinkPlan, Volume, WrittenRows
from tidelog.spark.versions.messages import WriterCommitMessage

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
M = TypeVar("M", bound=WriterCommitMessage)

Messages = Sequence[WriterCommitMessage | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlace:
    """Where a task runs: which micro-batch of which query, and which part of it.

    `run` is the start of the query; `planned` is what its checkpoint said. A job of `df.write` has neither.
    """

    query_id: str
    batch: int
    task: int
    attempt: int
    run: str = ""
    planned: PlannedBatch | None = None
    is_job: bool = False

    def written(self, digest: ContentDigest, volumes: Mapping[str, Volume]) -> WrittenRows:
        return WrittenRows(
            query_id=self.query_id,
            batch=self.batch,
            digest=digest,
            planned=self.planned,
            run=self.run,
            is_job=self.is_job,
            volumes=volumes,
        )


class SinkMode(ABC):
    """One kind of delivery. Holds no state: each call comes in another process."""

    @abstractmethod
    def run_task(self, plan: SinkPlan, place: TaskPlace, rows: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In a worker."""

    @abstractmethod
    def commit(self, options: SinkOptions, messages: Messages, batch: int) -> None:
        """In the driver, after all tasks have succeeded."""

    @abstractmethod
    def abort(self, options: SinkOptions, messages: Messages, plan: SinkPlan | None) -> None:
        """In the driver, after a task or a commit has failed. So it says nothing about what is in the topics."""


def all_of(kind: type[M], messages: Messages) -> list[M]:
    """The messages of all tasks, in the order of the tasks."""
    found = [message for message in messages if isinstance(message, kind)]
    if len(found) != len(messages) or not found:
        raise PublishFailed(f"only {len(found)} of {len(messages)} tasks have reported their result")
    return found


def check_places(written: Sequence[WrittenRows], batch: int) -> str:
    """The query that all tasks have worked for."""
    query_id = written[0].query_id
    if {(one.query_id, one.batch) for one in written} != {(query_id, batch)}:
        raise PublishFailed(f"tasks of other micro-batches than {batch} of query {query_id} are among the results")
    return query_id


def identity_of(written: Sequence[WrittenRows]) -> BatchIdentity:
    """What the micro-batch of these tasks is, which `check_places` has looked at."""
    first = written[0]
    digest = ContentDigest.of_all(one.digest for one in written)
    # Tasks that look by themselves may see different things; then nothing is known.
    planned = first.planned if all(one.planned == first.planned for one in written) else None
    return BatchIdentity(
        batch=first.batch,
        rows=digest.rows,
        content=str(digest),
        reads=None if planned is None else planned.reads,
        run=first.run,
        is_job=first.is_job,
    )


def refuse_if_overtaken(written: Sequence[WrittenRows]) -> None:
    """Raise PublishFenced if another driver goes on with this checkpoint; before that one is fenced."""
    try:
        stop_if_overtaken(written[0].planned)
    except Overtaken as problem:
        raise PublishFenced(str(problem)) from None


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)
