"""The table of states: every call in every state either leads somewhere or is refused with a remedy."""

from __future__ import annotations

import pytest

from tidelog.client.errors import WrongTransactionState
from tidelog.client.transactions.states import CLIENT_TRANSACTION, REMEDIES, Call, News, State, after_call, after_news


def follow(*steps: Call | News) -> State:
    state = State.UNINITIALIZED
    for step in steps:
        state = after_call(state, step) if isinstance(step, Call) else after_news(state, step)
    return state


STARTED = (Call.INITIALIZE, News.INITIALIZED)
OPEN = (*STARTED, Call.BEGIN)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (STARTED, State.READY),
        ((*OPEN, Call.SEND, Call.SEND_OFFSETS, Call.COMMIT, News.ENDED), State.READY),
        ((*OPEN, Call.ABORT, News.ENDED, Call.BEGIN), State.IN_TRANSACTION),
        ((*OPEN, News.FAILED, Call.ABORT, News.ENDED), State.READY),
        ((*OPEN, Call.COMMIT, News.FAILED, Call.ABORT, News.ENDED), State.READY),
        ((*OPEN, Call.COMMIT, News.COMMIT_WITHDRAWN, Call.SEND), State.IN_TRANSACTION),
        ((*OPEN, Call.COMMIT, News.OUTCOME_LOST, Call.COMMIT, News.ENDED), State.READY),
        ((*OPEN, Call.COMMIT, News.OUTCOME_LOST, Call.INITIALIZE, News.INITIALIZED), State.READY),
        ((*OPEN, Call.ABORT, News.OUTCOME_LOST, Call.ABORT, News.ENDED), State.READY),
        ((*OPEN, Call.ABORT, News.FAILED), State.ABORTING),
        ((*STARTED, Call.INITIALIZE, News.INITIALIZED), State.READY),
        ((Call.INITIALIZE, News.INITIALIZATION_FAILED, Call.INITIALIZE), State.INITIALIZING),
        ((Call.INITIALIZE, News.FOUND_PREPARED, Call.COMPLETE, Call.COMMIT, News.ENDED), State.READY),
        ((*OPEN, Call.PREPARE, Call.ABORT, News.ENDED), State.READY),
    ],
)
def test_ways_through_the_states(steps: tuple[Call | News, ...], expected: State) -> None:
    assert follow(*steps) is expected


@pytest.mark.parametrize(
    ("state", "call", "message"),
    [
        (State.UNINITIALIZED, Call.BEGIN, "begin_transaction is not possible.*call init_transactions first"),
        (State.READY, Call.SEND, "send is not possible while no transaction is open: call begin_transaction first"),
        (State.READY, Call.COMMIT, "call begin_transaction first"),
        (State.IN_TRANSACTION, Call.BEGIN, "end it with commit_transaction or abort_transaction"),
        (State.IN_TRANSACTION, Call.INITIALIZE, "end it with commit_transaction or abort_transaction"),
        (State.COMMITTING, Call.SEND, "await the call before"),
        (State.COMMIT_UNKNOWN, Call.ABORT, "call commit_transaction again, or init_transactions"),
        (State.ABORT_UNKNOWN, Call.COMMIT, "call abort_transaction again, or init_transactions"),
        (State.PREPARED, Call.SEND, "decide it with commit_transaction, abort_transaction or complete_transaction"),
        (State.FATAL, Call.BEGIN, "close it, and create a new one"),
    ],
)
def test_a_call_in_the_wrong_state_names_the_remedy(state: State, call: Call, message: str) -> None:
    with pytest.raises(WrongTransactionState, match=message):
        after_call(state, call)


def test_a_failed_transaction_can_only_be_aborted() -> None:
    assert [call for call in Call if CLIENT_TRANSACTION.allows(State.FAILED, call)] == [Call.ABORT]


def test_nothing_leads_out_of_fatal() -> None:
    assert not any(CLIENT_TRANSACTION.allows(State.FATAL, call) for call in Call)
    assert {after_news(State.FATAL, news) for news in News} == {State.FATAL}


def test_news_lead_to_fatal_from_everywhere() -> None:
    assert {after_news(state, News.BROKEN) for state in State} == {State.FATAL}


def test_a_commit_of_unknown_outcome_is_never_followed_by_an_abort() -> None:
    """The commit may have happened: aborting would report as undone what is done."""
    assert not CLIENT_TRANSACTION.allows(State.COMMIT_UNKNOWN, Call.ABORT)
    assert not CLIENT_TRANSACTION.allows(State.ABORT_UNKNOWN, Call.COMMIT)


def test_every_state_but_the_last_can_be_left() -> None:
    for state in set(State) - {State.FATAL}:
        following = {
            after
            for (before, step), after in CLIENT_TRANSACTION.steps.items()
            if before is state and step is not News.BROKEN
        }
        assert following - {state}, state
        assert REMEDIES[state]
