from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.spark.databases.progress import (
    BatchIdentity,
    BatchRefused,
    Progress,
    Span,
    Verdict,
    check_spans,
    decide,
    merge_spans,
)

# What the database knows, who comes with which batch and whom it takes over, and what follows (None: refused).
TABLE = [
    (None, ("a", 0, None), Verdict.APPLY),
    (None, ("a", 1, None), None),
    (("a", 0), ("a", 0, None), Verdict.ALREADY_APPLIED),
    (("a", 4), ("a", 4, "a"), Verdict.ALREADY_APPLIED),
    (("a", 4), ("a", 5, None), Verdict.APPLY),
    # Batches without rows leave no trace, so that numbers may be left out.
    (("a", 4), ("a", 9, None), Verdict.APPLY),
    (("a", 4), ("a", 3, None), None),
    (("a", 4), ("a", 0, "a"), None),
    (("a", 4), ("b", 0, "a"), Verdict.APPLY),
    (("a", 4), ("b", 0, None), None),
    (("a", 4), ("b", 0, "c"), None),
    # An old checkpoint that comes back does not start where the database says.
    (("a", 4), ("b", 5, "a"), None),
    (("a", 4), ("b", 4, "a"), None),
]


@pytest.mark.parametrize(("stored", "coming", "verdict"), TABLE)
def test_a_batch_is_applied_once_or_refused(
    stored: tuple[str, int] | None, coming: tuple[str, int, str | None], verdict: Verdict | None
) -> None:
    known = None if stored is None else Progress(query_id=stored[0], batch=stored[1])
    identity = BatchIdentity(pipeline="orders", query_id=coming[0], batch=coming[1], takes_over=coming[2])
    if verdict is None:
        with pytest.raises(BatchRefused, match="'orders'"):
            decide(known, identity)
    else:
        assert decide(known, identity) is verdict


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
        identity = BatchIdentity(pipeline="p", query_id=query_id, batch=batch, takes_over=takes_over)
        try:
            verdict = decide(stored, identity)
        except BatchRefused:
            continue
        if verdict is Verdict.APPLY:
            applied.append((query_id, batch))
            stored = Progress(query_id=query_id, batch=batch)
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
