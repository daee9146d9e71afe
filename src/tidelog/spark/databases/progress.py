"""May this micro-batch be written? The decision, from what the database remembers; no database is touched here.

The database remembers for every pipeline which query wrote last, which of its batches, and what that batch was
(`tidelog.spark.sink.batch_identity`). All of it is read and changed in the transaction that writes the rows. A batch is
taken for written only if it is the same one, and written only if it is the next one; everything else is refused. The
way out is always the same: a new checkpoint, which goes on from the offsets that the database has. Every order of
crashes, restores and second drivers is gone through in `tests/support/spark_models/database_model.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from tidelog.spark.sink.batch_identity import BatchIdentity, Reads


class BatchRefused(Exception):
    """The batch must not be written. The message says why and what to do."""


class ProgressVerdict(Enum):
    APPLY = "apply"
    ALREADY_APPLIED = "already applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The last batch that was written, and the query (it survives restarts, a new checkpoint has a new one).

    `content` is None where an earlier version has written it, which did not note what a batch is. `starting` is where
    the query began, if that was decided by the database: Spark asks again if it has to repeat the first batch.
    """

    query_id: str
    batch: int
    rows: int = 0
    content: str | None = None
    reads: Reads | None = None
    run: str = ""
    starting: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineBatch:
    """A batch that is to be written for a pipeline.

    `takes_over` is the query that this one continues: the last writer at the time when this query was started, and
    `starting` where it has begun then.
    """

    pipeline: str
    query_id: str
    identity: BatchIdentity
    takes_over: str | None = None
    starting: str | None = None

    @property
    def batch(self) -> int:
        return self.identity.batch


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The first and the last offset of one partition among the rows of a task or of a batch."""

    topic: str
    partition: int
    first: int
    last: int


def decide(stored: Progress | None, coming: PipelineBatch) -> ProgressVerdict:
    """Raises BatchRefused where writing would duplicate or lose rows, or where nobody can know."""
    pipeline, batch = coming.pipeline, coming.batch
    if stored is None:
        if batch == 0:
            return ProgressVerdict.APPLY
        raise BatchRefused(
            f"pipeline {pipeline!r} is at batch {batch}, but the database knows nothing of earlier batches: the table "
            "tidelog_progress was emptied, or this is another database. Point the pipeline at the right database; or "
            "start with a new checkpoint, and a new name if the table should be filled from the beginning"
        )
    if stored.query_id != coming.query_id:
        # A query that takes over starts where the database says, which only a new checkpoint does: its batch is 0.
        if stored.query_id == coming.takes_over and batch == 0:
            return ProgressVerdict.APPLY
        raise BatchRefused(
            f"pipeline {pipeline!r} is written by another query now ({stored.query_id}, at batch {stored.batch}); this "
            f"one is {coming.query_id} at batch {batch}. Run a pipeline only once at a time. If the other one has "
            "ended, delete the checkpoint of this one: it then continues from the offsets in the database"
        )
    if batch == stored.batch:
        return _decide_same_number(stored, coming)
    if batch < stored.batch:
        raise BatchRefused(
            f"the checkpoint of pipeline {pipeline!r} was rolled back: it is at batch {batch}, but the database holds "
            f"the rows up to batch {stored.batch}. {_DELETE_IT}"
        )
    return _decide_next_number(stored, coming)


_DELETE_IT = "Delete the checkpoint: the pipeline then continues from the offsets in the database"


def _decide_same_number(stored: Progress, coming: PipelineBatch) -> ProgressVerdict:
    identity = coming.identity
    begin = f"batch {stored.batch} of pipeline {coming.pipeline!r} is in the database"
    if stored.content is None:
        raise BatchRefused(
            f"{begin}, but an earlier version of tidelog has written it, which did not store what a batch reads: "
            f"nobody can tell whether it is this one. {_DELETE_IT}"
        )
    same_rows = stored.content == identity.content and stored.rows == identity.rows
    if stored.reads is None or identity.reads is None:
        if same_rows and identity.run and stored.run == identity.run:
            return ProgressVerdict.ALREADY_APPLIED
        raise BatchRefused(
            f"{begin}, but nobody can tell whether it is this one: the offsets that it reads could not be read from "
            f"the checkpoint. {_DELETE_IT}"
        )
    if stored.reads != identity.reads:
        raise BatchRefused(
            f"{begin}, but with other input: it was read up to {stored.reads.until or stored.reads.end}, and now it "
            f"goes up to {identity.reads.until}. The checkpoint is older than what was written: it was restored from a "
            f"copy, or its newest files were lost. {_DELETE_IT}"
        )
    if not same_rows:
        raise BatchRefused(
            f"{begin} with {stored.rows} rows (digest {stored.content}); now the same input gives {identity.rows} rows "
            f"(digest {identity.content}): the pipeline does not give the same rows for the same input, for example "
            f"because it uses the time or a random number. {_DELETE_IT}, and what is in the table stays"
        )
    return ProgressVerdict.ALREADY_APPLIED


def _decide_next_number(stored: Progress, coming: PipelineBatch) -> ProgressVerdict:
    """It must go on where the last one ended."""
    reads = coming.identity.reads
    if coming.batch != stored.batch + 1:
        raise BatchRefused(
            f"pipeline {coming.pipeline!r} is at batch {coming.batch}, but the last one in the database is "
            f"{stored.batch}: those between are missing. {_DELETE_IT}"
        )
    if stored.reads is not None and (reads is None or reads.start != stored.reads.end):
        begins = "begins at another offset" if reads is not None else "does not say where it begins"
        raise BatchRefused(
            f"batch {stored.batch} of pipeline {coming.pipeline!r} ended at {stored.reads.until or stored.reads.end}, "
            f"but batch {coming.batch} {begins}: the checkpoint is not the one with which the table was written, or "
            f"its files were changed or cannot be read. {_DELETE_IT}"
        )
    return ProgressVerdict.APPLY


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """One span for each partition, from those of all tasks."""
    merged: dict[tuple[str, int], Span] = {}
    for span in spans:
        place = (span.topic, span.partition)
        known = merged.get(place)
        if known is not None:
            span = Span(span.topic, span.partition, min(known.first, span.first), max(known.last, span.last))
        merged[place] = span
    return tuple(sorted(merged.values()))


def check_spans(pipeline: str, spans: Iterable[Span], next_offsets: Mapping[tuple[str, int], int]) -> None:
    """The second line of defence: no record is written whose offset lies below what the database has."""
    for span in spans:
        expected = next_offsets.get((span.topic, span.partition), 0)
        if span.first < expected:
            raise BatchRefused(
                f"pipeline {pipeline!r} already has the records of {span.topic}-{span.partition} below offset "
                f"{expected}, but this batch begins at {span.first}. If the topic was recreated, give the pipeline "
                "another name; otherwise delete its checkpoint, so that it continues from the offsets in the database"
            )
