"""What a micro-batch concludes from the note of the one before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidelog.spark.sink.batch_identity import BEGINNING, BatchIdentity, Reads
from tidelog.spark.sink.note import (
    Note,
    Publish,
    Refuse,
    Skip,
    decide,
    decide_tasks,
    note_of,
    overtaken,
    read_note,
)


def reads(start: int | None, end: int) -> Reads:
    return Reads(start=BEGINNING if start is None else f"at {start}", end=f"at {end}", until=f"{{{end}}}")


def identity(batch: int, **changed: Any) -> BatchIdentity:
    """Micro-batch b of a query that reads ten more each time."""
    begins = None if batch == 0 else 10 * (batch - 1)
    usual = BatchIdentity(batch=batch, rows=5, content=f"c{batch}", reads=reads(begins, 10 * batch), run="now")
    return replace(usual, **changed)


def note(batch: int, **changed: Any) -> Note:
    return replace(note_of(identity(batch), tasks=2), run="before", **changed)


BOTH = {"publish_without_note": True, "skip_changed": True}
KNOWN = {"publish_without_note": True}
KEEP = {"skip_changed": True}


@pytest.mark.parametrize(
    ("current", "marked", "allowed", "decision"),
    [
        # The first micro-batch of a query has no note before it.
        (identity(0), None, {}, Publish),
        # Later, none means that it was lost.
        (identity(1), None, {}, Refuse),
        (identity(7), None, KEEP, Refuse),
        (identity(7), None, KNOWN, Publish),
        # The usual course.
        (identity(1), note(0), {}, Publish),
        (identity(8), note(7), {}, Publish),
        # Numbers between are missing.
        (identity(8), note(6), {}, Refuse),
        (identity(8), note(6), KEEP, Refuse),
        (identity(8), note(6), KNOWN, Publish),
        # It does not begin where the last one ended.
        (identity(8, reads=reads(69, 80)), note(7), {}, Refuse),
        (identity(8, reads=reads(71, 80)), note(7), KEEP, Refuse),
        (identity(8, reads=reads(71, 80)), note(7), KNOWN, Publish),
        (identity(8, reads=None), note(7), {}, Refuse),
        (identity(8, reads=None), note(7), KNOWN, Publish),
        # Nobody had noted where it ended.
        (identity(8), note(7, reads=None), {}, Publish),
        (identity(8, reads=None), note(7, reads=None), {}, Publish),
        (identity(8), Note(batch=7, tasks=1, rows=5), {}, Publish),
        (identity(8), Note(batch=6, tasks=1, rows=5), {}, Refuse),
        # The driver died after the commit.
        (identity(0), note(0), {}, Skip),
        (identity(7), note(7), {}, Skip),
        (identity(7), note(7), KNOWN, Skip),
        # The query gives other rows for the same input.
        (identity(7, content="x"), note(7), {}, Refuse),
        (identity(7, rows=6), note(7), KNOWN, Refuse),
        (identity(7, content="x", rows=6), note(7), KEEP, Skip),
        # The same number with other input, whatever rows it gives.
        (identity(7, reads=reads(60, 71)), note(7), {}, Refuse),
        (identity(7, reads=reads(61, 70)), note(7), BOTH, Refuse),
        (identity(7, reads=reads(60, 71), content="x"), note(7), BOTH, Refuse),
        # Nobody knows what is read: only a second attempt of the same driver is known to be the same.
        (identity(7, reads=None), note(7), {}, Refuse),
        (identity(7), note(7, reads=None), {}, Refuse),
        (identity(7, reads=None), note(7, reads=None), {}, Refuse),
        (identity(7, reads=None), replace(note(7, reads=None), run="now"), {}, Skip),
        (identity(7, reads=None, content="x"), replace(note(7, reads=None), run="now"), {}, Refuse),
        (identity(7, reads=None, run=""), replace(note(7, reads=None), run=""), {}, Refuse),
        (identity(7, reads=None), note(7), KEEP, Skip),
        # A note of an earlier version.
        (identity(7), Note(batch=7, tasks=2, rows=5), {}, Refuse),
        (identity(7), Note(batch=7, tasks=2, rows=5), KEEP, Skip),
        # A job has no input that is noted: it is known by its rows.
        (identity(0, reads=None, is_job=True), note(0, reads=None), {}, Skip),
        (identity(0, reads=None, is_job=True, content="x"), note(0, reads=None), {}, Refuse),
        (identity(0, reads=None, is_job=True, content="x"), note(0, reads=None), KEEP, Skip),
        # The checkpoint is older than the topics; no override helps here.
        (identity(0), note(1), {}, Refuse),
        (identity(6), note(7), {}, Refuse),
        (identity(6), note(7), BOTH, Refuse),
    ],
)
def test_decision(current: BatchIdentity, marked: Note | None, allowed: dict[str, Any], decision: type) -> None:
    assert type(decide(current, marked, group="g", **allowed)) is decision


@pytest.mark.parametrize(
    ("current", "marked", "words"),
    [
        (identity(3), None, ("micro-batch 3", "'g'", "offsets.retention.minutes", "missingMarker=publish")),
        (identity(3), note(9), ("micro-batch 3", "'g'", "9", "older than what was written", "newest checkpoint")),
        (
            identity(3, reads=reads(20, 35)),
            note(3),
            ("micro-batch 3", "other input", "up to {30}", "up to {35}", "restored from a copy", "files were lost"),
        ),
        (
            identity(3, content="x", rows=4),
            note(3),
            ("5 rows (digest c3)", "4 rows (digest x)", "same rows for the same input", "changedBatch=skip"),
        ),
        (identity(3, reads=None), note(3), ("nobody can tell", "checkpointLocation", "changedBatch=skip")),
        (identity(3), Note(batch=3), ("earlier version of tidelog", "changedBatch=skip")),
        (identity(3), note(1), ("last one in the topics is 1", "missingMarker=publish")),
        (identity(3, reads=reads(25, 30)), note(2), ("does not begin where", "at {20}", "missingMarker=publish")),
        (identity(3, reads=None), note(2), ("checkpointLocation", "missingMarker=publish")),
    ],
)
def test_refusals_name_the_numbers_and_the_way_out(
    current: BatchIdentity, marked: Note | None, words: tuple[str, ...]
) -> None:
    refusal = decide(current, marked, group="g")

    assert isinstance(refusal, Refuse)
    for word in words:
        assert word in refusal.problem
    # A way out that would lose rows is not offered.
    if "older than what was written" in refusal.problem:
        assert "changedBatch" not in refusal.problem
        assert "missingMarker" not in refusal.problem


@pytest.mark.parametrize(
    ("begun", "committed", "is_overtaken"),
    [
        # The usual course, and a restart.
        (5, 4, False),
        (5, None, False),
        # Another one has committed it, or has begun with the next one.
        (5, 5, True),
        (6, 5, True),
        (7, None, True),
        # Nothing is known; or files were lost, so that Spark runs again what is committed.
        (None, None, False),
        (5, 6, False),
        (4, 3, False),
    ],
)
def test_driver_that_was_overtaken_is_known_by_the_checkpoint(
    begun: int | None, committed: int | None, is_overtaken: bool
) -> None:
    refusal = overtaken(5, begun=begun, committed=committed)

    assert (refusal is not None) is is_overtaken
    if refusal is not None:
        assert "another driver runs the same query" in refusal.problem


PLAN = note(5, division="d")
OTHER_INPUT = replace(PLAN, reads=reads(40, 51))


@pytest.mark.parametrize(
    ("planned", "any_committed", "allowed", "decision"),
    [
        # A new micro-batch.
        (note(4, division="x"), False, {}, Publish),
        # The driver died before or after it wrote the division down, but before it committed anything.
        (PLAN, False, {}, Publish),
        (replace(PLAN, tasks=3, division="b"), False, {}, Publish),
        (OTHER_INPUT, False, {}, Publish),
        # But it must begin at the same place.
        (replace(PLAN, reads=reads(41, 50)), False, {}, Refuse),
        # It died between two commits.
        (PLAN, True, {}, Publish),
        (replace(PLAN, run="long before"), True, {}, Publish),
        (replace(PLAN, tasks=3), True, {}, Refuse),
        (replace(PLAN, division="b"), True, {}, Refuse),
        (replace(PLAN, rows=11), True, {}, Refuse),
        (replace(PLAN, content="x"), True, {}, Refuse),
        (OTHER_INPUT, True, {}, Refuse),
        # Nobody knows whether it is the same.
        (replace(PLAN, reads=None), True, {}, Refuse),
        (Note(batch=5, tasks=2, rows=5), True, {}, Refuse),
        # The note of the division was lost.
        (None, False, {}, Refuse),
        (None, False, KNOWN, Publish),
        (None, True, KNOWN, Refuse),
        (note(4, division="d"), True, {}, Refuse),
        (note(3, division="d"), False, {}, Refuse),
        # The checkpoint is older than the topics.
        (note(6, division="d"), False, {}, Refuse),
        (note(6, division="d"), True, {}, Refuse),
    ],
)
def test_decision_where_tasks_have_transactions_of_their_own(
    planned: Note | None, any_committed: bool, allowed: dict[str, Any], decision: type
) -> None:
    assert type(decide_tasks(planned, PLAN, any_committed=any_committed, group="g", **allowed)) is decision


def test_tasks_of_a_job_are_known_by_their_rows() -> None:
    planned = replace(PLAN, reads=None, batch=0, is_job=True)

    def decision(current: Note) -> type:
        return type(decide_tasks(planned, current, any_committed=True, group="g"))

    assert decision(planned) is Publish
    assert decision(replace(planned, division="b")) is Refuse


def test_note_survives_the_way_through_an_offset_and_its_metadata() -> None:
    for some in (note(12), note(12, reads=None), note(12, division="d"), Note(batch=12, content="")):
        assert read_note(12, some.metadata()) == some


def test_note_fits_into_the_metadata_of_an_offset_whatever_is_read() -> None:
    for until in ("{}" * 5000, "\u00e9" * 5000, "\U0001f600" * 5000, '"' * 5000, "\x00" * 5000):
        some = note(3, reads=Reads(start="a" * 32, end="b" * 32, until=until), division="d" * 16, content="c" * 32)
        assert len(some.metadata().encode()) <= 4096
        assert read_note(3, some.metadata()) == some


@pytest.mark.parametrize(
    "metadata",
    [
        "",
        "{}",
        "[1]",
        "null",
        "7",
        "not json",
        '{"tasks": "x", "rows": 1, "digest": ""}',
        '{"rows": 1, "content": 1}',
    ],
)
def test_unreadable_metadata_leaves_the_number(metadata: str) -> None:
    assert read_note(5, metadata) == Note(batch=5)


def test_note_of_an_earlier_version_says_nothing_of_the_content() -> None:
    assert read_note(5, '{"tasks":2,"rows":7,"digest":"7:abc"}') == Note(batch=5, tasks=2, rows=7, content=None)
