"""What a micro-batch concludes from the marker of the one before."""

from __future__ import annotations

import pytest

from tidelog.spark.marker import Marker, Publish, Refuse, Skip, decide, read_marker


@pytest.mark.parametrize(
    ("batch", "marked", "without_marker", "decision"),
    [
        # The first micro-batch of a query has no marker before it.
        (0, None, False, Publish),
        (0, None, True, Publish),
        # Later, none means that it was lost.
        (1, None, False, Refuse),
        (7, None, False, Refuse),
        (7, None, True, Publish),
        # The usual course, also over micro-batches that were skipped.
        (1, 0, False, Publish),
        (8, 7, False, Publish),
        (8, 3, False, Publish),
        # The driver died after the commit.
        (0, 0, False, Skip),
        (7, 7, False, Skip),
        (7, 7, True, Skip),
        # The checkpoint is older than the topics; the override for lost markers does not help here.
        (0, 1, False, Refuse),
        (6, 7, False, Refuse),
        (6, 7, True, Refuse),
    ],
)
def test_decision(batch: int, marked: int | None, without_marker: bool, decision: type) -> None:
    marker = None if marked is None else Marker(batch=marked)

    assert type(decide(batch, marker, group="g", publish_without_marker=without_marker)) is decision


def test_refusals_name_the_group_the_numbers_and_the_way_out() -> None:
    lost = decide(3, None, group="prefix-query")
    rolled_back = decide(3, Marker(batch=9), group="prefix-query")

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
