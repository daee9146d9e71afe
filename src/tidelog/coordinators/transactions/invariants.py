"""What must hold of a shard's state between two decisions."""

from __future__ import annotations

from tidelog.coordinators.transactions.state import IdExpiryTimer, TimeoutTimer, TransactionTable
from tidelog.coordinators.transactions.states import COMPLETED, PREPARED, TransactionState
from tidelog.coordinators.transactions.transaction import LARGEST_EPOCH, NO_PRODUCER, NO_TIMESTAMP, Transaction
from tidelog.model.invariants import require

_NEVER_IN_THE_LOG = (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)


def check(state: TransactionTable) -> None:
    for transactional_id, transaction in state.transactions.items():
        require(transaction.transactional_id == transactional_id, transactional_id, "is under its own name")
        _check_transaction(transaction)
        unmarked = state.unmarked.get(transactional_id, set())
        require(unmarked <= transaction.partitions, transaction, "only its partitions lack markers", unmarked=unmarked)
    prepared = {each.transactional_id for each in state.transactions.values() if each.state in PREPARED}
    require(state.unmarked.keys() == prepared, "unmarked", "has the decided transactions", unmarked=[*state.unmarked])
    require(state.epoch_grants.keys() <= state.transactions.keys(), "epoch grants", "are for ids that exist")
    state.timers.check_invariants()
    if IdExpiryTimer() in state.timers:
        # The log has been replayed, so the clock runs.
        for transaction in state.transactions.values():
            if transaction.state is TransactionState.ONGOING and not transaction.is_two_phase:
                has_timer = TimeoutTimer(transaction.transactional_id) in state.timers
                require(has_timer, transaction, "an open transaction has a deadline")


def _check_transaction(transaction: Transaction) -> None:
    state = transaction.state
    require(state not in _NEVER_IN_THE_LOG, transaction, "is in a state that the log can hold")
    require(transaction.producer.producer_epoch <= LARGEST_EPOCH, transaction, "has an epoch of 16 bits")
    if state is TransactionState.EMPTY or state in COMPLETED:
        require(not transaction.partitions, transaction, "has no partitions without a transaction")
    if state in COMPLETED:
        require(transaction.next_producer == NO_PRODUCER, transaction, "belongs to its holder once it is complete")
    has_begun = state is TransactionState.ONGOING or state in PREPARED
    require(not has_begun or transaction.start_ms != NO_TIMESTAMP, transaction, "says since when it is open")
