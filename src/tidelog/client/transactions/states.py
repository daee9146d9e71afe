"""The states of a producer's transactions, and what leads from one to the next: one table, and nothing else.

What the user calls may be refused, and the refusal says what to call instead. What happens (an answer, a failure) is
never refused: where it means nothing, the state stays as it is.
"""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from tidelog.client.errors import WrongTransactionState


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
    # It can only be aborted.
    FAILED = "the transaction has failed"
    # Nothing can be done any more.
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


CALLS: dict[Call, dict[State, State]] = {
    Call.INITIALIZE: {
        State.UNINITIALIZED: State.INITIALIZING,
        State.READY: State.INITIALIZING,
        State.COMMIT_UNKNOWN: State.INITIALIZING,
        State.ABORT_UNKNOWN: State.INITIALIZING,
    },
    Call.BEGIN: {State.READY: State.IN_TRANSACTION},
    Call.SEND: {State.IN_TRANSACTION: State.IN_TRANSACTION},
    Call.SEND_OFFSETS: {State.IN_TRANSACTION: State.IN_TRANSACTION},
    Call.PREPARE: {State.IN_TRANSACTION: State.PREPARED},
    Call.COMMIT: {
        State.IN_TRANSACTION: State.COMMITTING,
        State.PREPARED: State.COMMITTING,
        State.COMMIT_UNKNOWN: State.COMMITTING,
    },
    Call.ABORT: {
        State.IN_TRANSACTION: State.ABORTING,
        State.PREPARED: State.ABORTING,
        State.FAILED: State.ABORTING,
        State.ABORT_UNKNOWN: State.ABORTING,
    },
    Call.COMPLETE: {State.PREPARED: State.PREPARED},
}

NEWS: dict[News, dict[State, State]] = {
    News.INITIALIZED: {State.INITIALIZING: State.READY},
    News.FOUND_PREPARED: {State.INITIALIZING: State.PREPARED},
    News.INITIALIZATION_FAILED: {State.INITIALIZING: State.UNINITIALIZED},
    News.COMMIT_WITHDRAWN: {State.COMMITTING: State.IN_TRANSACTION, State.PREPARED: State.IN_TRANSACTION},
    News.ENDED: {State.COMMITTING: State.READY, State.ABORTING: State.READY},
    News.OUTCOME_LOST: {State.COMMITTING: State.COMMIT_UNKNOWN, State.ABORTING: State.ABORT_UNKNOWN},
    News.FAILED: {
        State.IN_TRANSACTION: State.FAILED,
        State.COMMITTING: State.FAILED,
        State.PREPARED: State.FAILED,
    },
    News.BROKEN: dict.fromkeys(State, State.FATAL),
}


def after_call(state: State, call: Call) -> State:
    """Where a call leads; raises WrongTransactionState with what to call instead."""
    following = CALLS[call].get(state)
    if following is None:
        raise WrongTransactionState(f"{call.value} is not possible while {state.value}: {remedy(state)}")
    return following


def after_news(state: State, news: News) -> State:
    return NEWS[news].get(state, state)


def remedy(state: State) -> str:
    """What to do in this state, for whoever did something else."""
    match state:
        case State.UNINITIALIZED:
            return "call init_transactions first, once"
        case State.INITIALIZING | State.COMMITTING | State.ABORTING:
            return "await the call before"
        case State.READY:
            return "call begin_transaction first"
        case State.IN_TRANSACTION:
            return "end it with commit_transaction or abort_transaction"
        case State.PREPARED:
            return "decide it with commit_transaction, abort_transaction or complete_transaction"
        case State.COMMIT_UNKNOWN:
            return "call commit_transaction again, or init_transactions to start anew"
        case State.ABORT_UNKNOWN:
            return "call abort_transaction again, or init_transactions to start anew"
        case State.FAILED:
            return "call abort_transaction, then begin_transaction"
        case State.FATAL:
            return "close it, and make a new one"
        case _:
            assert_never(state)
