"""The states of a transactional id and the steps between them: one table, which everything else asks.

The outcome of a transaction is fixed when a Prepare state is in the log; the Complete state says that every partition
has its marker. Names and numbers are Kafka's: both are seen by others, in `__transaction_state` and in replies.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from tidelog.model.transitions import Transitions


class TransactionState(IntEnum):
    """The numbers are those in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """As Kafka's tools show it."""
        return "".join(word.capitalize() for word in self.name.split("_"))


class TransactionStep(Enum):
    INITIALISE = "a producer initialises"
    ADD = "partitions are added"
    KEEP = "a successor keeps it open (KIP-939)"
    COMMIT = "the producer commits"
    ABORT = "the transaction is aborted"
    FENCE = "it times out, or another producer comes"
    COMPLETE = "every partition has its marker"
    EXPIRE = "the id is not used any more"


_EMPTY = TransactionState.EMPTY
_ONGOING = TransactionState.ONGOING
_PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
_PREPARE_ABORT = TransactionState.PREPARE_ABORT
_COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
_COMPLETE_ABORT = TransactionState.COMPLETE_ABORT
_DEAD = TransactionState.DEAD
_FENCE = TransactionState.PREPARE_EPOCH_FENCE

# No transaction is open, so a new one may begin, a new producer may come, and the id may expire.
IDLE = frozenset({_EMPTY, _COMPLETE_COMMIT, _COMPLETE_ABORT})
# Decided, but not every partition has its marker yet.
PREPARED = frozenset({_PREPARE_COMMIT, _PREPARE_ABORT})
COMPLETED = frozenset({_COMPLETE_COMMIT, _COMPLETE_ABORT})

TRANSACTION = Transitions(
    name="Transaction",
    meaning="What the transaction coordinator knows of a transactional id.",
    initial=(_EMPTY,),
    states={
        _EMPTY: "No transaction yet under this epoch.",
        _ONGOING: "A transaction is open.",
        _PREPARE_COMMIT: "It will be committed, whatever happens: partitions get their markers.",
        _PREPARE_ABORT: "It will be aborted, whatever happens: partitions get their markers.",
        _COMPLETE_COMMIT: "Committed, and every partition has its marker.",
        _COMPLETE_ABORT: "Aborted, and every partition has its marker.",
        _DEAD: "The id has expired. Never in the log: a tombstone stands there.",
        _FENCE: "The producer is fenced before its transaction is aborted. Never in the log.",
    },
    steps={
        **{(idle, TransactionStep.INITIALISE): _EMPTY for idle in IDLE},
        **{(idle, TransactionStep.ADD): _ONGOING for idle in IDLE},
        # A producer of the second protocol version also ends transactions that are not known here (KIP-890).
        **{(idle, TransactionStep.ABORT): _PREPARE_ABORT for idle in IDLE},
        **{(idle, TransactionStep.EXPIRE): _DEAD for idle in IDLE},
        (_ONGOING, TransactionStep.ADD): _ONGOING,
        (_ONGOING, TransactionStep.KEEP): _ONGOING,
        (_ONGOING, TransactionStep.COMMIT): _PREPARE_COMMIT,
        (_ONGOING, TransactionStep.ABORT): _PREPARE_ABORT,
        (_ONGOING, TransactionStep.FENCE): _FENCE,
        (_FENCE, TransactionStep.ABORT): _PREPARE_ABORT,
        (_PREPARE_COMMIT, TransactionStep.COMPLETE): _COMPLETE_COMMIT,
        (_PREPARE_ABORT, TransactionStep.COMPLETE): _COMPLETE_ABORT,
    },
)

STATES_BY_LABEL = {state.label: state for state in TransactionState}
