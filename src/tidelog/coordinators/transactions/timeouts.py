"""What happens when nothing happens: transactions that run out of time, and transactional ids that nobody uses."""

from __future__ import annotations

from tidelog.coordinators.decision import Moment, ShardDraft
from tidelog.coordinators.transactions.records import transaction_record, transaction_tombstone
from tidelog.coordinators.transactions.state import IdExpiryTimer, TimeoutTimer, TransactionTable
from tidelog.coordinators.transactions.states import IDLE, TransactionState


def schedule_all(state: TransactionTable, now: Moment) -> None:
    """After the log was replayed."""
    for transaction in state.transactions.values():
        if transaction.state is TransactionState.ONGOING:
            state.watch_timeout(transaction, now)
    _schedule_expiry(state, now)


def on_timeout(state: TransactionTable, transactional_id: str, draft: ShardDraft) -> None:
    transaction = state.transactions.get(transactional_id)
    if transaction is None or transaction.state is not TransactionState.ONGOING or transaction.is_two_phase:
        return
    # If the log refuses the record, the transaction is as it was, and nobody else would think of it.
    retry_ms = state.settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
    state.timers.schedule(TimeoutTimer(transactional_id), draft.now.monotonic_ms + retry_ms)
    fenced = transaction.fenced(version=state.settings.transaction_version, now_ms=draft.now.wall_ms)
    draft.append(transaction_record(fenced))


def on_expiry(state: TransactionTable, draft: ShardDraft) -> None:
    _schedule_expiry(state, draft.now)
    oldest_ms = draft.now.wall_ms - state.settings.transactional_id_expiration_ms
    for transaction in state.transactions.values():
        if transaction.state in IDLE and transaction.last_update_ms <= oldest_ms:
            draft.append(transaction_tombstone(transaction.expired().transactional_id))
            # Each tombstone stands for itself, and there may be many.
            draft.atomic = False


def _schedule_expiry(state: TransactionTable, now: Moment) -> None:
    interval_ms = state.settings.transaction_remove_expired_transaction_cleanup_interval_ms
    state.timers.schedule(IdExpiryTimer(), now.monotonic_ms + interval_ms)
