"""What a micro-batch concludes from the marker of the one before."""

from __future__ import annotations

import pytest

from tidelog.spark.marker import Marker, Publish, Refuse, Skip, decide, decide_tasks, read_marker


@pytest.mark.parametrize(
    ("batch", "marked", "allowed", "decision"),
    [
        # The first micro-batch of a query has no marker before it.
        (0, None, {}, Publish),
        # Later, none means that it was lost.
        (1, None, {}, Refuse),
        (7, None, {}, Refuse),
        (7, None, {"publish_without_marker": True}, Publish),
        # The usual course, also over micro-batches that were skipped.
        (1, 0, {}, Publish),
        (8, 7, {}, Publish),
        (8, 3, {}, Publish),
        # The driver died after the commit.
        (0, 0, {}, Skip),
        (7, 7, {}, Skip),
        (7, 7, {"publish_without_marker": True}, Skip),
        # The checkpoint is older than the topics; no override helps here.
        (0, 1, {}, Refuse),
        (6, 7, {}, Refuse),
        (6, 7, {"publish_without_marker": True, "skip_changed": True}, Refuse),
    ],
)
def test_decision(batch: int, marked: int | None, allowed: dict[str, bool], decision: type) -> None:
    marker = None if marked is None else Marker(batch=marked, rows=10)

    assert type(decide(batch, 10, marker, group="g", **allowed)) is decision


def test_micro_batch_that_came_back_with_other_rows_is_not_skipped_unless_that_is_allowed() -> None:
    marker = Marker(batch=4, rows=10)

    refusal = decide(4, 11, marker, group="g")

    assert isinstance(refusal, Refuse)
    assert "has 11 rows, but is in the topics already with 10" in refusal.problem
    assert decide(4, 11, marker, group="g", skip_changed=True) == Skip()


PLAN = Marker(batch=5, tasks=2, rows=10, digest="a")


@pytest.mark.parametrize(
    ("planned", "any_committed", "allowed", "decision"),
    [
        # A new micro-batch.
        (Marker(batch=4, tasks=3, rows=7, digest="x"), False, {}, Publish),
        # The driver died before or after it wrote the division down, but before it committed anything.
        (PLAN, False, {}, Publish),
        (Marker(batch=5, tasks=3, rows=10, digest="b"), False, {}, Publish),
        # It died between two commits.
        (PLAN, True, {}, Publish),
        (Marker(batch=5, tasks=3, rows=10, digest="a"), True, {}, Refuse),
        (Marker(batch=5, tasks=2, rows=10, digest="b"), True, {}, Refuse),
        (Marker(batch=5, tasks=2, rows=11, digest="a"), True, {}, Refuse),
        # The marker of the division was lost.
        (None, False, {}, Refuse),
        (None, False, {"publish_without_marker": True}, Publish),
        (None, True, {"publish_without_marker": True}, Refuse),
        (Marker(batch=4, tasks=2, rows=10, digest="a"), True, {}, Refuse),
        # The checkpoint is older than the topics.
        (Marker(batch=6, tasks=2, rows=10, digest="a"), False, {}, Refuse),
        (Marker(batch=6, tasks=2, rows=10, digest="a"), True, {}, Refuse),
    ],
)
def test_decision_where_tasks_have_transactions_of_their_own(
    planned: Marker | None, any_committed: bool, allowed: dict[str, bool], decision: type
) -> None:
    assert type(decide_tasks(planned, PLAN, any_committed=any_committed, group="g", **allowed)) is decision


def test_refusals_name_the_group_the_numbers_and_the_way_out() -> None:
    lost = decide(3, 1, None, group="prefix-query")
    rolled_back = decide(3, 1, Marker(batch=9), group="prefix-query")

    assert isinstance(lost, Refuse)
    assert isinstance(rolled_back, Refuse)
    for part in ("micro-batch 3", "'prefix-query'", "offsets.retention.minutes", "missingMarker=publish"):
        assert part in lost.problem
    for part in ("micro-batch 3", "'prefix-query'", "9", "checkpoint"):
        assert part in rolled_back.problem


def test_marker_survives_the_way_through_an_offset_and_its_metadata() -> None:
    marker = Marker(batch=12, tasks=3, rows=4567, digest="deadbeef")

    assert read_marker(12, marker.metadata()) == marker


@pytest.mark.parametrize("metadata", ["", "{}", "[1]", "null", "not json", '{"tasks": "x", "rows": 1, "digest": ""}'])
def test_unreadable_metadata_leaves_the_number(metadata: str) -> None:
    assert read_marker(5, metadata) == Marker(batch=5)
