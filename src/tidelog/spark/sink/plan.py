"""What the driver fixes before tasks run, and what tasks hand back: values that travel between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.client.transactions.handover import OpenTransaction
from tidelog.records.content_digest import ContentDigest
from tidelog.spark.sink.checkpoint import PlannedBatch
from tidelog.spark.sink.columns import SinkColumns
from tidelog.spark.sink.options import SinkOptions
from tidelog.spark.sink.prepared.decision import PreparedPlan
from tidelog.spark.sink.staging import StagedFile, StagingFolder
from tidelog.spark.versions.messages import WriterCommitMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkPlan:
    """Given to every task. The numbers of partitions are those that all tasks of the micro-batch count with."""

    options: SinkOptions
    columns: SinkColumns
    partition_counts: Mapping[str, int]
    # Only where tasks hand their output to the driver.
    folder: StagingFolder | None
    # What the checkpoint said; None for a job, or where it is not known.
    planned: PlannedBatch | None = None
    # With atomicity=prepared.
    prepared: PreparedPlan | None = None


class Volume(NamedTuple):
    """What a task has encoded for one topic; bytes are those of the record batches."""

    rows: int
    bytes: int


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

    def __str__(self) -> str:
        return f"task {self.task} of micro-batch {self.batch}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows:
    """What every task tells of its rows, so that the driver can tell what the micro-batch is."""

    place: TaskPlace
    digest: ContentDigest
    # By topic.
    volumes: Mapping[str, Volume]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMessage(WriterCommitMessage):
    """What every task hands to the driver. With delivery=at_least_once it is all: the rows are stored already."""

    written: WrittenRows


class BatchEntry(NamedTuple):
    """One finished record batch in a task's output. A named tuple: a task may have thousands of them."""

    topic: str
    partition: int
    position: int
    size: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutput(TaskMessage):
    """What a task has encoded, in the order in which it is to be published; nothing of it has left for a broker."""

    entries: tuple[BatchEntry, ...]
    content: bytes | StagedFile
    folder: StagingFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTransaction(TaskMessage):
    """With atomicity=task: the rows are in a transaction of the task's own, which the driver ends.

    It is None if the transaction was committed before: then this is the second run of the micro-batch.
    """

    transaction: OpenTransaction | None
