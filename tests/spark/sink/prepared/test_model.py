"""Every order of deaths, restarts, zombies, second attempts and timeouts, with the decisions that the sink makes."""

from __future__ import annotations

import pytest
from support.spark_models.prepared_model import PreparedModel

from tidelog.spark.sink.prepared.decision import Begun, CommitDecision, RecoveryPlan, plan_recovery
from tidelog.testing.exhaustive import explore

# Larger than any path through these models: they are explored to the end.
DEPTH = 200


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (PreparedModel(batches=1, tasks=2, starts=2, retries=0), 40_000),
        (PreparedModel(batches=1, tasks=1, starts=2, retries=1), 8_000),
        (PreparedModel(batches=1, tasks=1, starts=3, retries=0), 11_000),
        (PreparedModel(batches=2, tasks=1, starts=2, retries=0), 5_000),
    ],
    ids=["two tasks", "second attempts", "three drivers", "two micro-batches"],
)
def test_each_row_becomes_visible_once_or_the_query_stops(model: PreparedModel, least: int) -> None:
    found = explore(model, depth=DEPTH)
    assert found.counterexample is None, found
    assert found.complete
    assert found.states > least


@pytest.mark.slow
def test_two_micro_batches_and_three_drivers() -> None:
    found = explore(PreparedModel(batches=2, tasks=1, starts=3, retries=0), depth=DEPTH)
    assert found.counterexample is None, found
    assert (found.complete, found.states > 100_000) == (True, True)


def _aborts_what_is_open_now(
    *, seen_before: frozenset[Begun], decision: CommitDecision | None, open_now: frozenset[Begun]
) -> RecoveryPlan:
    return plan_recovery(seen_before=open_now, decision=decision, open_now=open_now)


def _knows_no_decision(
    *, seen_before: frozenset[Begun], decision: CommitDecision | None, open_now: frozenset[Begun]
) -> RecoveryPlan:
    return plan_recovery(seen_before=seen_before, decision=None, open_now=open_now)


def _completes_nothing(
    *, seen_before: frozenset[Begun], decision: CommitDecision | None, open_now: frozenset[Begun]
) -> RecoveryPlan:
    return plan_recovery(seen_before=seen_before, decision=decision, open_now=open_now)._replace(commit=frozenset())


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (PreparedModel(batches=1, tasks=1, plan_recovery=_aborts_what_is_open_now), "what was decided is aborted"),
        (PreparedModel(batches=1, tasks=1, plan_recovery=_knows_no_decision), "what was decided is aborted"),
        (PreparedModel(batches=1, tasks=1, plan_recovery=_completes_nothing), "is logged as done and not visible"),
        (PreparedModel(batches=1, tasks=1, fence_again=True), "what was decided is aborted"),
    ],
    ids=["a list that is too young", "no decision", "no completion", "a fence that is taken when it is decided"],
)
def test_mistakes_that_are_planted_are_found(model: PreparedModel, problem: str) -> None:
    found = explore(model, depth=DEPTH)
    assert found.counterexample is not None
    assert problem in found.counterexample.problem
