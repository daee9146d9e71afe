"""The table of states: every call in every state either leads somewhere or is refused with a remedy."""

from __future__ import annotations

import pytest

from tidelog.client.errors import WrongTransactionState
from tidelog.client.transactions.states import (
    CLIENT_TRANSACTION,
    REMEDIES,
    Call,
    News,
    TransactionPhase,
    after_call,
    after_news,
)


def follow(*steps: Call | News) -> TransactionPhase:
    state = TransactionPhase.UNINITIALIZED
    for step in steps:
        state = after_call(state, step) if isinstance(step, Call) else after_news(state, step)
    return state


STARTED = (Call.INITIALIZE, News.INITIALIZED)
OPEN = (*STARTED, Call.BEGIN)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (STARTED, TransactionPhase.READY),
        ((*OPEN, Call.SEND, Call.SEND_OFFSETS, Call.COMMIT, News.ENDED), TransactionPhase.READY),
        ((*OPEN, Call.ABORT, News.ENDED, Call.BEGIN), TransactionPhase.IN_TRANSACTION),
        ((*OPEN, News.FAILED, Call.ABORT, News.ENDED), TransactionPhase.READY),
        ((*OPEN, Call.COMMIT, News.FAILED, Call.ABORT, News.ENDED), TransactionPhase.READY),
        ((*OPEN, Call.COMMIT, News.COMMIT_WITHDRAWN, Call.SEND), TransactionPhase.IN_TRANSACTION),
        ((*OPEN, Call.COMMIT, News.OUTCOME_LOST, Call.COMMIT, News.ENDED), TransactionPhase.READY),
        ((*OPEN, Call.COMMIT, News.OUTCOME_LOST, Call.INITIALIZE, News.INITIALIZED), TransactionPhase.READY),
        ((*OPEN, Call.ABORT, News.OUTCOME_LOST, Call.ABORT, News.ENDED), TransactionPhase.READY),
        ((*OPEN, Call.ABORT, News.FAILED), TransactionPhase.ABORTING),
        ((*STARTED, Call.INITIALIZE, News.INITIALIZED), TransactionPhase.READY),
        ((Call.INITIALIZE, News.INITIALIZATION_FAILED, Call.INITIALIZE), TransactionPhase.INITIALIZING),
        ((Call.INITIALIZE, News.FOUND_PREPARED, Call.COMPLETE, Call.COMMIT, News.ENDED), TransactionPhase.READY),
        ((*OPEN, Call.PREPARE, Call.ABORT, News.ENDED), TransactionPhase.READY),
    ],
)
def test_ways_through_the_states(steps: tuple[Call | News, ...], expected: TransactionPhase) -> None:
    assert follow(*steps) is expected


@pytest.mark.parametrize(
    ("state", "call", "message"),
    [
        (TransactionPhase.UNINITIALIZED, Call.BEGIN, "begin_transaction is not possible.*call init_transactions first"),
        (
            TransactionPhase.READY,
            Call.SEND,
            "send is not possible while no transaction is open: call begin_transaction first",
        ),
        (TransactionPhase.READY, Call.COMMIT, "call begin_transaction first"),
        (TransactionPhase.IN_TRANSACTION, Call.BEGIN, "end it with commit_transaction or abort_transaction"),
        (TransactionPhase.IN_TRANSACTION, Call.INITIALIZE, "end it with commit_transaction or abort_transaction"),
        (TransactionPhase.COMMITTING, Call.SEND, "await the call before"),
        (TransactionPhase.COMMIT_UNKNOWN, Call.ABORT, "call commit_transaction again, or init_transactions"),
        (TransactionPhase.ABORT_UNKNOWN, Call.COMMIT, "call abort_transaction again, or init_transactions"),
        (
            TransactionPhase.PREPARED,
            Call.SEND,
            "decide it with commit_transaction, abort_transaction or complete_transaction",
        ),
        (TransactionPhase.FATAL, Call.BEGIN, "close it, and create a new one"),
    ],
)
def test_a_call_in_the_wrong_state_names_the_remedy(state: TransactionPhase, call: Call, message: str) -> None:
    with pytest.raises(WrongTransactionState, match=message):
        after_call(state, call)


def test_a_failed_transaction_can_only_be_aborted() -> None:
    assert [call for call in Call if CLIENT_TRANSACTION.allows(TransactionPhase.FAILED, call)] == [Call.ABORT]


def test_nothing_leads_out_of_fatal() -> None:
    assert not any(CLIENT_TRANSACTION.allows(TransactionPhase.FATAL, call) for call in Call)
    assert {after_news(TransactionPhase.FATAL, news) for news in News} == {TransactionPhase.FATAL}


def test_news_lead_to_fatal_from_everywhere() -> None:
    assert {after_news(state, News.BROKEN) for state in TransactionPhase} == {TransactionPhase.FATAL}


def test_a_commit_of_unknown_outcome_is_never_followed_by_an_abort() -> None:
    """The commit may have happened: aborting would report as undone what is done."""
    assert not CLIENT_TRANSACTION.allows(TransactionPhase.COMMIT_UNKNOWN, Call.ABORT)
    assert not CLIENT_TRANSACTION.allows(TransactionPhase.ABORT_UNKNOWN, Call.COMMIT)


def test_every_state_but_the_last_can_be_left() -> None:
    for state in set(TransactionPhase) - {TransactionPhase.FATAL}:
        following = {
            after
            for (before, step), after in CLIENT_TRANSACTION.steps.items()
            if before is state and step is not News.BROKEN
        }
        assert following - {state}, state
        assert REMEDIES[state]
