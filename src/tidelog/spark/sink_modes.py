"""What the kinds of delivery have in common: a part in the tasks, a part in the driver."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import uvloop

from tidelog.spark.sink_errors import PublishFailed
from tidelog.spark.sink_options import SinkOptions
from tidelog.spark.sink_plan import SinkPlan
from tidelog.spark.versions.messages import WriterCommitMessage

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
M = TypeVar("M", bound=WriterCommitMessage)

Messages = Sequence[WriterCommitMessage | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlace:
    """Where a task runs: which micro-batch of which query, and which part of it."""

    query_id: str
    batch: int
    task: int
    attempt: int


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
        raise PublishFailed(f"only {len(found)} of {len(messages)} tasks have said what they have done")
    return found


def check_places(places: Sequence[tuple[str, int]], batch: int) -> str:
    """The query that all tasks have worked for."""
    query_id = places[0][0]
    if set(places) != {(query_id, batch)}:
        raise PublishFailed(f"tasks of other micro-batches than {batch} of query {query_id} are among these")
    return query_id


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)
