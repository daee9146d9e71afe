"""May this micro-batch be written? The decision, from what the database remembers; no database is touched here.

The database remembers for every pipeline which query wrote last and which of its batches. Both are read and changed
in the transaction that writes the rows, so that a batch which is written twice is written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum


class BatchRefused(Exception):
    """The batch must not be written. The message says why and what to do."""


class Verdict(Enum):
    APPLY = "apply"
    ALREADY_APPLIED = "already applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The last batch that was written, and the query (it survives restarts, a new checkpoint has a new one)."""

    query_id: str
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchIdentity:
    """`takes_over` is the query that this one continues: the last writer at the time when this query was started."""

    pipeline: str
    query_id: str
    batch: int
    takes_over: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The first and the last offset of one partition among the rows of a task or of a batch."""

    topic: str
    partition: int
    first: int
    last: int


def decide(stored: Progress | None, identity: BatchIdentity) -> Verdict:
    """Raises BatchRefused where writing would duplicate rows, or where nobody can know."""
    pipeline, batch = identity.pipeline, identity.batch
    if stored is None:
        if batch == 0:
            return Verdict.APPLY
        raise BatchRefused(
            f"pipeline {pipeline!r} is at batch {batch}, but the database knows nothing of earlier batches: the table "
            "tidelog_progress was emptied, or this is another database. Point the pipeline at the right database; or "
            "start with a new checkpoint, and a new name if the table should be filled from the beginning"
        )
    if stored.query_id != identity.query_id:
        # A query that takes over starts where the database says, which only a new checkpoint does: its batch is 0.
        if stored.query_id == identity.takes_over and batch == 0:
            return Verdict.APPLY
        raise BatchRefused(
            f"pipeline {pipeline!r} is written by another query now ({stored.query_id}, at batch {stored.batch}); this "
            f"one is {identity.query_id} at batch {batch}. Run a pipeline only once at a time. If the other one has "
            "ended, delete the checkpoint of this one: it then continues from the offsets in the database"
        )
    if batch == stored.batch:
        return Verdict.ALREADY_APPLIED
    if batch < stored.batch:
        raise BatchRefused(
            f"the checkpoint of pipeline {pipeline!r} was rolled back: it is at batch {batch}, but the database holds "
            f"the rows up to batch {stored.batch}. Delete the checkpoint: the pipeline then continues from the offsets "
            "in the database"
        )
    return Verdict.APPLY


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
                f"{expected}, but this batch begins at {span.first}. If the topic was created anew, give the pipeline "
                "another name; else delete its checkpoint, so that it continues from the offsets in the database"
            )
