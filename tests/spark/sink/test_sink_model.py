"""Every order of crashes, restarts, restores, lost files and second drivers, up to a depth: each row once, or a stop.

And the model finds what it is for: each decision that was wrong once, or could be, is planted and found.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest
from support.spark_models.sink_model import SinkModel, SinkState
from support.spark_models.spark_model import Bounds

from tidelog.spark.sink.batch_identity import BatchIdentity
from tidelog.spark.sink.note import BatchDecision, Note, Publish, Refuse, Skip, decide
from tidelog.testing.exhaustive import explore

REFUSE = Refuse(problem="")
ONE_ROW_EACH = Bounds(rows=1, batches=3)
# Few of everything, for what takes many steps.
SMALL = Bounds(rows=1, batches=2, starts=3, disasters=1)


@lru_cache(maxsize=100_000)
def keeping_what_is_there(identity: BatchIdentity, note: Note | None) -> BatchDecision:
    return decide(identity, note, group="g", skip_changed=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "depth", "least"),
    [
        # Different input gives the same rows, as an aggregate may.
        pytest.param(SinkModel(contents=1), 12, 80_000, id="equal rows"),
        # The same input gives different rows, and the user has said that this is as it should be.
        pytest.param(SinkModel(contents=2, decide=keeping_what_is_there), 10, 60_000, id="changing rows"),
        pytest.param(SinkModel(Bounds(without_data=True), contents=1), 11, 60_000, id="without data"),
        pytest.param(SinkModel(contents=1, reads_known=False), 11, 30_000, id="unknown offsets"),
        # That an overtaken driver looks at the checkpoint first is for its words: nothing depends on it.
        pytest.param(SinkModel(contents=1, looks_at_checkpoint=False), 11, 30_000, id="not looking"),
        pytest.param(SinkModel(ONE_ROW_EACH, contents=1), 12, 40_000, id="deeper"),
        # Everything that there is, to the end.
        pytest.param(SinkModel(SMALL, contents=1), 60, 120_000, id="all of it"),
    ],
)
def test_every_row_is_written_once_or_the_query_stops(model: SinkModel, depth: int, least: int) -> None:
    found = explore(model, depth=depth)

    assert found.counterexample is None, found
    assert found.states > least, found
    assert found.complete is (depth == 60)


def by_rows(identity: BatchIdentity, note: Note | None) -> BatchDecision:
    """As it was once: the number of the micro-batch and of its rows."""
    if note is None:
        return Publish() if identity.batch == 0 else REFUSE
    if note.batch == identity.batch:
        return Skip() if note.rows == identity.rows else REFUSE
    return REFUSE if note.batch > identity.batch else Publish()


def by_number(identity: BatchIdentity, note: Note | None) -> BatchDecision:
    return by_rows(replace(identity, rows=0), None if note is None else replace(note, rows=0))


def by_content(identity: BatchIdentity, note: Note | None) -> BatchDecision:
    """The digest alone: different input may give the same rows."""
    if note is not None and note.batch == identity.batch and note.content != identity.content:
        return REFUSE
    return by_rows(identity, note)


def without_chain(identity: BatchIdentity, note: Note | None) -> BatchDecision:
    """What is published next need not begin where the last one ended."""
    if note is not None and note.batch < identity.batch:
        return Publish()
    return decide(identity, note, group="g")


def older_ones_again(identity: BatchIdentity, note: Note | None) -> BatchDecision:
    if note is not None and note.batch > identity.batch:
        return Publish()
    return decide(identity, note, group="g")


RESTORED = ("the copy of the checkpoint is restored", "the checkpoint loses its newest")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        pytest.param(SinkModel(decide=by_rows, contents=1), RESTORED, id="rows only"),
        pytest.param(SinkModel(decide=by_number, contents=1), RESTORED, id="number only"),
        pytest.param(SinkModel(decide=by_content, contents=1), RESTORED, id="digest only"),
        pytest.param(SinkModel(SMALL, decide=without_chain, contents=1), RESTORED, id="no chain"),
        pytest.param(SinkModel(SMALL, decide=older_ones_again, contents=1), RESTORED, id="older ones again"),
        pytest.param(
            SinkModel(ONE_ROW_EACH, contents=1, fences_before_reading=False, looks_at_checkpoint=False),
            ("reads the note",),
            id="note read before fencing",
        ),
        pytest.param(
            SinkModel(ONE_ROW_EACH, contents=1, reads_when_planned=False, looks_at_checkpoint=False),
            RESTORED,
            id="offsets read when all is over",
        ),
    ],
)
def test_planted_mistake_is_found(model: SinkModel, words: tuple[str, ...]) -> None:
    found = explore(model, depth=16)

    assert found.counterexample is not None, found
    story = "\n".join(found.counterexample.story)
    assert any(word in story for word in words), found


def test_story_of_finding_the_mistake_can_be_read() -> None:
    found = explore(SinkModel(decide=by_rows, contents=1), depth=16)

    assert found.counterexample is not None
    assert 8 <= len(found.counterexample.story) <= 14
    story = "\n".join(found.counterexample.story)
    for part in ("driver 1 plans micro-batch 0", "driver 1 commits", "skips its rows"):
        assert part in story
    assert "taken for done, but row" in found.counterexample.problem


def test_model_reaches_what_it_is_about() -> None:
    """All phases, both outcomes of a commit, both drivers at once, and both kinds of disaster."""
    seen: set[str] = set()

    def watch(state: SinkState) -> None:
        seen.update(driver.phase for driver in state.drivers if driver is not None)
        if all(state.drivers):
            seen.add("two drivers")
        if state.copy is not None and state.disasters:
            seen.add("restored")
        if state.note is not None and state.note.batch == 1:
            seen.add("second micro-batch")

    explore(SinkModel(ONE_ROW_EACH, contents=1), depth=11, watch=watch)

    assert seen >= {"idle", "ready", "fenced others", "open", "done", "two drivers", "restored", "second micro-batch"}
