"""The states of a transactional id and the steps between them: one table, which everything else asks.

    Empty ──► Ongoing ──► PrepareCommit ──► CompleteCommit
                 │                               │
                 ├──► PrepareAbort ──► CompleteAbort
                 └──► PrepareEpochFence ──► PrepareAbort

The outcome of a transaction is fixed when a Prepare state is in the log; the Complete state says that every partition
has been told. Names and numbers are Kafka's: both are seen by others, in `__transaction_state` and in replies.
"""

from __future__ import annotations

from enum import IntEnum


class TransactionState(IntEnum):
    """The numbers are those in the log."""

    # No transaction yet under this epoch.
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    # The id has expired and is about to be removed. Never in the log: its place is a tombstone.
    DEAD = 6
    # The producer is being fenced before its transaction is aborted. Never in the log either.
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """As Kafka's tools show it."""
        return "".join(word.capitalize() for word in self.name.split("_"))


_EMPTY = TransactionState.EMPTY
_ONGOING = TransactionState.ONGOING
_PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
_PREPARE_ABORT = TransactionState.PREPARE_ABORT
_COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
_COMPLETE_ABORT = TransactionState.COMPLETE_ABORT
_DEAD = TransactionState.DEAD
_FENCE = TransactionState.PREPARE_EPOCH_FENCE

# From each state to those that may follow. PrepareAbort may follow a state without a transaction, because a producer
# of the second protocol version also ends transactions that the coordinator has not heard of (KIP-890).
_FROM_IDLE = frozenset({_EMPTY, _ONGOING, _PREPARE_ABORT, _DEAD})
TRANSITIONS: dict[TransactionState, frozenset[TransactionState]] = {
    _EMPTY: _FROM_IDLE,
    _ONGOING: frozenset({_ONGOING, _PREPARE_COMMIT, _PREPARE_ABORT, _FENCE}),
    _PREPARE_COMMIT: frozenset({_COMPLETE_COMMIT}),
    _PREPARE_ABORT: frozenset({_COMPLETE_ABORT}),
    _COMPLETE_COMMIT: _FROM_IDLE,
    _COMPLETE_ABORT: _FROM_IDLE,
    _DEAD: frozenset(),
    _FENCE: frozenset({_PREPARE_ABORT}),
}

# No transaction is open, so a new one may begin, a new producer may come, and the id may expire.
IDLE = frozenset({_EMPTY, _COMPLETE_COMMIT, _COMPLETE_ABORT})
# Decided, but not every partition has been told yet.
PREPARED = frozenset({_PREPARE_COMMIT, _PREPARE_ABORT})
COMPLETED = frozenset({_COMPLETE_COMMIT, _COMPLETE_ABORT})

STATES_BY_LABEL = {state.label: state for state in TransactionState}


class IllegalTransition(Exception):
    """A step that the table does not have: a broken invariant, which stops the shard."""

    def __init__(self, transactional_id: str, before: TransactionState, after: TransactionState) -> None:
        super().__init__(f"{transactional_id!r} cannot go from {before.label} to {after.label}")


def require_transition(transactional_id: str, before: TransactionState, after: TransactionState) -> None:
    if after not in TRANSITIONS[before]:
        raise IllegalTransition(transactional_id, before, after)
