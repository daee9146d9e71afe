from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.spark_models.database_model import progress_of

from tidelog.spark.databases.progress import (
    BatchRefused,
    PipelineBatch,
    Progress,
    ProgressVerdict,
    Span,
    check_spans,
    decide,
    merge_spans,
)
from tidelog.spark.sink.batch_identity import BEGINNING, BatchIdentity, Reads


def reads(start: int | None, end: int) -> Reads:
    return Reads(start=BEGINNING if start is None else f"at {start}", end=f"at {end}", until=f"{{{end}}}")


def coming(query_id: str, batch: int, takes_over: str | None = None, **changed: Any) -> PipelineBatch:
    """Batch b of a query that reads ten more each time."""
    begins = None if batch == 0 else 10 * (batch - 1)
    identity = BatchIdentity(batch=batch, rows=5, content=f"c{batch}", reads=reads(begins, 10 * batch), run="now")
    return PipelineBatch(
        pipeline="orders", query_id=query_id, identity=replace(identity, **changed), takes_over=takes_over
    )


def known(query_id: str, batch: int, **changed: Any) -> Progress:
    return replace(progress_of(coming(query_id, batch)), run="before", **changed)


EARLIER_VERSION = Progress(query_id="a", batch=4)

# What the database knows, who comes with which batch and whom it takes over, and what follows (a word of the refusal).
TABLE = [
    (None, coming("a", 0), ProgressVerdict.APPLY),
    (None, coming("a", 1), "knows nothing of earlier batches"),
    (known("a", 0), coming("a", 0), ProgressVerdict.ALREADY_APPLIED),
    (known("a", 4), coming("a", 4, "a"), ProgressVerdict.ALREADY_APPLIED),
    (known("a", 4), coming("a", 5), ProgressVerdict.APPLY),
    # The same number is not the same batch.
    (known("a", 4), coming("a", 4, reads=reads(30, 41)), "up to {40}, and now it goes up to {41}"),
    (known("a", 4), coming("a", 4, reads=reads(29, 40)), "older than what was written"),
    (known("a", 4), coming("a", 4, content="x"), "does not give the same rows for the same input"),
    (known("a", 4), coming("a", 4, rows=6), "does not give the same rows for the same input"),
    # The next one goes on where the last one ended.
    (known("a", 4), coming("a", 6), "those between are missing"),
    (known("a", 4), coming("a", 5, reads=reads(39, 50)), "begins at another offset"),
    (known("a", 4), coming("a", 5, reads=None), "does not say where it begins"),
    (known("a", 4, reads=None), coming("a", 5), ProgressVerdict.APPLY),
    # Nobody knows what was read: only the driver that tries again is known to be the same.
    (known("a", 4), coming("a", 4, reads=None), "could not be read from the checkpoint"),
    (known("a", 4, reads=None), coming("a", 4), "could not be read from the checkpoint"),
    (replace(known("a", 4, reads=None), run="now"), coming("a", 4, reads=None), ProgressVerdict.ALREADY_APPLIED),
    (replace(known("a", 4, reads=None), run="now"), coming("a", 4, reads=None, content="x"), "nobody can tell"),
    # A row of an earlier version.
    (EARLIER_VERSION, coming("a", 4), "an earlier version of tidelog has written it"),
    (EARLIER_VERSION, coming("a", 5), ProgressVerdict.APPLY),
    (EARLIER_VERSION, coming("a", 9), "those between are missing"),
    # The checkpoint is older.
    (known("a", 4), coming("a", 3), "rolled back"),
    (known("a", 4), coming("a", 0, "a"), "rolled back"),
    (known("a", 4), coming("b", 0, "a"), ProgressVerdict.APPLY),
    (known("a", 4), coming("b", 0), "written by another query"),
    (known("a", 4), coming("b", 0, "c"), "written by another query"),
    # An old checkpoint that comes back does not start where the database says.
    (known("a", 4), coming("b", 5, "a"), "written by another query"),
    (known("a", 4), coming("b", 4, "a"), "written by another query"),
]


@pytest.mark.parametrize(("stored", "batch", "outcome"), TABLE)
def test_a_batch_is_applied_once_or_refused(
    stored: Progress | None, batch: PipelineBatch, outcome: ProgressVerdict | str
) -> None:
    if isinstance(outcome, ProgressVerdict):
        assert decide(stored, batch) is outcome
        return
    with pytest.raises(BatchRefused, match="'orders'") as refused:
        decide(stored, batch)
    assert outcome in str(refused.value)
    assert "checkpoint" in str(refused.value)


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 4), st.sampled_from([None, "a", "b", "c"])),
        max_size=30,
    )
)
def test_no_batch_of_a_query_is_ever_applied_twice(attempts: list[tuple[str, int, str | None]]) -> None:
    stored: Progress | None = None
    applied: list[tuple[str, int]] = []
    for query_id, batch, takes_over in attempts:
        one = coming(query_id, batch, takes_over)
        try:
            verdict = decide(stored, one)
        except BatchRefused:
            continue
        if verdict is ProgressVerdict.APPLY:
            applied.append((query_id, batch))
            stored = progress_of(one)
    changes = [one for number, one in enumerate(applied) if number == 0 or applied[number - 1][0] != one[0]]
    # Within one reign of a query its batches only grow, and each reign begins with a new checkpoint.
    assert all(batch == 0 for _, batch in changes)
    for before, after in pairwise(applied):
        assert before[0] != after[0] or before[1] < after[1]


def test_spans_of_tasks_are_joined_by_partition() -> None:
    spans = [Span("t", 1, 5, 9), Span("t", 0, 0, 3), Span("t", 1, 10, 12), Span("s", 1, 1, 1)]
    assert merge_spans(spans) == (Span("s", 1, 1, 1), Span("t", 0, 0, 3), Span("t", 1, 5, 12))


def test_records_below_the_stored_offset_are_refused() -> None:
    check_spans("p", [Span("t", 0, 7, 9)], {("t", 0): 7, ("t", 1): 100})
    with pytest.raises(BatchRefused, match=r"t-0 below offset 8, but this batch begins at 7"):
        check_spans("p", [Span("t", 0, 7, 9)], {("t", 0): 8})
