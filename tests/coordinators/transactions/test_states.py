"""The table of states against Kafka's, which is written from the other end: the states that may come before."""

from __future__ import annotations

import pytest

from tidelog.coordinators.transactions.states import (
    COMPLETED,
    IDLE,
    PREPARED,
    STATES_BY_LABEL,
    TRANSACTION,
    TransactionState,
    TransactionStep,
)
from tidelog.model.transitions import IllegalStep

KAFKA_NAMES = {
    0: "Empty",
    1: "Ongoing",
    2: "PrepareCommit",
    3: "PrepareAbort",
    4: "CompleteCommit",
    5: "CompleteAbort",
    6: "Dead",
    7: "PrepareEpochFence",
}

KAFKA_PREVIOUS = {
    "Empty": {"Empty", "CompleteCommit", "CompleteAbort"},
    "Ongoing": {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"},
    "PrepareCommit": {"Ongoing"},
    "PrepareAbort": {"Ongoing", "PrepareEpochFence", "Empty", "CompleteCommit", "CompleteAbort"},
    "CompleteCommit": {"PrepareCommit"},
    "CompleteAbort": {"PrepareAbort"},
    "Dead": {"Empty", "CompleteAbort", "CompleteCommit"},
    "PrepareEpochFence": {"Ongoing"},
}


def test_names_and_numbers_are_kafkas() -> None:
    assert {int(state): state.label for state in TransactionState} == KAFKA_NAMES
    assert STATES_BY_LABEL["PrepareEpochFence"] is TransactionState.PREPARE_EPOCH_FENCE


def test_transitions_are_kafkas() -> None:
    previous: dict[str, set[str]] = {}
    for (before, _), after in TRANSACTION.steps.items():
        previous.setdefault(after.label, set()).add(before.label)

    assert previous == KAFKA_PREVIOUS


def test_every_state_but_dead_has_a_way_on() -> None:
    assert set(TransactionState) - {before for before, _ in TRANSACTION.steps} == {TransactionState.DEAD}


def test_a_decided_transaction_can_only_be_completed_as_decided() -> None:
    following = {(before, after) for (before, _), after in TRANSACTION.steps.items() if before in PREPARED}
    assert following == {
        (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT),
        (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT),
    }


def test_groups_of_states_do_not_overlap_where_they_must_not() -> None:
    assert not IDLE & PREPARED
    assert COMPLETED < IDLE


@pytest.mark.parametrize("before", TransactionState)
@pytest.mark.parametrize("step", TransactionStep)
def test_a_step_that_is_not_in_the_table_is_refused(before: TransactionState, step: TransactionStep) -> None:
    if TRANSACTION.allows(before, step):
        assert TRANSACTION.after(before, step) is TRANSACTION.steps[before, step]
        return
    with pytest.raises(IllegalStep, match=f"payments: there is no step {step.name} .* from {before.name}"):
        TRANSACTION.after(before, step, of="payments")
