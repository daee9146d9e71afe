"""The states of a producer's transactions, and what leads from one to the next: one table, and nothing else.

What the user calls may be refused, and the refusal says what to call instead. What happens (an answer, a failure) is
never refused: where it means nothing, the state stays as it is.
"""

from __future__ import annotations

from enum import Enum

from tidelog.client.errors import WrongTransactionState
from tidelog.model.transitions import Transitions


class State(Enum):
    # Values are what a user reads in an error message.
    UNINITIALIZED = "init_transactions has not been called"
    INITIALIZING = "init_transactions is under way"
    READY = "no transaction is open"
    IN_TRANSACTION = "a transaction is open"
    PREPARED = "the transaction is prepared"
    COMMITTING = "a commit is under way"
    ABORTING = "an abort is under way"
    COMMIT_UNKNOWN = "a commit got no answer"
    ABORT_UNKNOWN = "an abort got no answer"
    FAILED = "the transaction has failed"
    FATAL = "the producer is out of use"


class Call(Enum):
    """What users call. Values are the names of the methods."""

    INITIALIZE = "init_transactions"
    BEGIN = "begin_transaction"
    SEND = "send"
    SEND_OFFSETS = "send_offsets"
    PREPARE = "prepare_transaction"
    COMMIT = "commit_transaction"
    ABORT = "abort_transaction"
    COMPLETE = "complete_transaction"


class News(Enum):
    """What happens without anybody calling for it."""

    INITIALIZED = "a producer id was given"
    # With `keep_prepared`: the transaction of a predecessor is still open.
    FOUND_PREPARED = "a prepared transaction was found"
    INITIALIZATION_FAILED = "no producer id was given"
    # All records of a commit that was called for are not stored yet, and it was cancelled.
    COMMIT_WITHDRAWN = "the commit was withdrawn"
    ENDED = "the transaction has ended"
    OUTCOME_LOST = "the answer did not come"
    FAILED = "the transaction must be aborted"
    BROKEN = "the producer must stop"


CLIENT_TRANSACTION: Transitions[State, Call | News] = Transitions(
    name="Client transaction",
    meaning="What a transactional producer may be asked for, and what has become of the transaction before.",
    initial=(State.UNINITIALIZED,),
    states={state: state.value for state in State},
    steps={
        (State.UNINITIALIZED, Call.INITIALIZE): State.INITIALIZING,
        (State.INITIALIZING, News.INITIALIZED): State.READY,
        (State.INITIALIZING, News.FOUND_PREPARED): State.PREPARED,
        (State.INITIALIZING, News.INITIALIZATION_FAILED): State.UNINITIALIZED,
        (State.READY, Call.INITIALIZE): State.INITIALIZING,
        (State.READY, Call.BEGIN): State.IN_TRANSACTION,
        (State.IN_TRANSACTION, Call.SEND): State.IN_TRANSACTION,
        (State.IN_TRANSACTION, Call.SEND_OFFSETS): State.IN_TRANSACTION,
        (State.IN_TRANSACTION, Call.PREPARE): State.PREPARED,
        (State.IN_TRANSACTION, Call.COMMIT): State.COMMITTING,
        (State.IN_TRANSACTION, Call.ABORT): State.ABORTING,
        (State.IN_TRANSACTION, News.FAILED): State.FAILED,
        (State.PREPARED, Call.COMMIT): State.COMMITTING,
        (State.PREPARED, Call.ABORT): State.ABORTING,
        (State.PREPARED, Call.COMPLETE): State.PREPARED,
        (State.PREPARED, News.COMMIT_WITHDRAWN): State.IN_TRANSACTION,
        (State.PREPARED, News.FAILED): State.FAILED,
        (State.COMMITTING, News.COMMIT_WITHDRAWN): State.IN_TRANSACTION,
        (State.COMMITTING, News.ENDED): State.READY,
        (State.COMMITTING, News.OUTCOME_LOST): State.COMMIT_UNKNOWN,
        (State.COMMITTING, News.FAILED): State.FAILED,
        (State.ABORTING, News.ENDED): State.READY,
        (State.ABORTING, News.OUTCOME_LOST): State.ABORT_UNKNOWN,
        (State.COMMIT_UNKNOWN, Call.INITIALIZE): State.INITIALIZING,
        (State.COMMIT_UNKNOWN, Call.COMMIT): State.COMMITTING,
        (State.ABORT_UNKNOWN, Call.INITIALIZE): State.INITIALIZING,
        (State.ABORT_UNKNOWN, Call.ABORT): State.ABORTING,
        (State.FAILED, Call.ABORT): State.ABORTING,
        **{(state, News.BROKEN): State.FATAL for state in State if state is not State.FATAL},
    },
)


# What to do in each state, for whoever did something else.
REMEDIES = {
    State.UNINITIALIZED: "call init_transactions first, once",
    State.INITIALIZING: "await the call before",
    State.COMMITTING: "await the call before",
    State.ABORTING: "await the call before",
    State.READY: "call begin_transaction first",
    State.IN_TRANSACTION: "end it with commit_transaction or abort_transaction",
    State.PREPARED: "decide it with commit_transaction, abort_transaction or complete_transaction",
    State.COMMIT_UNKNOWN: "call commit_transaction again, or init_transactions to start again",
    State.ABORT_UNKNOWN: "call abort_transaction again, or init_transactions to start again",
    State.FAILED: "call abort_transaction, then begin_transaction",
    State.FATAL: "close it, and create a new one",
}


def after_call(state: State, call: Call) -> State:
    """Where a call leads; raises WrongTransactionState with what to call instead."""
    if not CLIENT_TRANSACTION.allows(state, call):
        raise WrongTransactionState(f"{call.value} is not possible while {state.value}: {REMEDIES[state]}")
    return CLIENT_TRANSACTION.after(state, call)


def after_news(state: State, news: News) -> State:
    return CLIENT_TRANSACTION.after(state, news) if CLIENT_TRANSACTION.allows(state, news) else state
