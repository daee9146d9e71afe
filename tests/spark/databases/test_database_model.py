"""Every order of crashes, restores, lost files, deleted checkpoints and second drivers: databases and the mirror."""

from __future__ import annotations

import pytest
from support.spark_models.database_model import DatabaseModel
from support.spark_models.mirror_model import MirrorModel
from support.spark_models.spark_model import Bounds

from tidelog.spark.databases.progress import BatchRefused, PipelineBatch, Progress, ProgressVerdict, decide
from tidelog.testing.exhaustive import explore

SMALL = Bounds(rows=1, batches=2, starts=3, disasters=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "depth", "least"),
    [
        pytest.param(DatabaseModel(), 9, 50_000, id="usual"),
        pytest.param(DatabaseModel(contents=2), 8, 60_000, id="changing rows"),
        pytest.param(DatabaseModel(Bounds(without_data=True)), 9, 100_000, id="without data"),
        pytest.param(DatabaseModel(SMALL), 60, 30_000, id="all of it"),
    ],
)
def test_every_row_is_written_once_or_the_pipeline_stops(model: DatabaseModel, depth: int, least: int) -> None:
    found = explore(model, depth=depth)

    assert found.counterexample is None, found
    assert found.states > least, found
    assert found.complete is (depth == 60)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "depth", "least"),
    [pytest.param(Bounds(), 9, 50_000, id="usual"), pytest.param(SMALL, 60, 50_000, id="all of it")],
)
def test_every_record_is_mirrored_once_or_the_mirror_stops(bounds: Bounds, depth: int, least: int) -> None:
    found = explore(MirrorModel(bounds), depth=depth)

    assert found.counterexample is None, found
    assert found.states > least, found
    assert found.complete is (depth == 60)


def test_mirror_that_looks_only_at_offsets_is_found_to_lose_records() -> None:
    found = explore(MirrorModel(SMALL, checks_order=False), depth=14)

    assert found.counterexample is not None, found
    assert "is taken for done, but row" in found.counterexample.problem


def by_number(stored: Progress | None, coming: PipelineBatch) -> ProgressVerdict:
    """As it was once: a batch of the same number is in the table."""
    if stored is not None and stored.query_id == coming.query_id:
        if stored.batch == coming.batch:
            return ProgressVerdict.ALREADY_APPLIED
        if stored.batch < coming.batch:
            return ProgressVerdict.APPLY
    return decide(stored, coming)


def without_chain(stored: Progress | None, coming: PipelineBatch) -> ProgressVerdict:
    if stored is not None and stored.query_id == coming.query_id and stored.batch < coming.batch:
        return ProgressVerdict.APPLY
    return decide(stored, coming)


def anybody_takes_over(stored: Progress | None, coming: PipelineBatch) -> ProgressVerdict:
    if stored is not None and stored.query_id != coming.query_id:
        return ProgressVerdict.APPLY
    return decide(stored, coming)


def forgets_the_number(stored: Progress | None, coming: PipelineBatch) -> ProgressVerdict:
    """Rows would be written again."""
    try:
        return decide(stored, coming)
    except BatchRefused:
        return ProgressVerdict.APPLY


@pytest.mark.parametrize(
    ("model", "word"),
    [
        pytest.param(DatabaseModel(decide=by_number), "the checkpoint loses its newest 1 offsets", id="number only"),
        pytest.param(DatabaseModel(SMALL, decide=without_chain), "the checkpoint loses its newest", id="no chain"),
        pytest.param(
            DatabaseModel(SMALL, decide=anybody_takes_over), "the checkpoint is deleted", id="anybody takes over"
        ),
        pytest.param(
            DatabaseModel(SMALL, decide=forgets_the_number, checks_spans=False), "driver 2", id="forgets the number"
        ),
    ],
)
def test_planted_mistake_is_found(model: DatabaseModel, word: str) -> None:
    found = explore(model, depth=18)

    assert found.counterexample is not None, found
    assert any(word in what for what in found.counterexample.story), found
