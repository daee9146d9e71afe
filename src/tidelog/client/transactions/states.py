"""The states of a producer's transactions, and what leads from one to the next: one table, and nothing else.

What the user calls may be refused, and the refusal says what to call instead. What happens (an answer, a failure) is
never refused: where it means nothing, the state stays as it is.
"""

from __future__ import annotations

from enum import Enum

from tidelog.client.errors import WrongTransactionState
from tidelog.model.transitions import Transitions


class TransactionPhase(Enum):
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


CLIENT_TRANSACTION: Transitions[TransactionPhase, Call | News] = Transitions(
    name="Client transaction",
    meaning="What a transactional producer may be asked for, and what has become of the transaction before.",
    initial=(TransactionPhase.UNINITIALIZED,),
    states={state: state.value for state in TransactionPhase},
    steps={
        (TransactionPhase.UNINITIALIZED, Call.INITIALIZE): TransactionPhase.INITIALIZING,
        (TransactionPhase.INITIALIZING, News.INITIALIZED): TransactionPhase.READY,
        (TransactionPhase.INITIALIZING, News.FOUND_PREPARED): TransactionPhase.PREPARED,
        (TransactionPhase.INITIALIZING, News.INITIALIZATION_FAILED): TransactionPhase.UNINITIALIZED,
        (TransactionPhase.READY, Call.INITIALIZE): TransactionPhase.INITIALIZING,
        (TransactionPhase.READY, Call.BEGIN): TransactionPhase.IN_TRANSACTION,
        (TransactionPhase.IN_TRANSACTION, Call.SEND): TransactionPhase.IN_TRANSACTION,
        (TransactionPhase.IN_TRANSACTION, Call.SEND_OFFSETS): TransactionPhase.IN_TRANSACTION,
        (TransactionPhase.IN_TRANSACTION, Call.PREPARE): TransactionPhase.PREPARED,
        (TransactionPhase.IN_TRANSACTION, Call.COMMIT): TransactionPhase.COMMITTING,
        (TransactionPhase.IN_TRANSACTION, Call.ABORT): TransactionPhase.ABORTING,
        (TransactionPhase.IN_TRANSACTION, News.FAILED): TransactionPhase.FAILED,
        (TransactionPhase.PREPARED, Call.COMMIT): TransactionPhase.COMMITTING,
        (TransactionPhase.PREPARED, Call.ABORT): TransactionPhase.ABORTING,
        (TransactionPhase.PREPARED, Call.COMPLETE): TransactionPhase.PREPARED,
        (TransactionPhase.PREPARED, News.COMMIT_WITHDRAWN): TransactionPhase.IN_TRANSACTION,
        (TransactionPhase.PREPARED, News.FAILED): TransactionPhase.FAILED,
        (TransactionPhase.COMMITTING, News.COMMIT_WITHDRAWN): TransactionPhase.IN_TRANSACTION,
        (TransactionPhase.COMMITTING, News.ENDED): TransactionPhase.READY,
        (TransactionPhase.COMMITTING, News.OUTCOME_LOST): TransactionPhase.COMMIT_UNKNOWN,
        (TransactionPhase.COMMITTING, News.FAILED): TransactionPhase.FAILED,
        (TransactionPhase.ABORTING, News.ENDED): TransactionPhase.READY,
        (TransactionPhase.ABORTING, News.OUTCOME_LOST): TransactionPhase.ABORT_UNKNOWN,
        (TransactionPhase.COMMIT_UNKNOWN, Call.INITIALIZE): TransactionPhase.INITIALIZING,
        (TransactionPhase.COMMIT_UNKNOWN, Call.COMMIT): TransactionPhase.COMMITTING,
        (TransactionPhase.ABORT_UNKNOWN, Call.INITIALIZE): TransactionPhase.INITIALIZING,
        (TransactionPhase.ABORT_UNKNOWN, Call.ABORT): TransactionPhase.ABORTING,
        (TransactionPhase.FAILED, Call.ABORT): TransactionPhase.ABORTING,
        **{
            (state, News.BROKEN): TransactionPhase.FATAL
            for state in TransactionPhase
            if state is not TransactionPhase.FATAL
        },
    },
)


# What to do in each state, for whoever did something else.
REMEDIES = {
    TransactionPhase.UNINITIALIZED: "call init_transactions first, once",
    TransactionPhase.INITIALIZING: "await the call before",
    TransactionPhase.COMMITTING: "await the call before",
    TransactionPhase.ABORTING: "await the call before",
    TransactionPhase.READY: "call begin_transaction first",
    TransactionPhase.IN_TRANSACTION: "end it with commit_transaction or abort_transaction",
    TransactionPhase.PREPARED: "decide it with commit_transaction, abort_transaction or complete_transaction",
    TransactionPhase.COMMIT_UNKNOWN: "call commit_transaction again, or init_transactions to start again",
    TransactionPhase.ABORT_UNKNOWN: "call abort_transaction again, or init_transactions to start again",
    TransactionPhase.FAILED: "call abort_transaction, then begin_transaction",
    TransactionPhase.FATAL: "close it, and create a new one",
}


def after_call(state: TransactionPhase, call: Call) -> TransactionPhase:
    """Where a call leads; raises WrongTransactionState with what to call instead."""
    if not CLIENT_TRANSACTION.allows(state, call):
        raise WrongTransactionState(f"{call.value} is not possible while {state.value}: {REMEDIES[state]}")
    return CLIENT_TRANSACTION.after(state, call)


def after_news(state: TransactionPhase, news: News) -> TransactionPhase:
    return CLIENT_TRANSACTION.after(state, news) if CLIENT_TRANSACTION.allows(state, news) else state
