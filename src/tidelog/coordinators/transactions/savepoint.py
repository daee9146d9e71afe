"""What a decision of the transaction coordinator may touch, so that one that fails can be undone."""

from __future__ import annotations

from tidelog.coordinators.transactions.state import TransactionTable


class TransactionSavepoint:
    """Set before a decision about one transactional id, or about none. Transactions themselves are immutable."""

    __slots__ = ("_grant", "_state", "_transactional_id", "_unmarked")

    def __init__(self, state: TransactionTable, transactional_id: str | None) -> None:
        self._state = state
        self._transactional_id = transactional_id
        self._grant = None if transactional_id is None else state.epoch_grants.get(transactional_id)
        unmarked = None if transactional_id is None else state.unmarked.get(transactional_id)
        self._unmarked = None if unmarked is None else unmarked.copy()
        state.timers.set_savepoint()

    def roll_back(self) -> None:
        state = self._state
        state.timers.roll_back()
        if self._transactional_id is None:
            return
        if self._grant is None:
            state.epoch_grants.pop(self._transactional_id, None)
        else:
            state.epoch_grants[self._transactional_id] = self._grant
        if self._unmarked is not None:
            state.unmarked[self._transactional_id] = self._unmarked
