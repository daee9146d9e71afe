"""Proof that the transaction coordinator knows of a transaction before its first record is written (KIP-890).

A guard is created before the coordinator is asked and presented when the record is appended. It is void as soon as a
marker or a record of the producer has been written in between: the answer was then about another transaction.
"""

from __future__ import annotations

from typing import NewType

from tidelog.model.lazy_dataclasses import dataclass

VerificationGuard = NewType("VerificationGuard", int)

# Never matches. An append presents it that needs no guard, because its transaction is already open here.
NO_GUARD = VerificationGuard(0)


@dataclass(slots=True, kw_only=True)
class PendingVerification:
    """One producer whose transaction is being verified."""

    guard: VerificationGuard
    started_ms: int
    lowest_sequence: int
    epoch: int
    # The producer's epoch grows with every transaction (transactions v2), so its sequence must begin at 0 here.
    supports_epoch_bump: bool


class TransactionVerifications:
    """The verifications that are under way in one partition, at most one per producer id."""

    __slots__ = ("_last_guard", "_pending")

    def __init__(self) -> None:
        self._pending: dict[int, PendingVerification] = {}
        self._last_guard = 0

    def begin(
        self, producer_id: int, *, sequence: int, epoch: int, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationGuard:
        """A guard to present later. Requests that verify at the same time share it.

        The lowest sequence is kept, because the first record of the transaction must not overtake an earlier one
        that is being verified and still to be appended.
        """
        pending = self._pending.get(producer_id)
        if pending is None:
            self._last_guard += 1
            pending = PendingVerification(
                guard=VerificationGuard(self._last_guard),
                started_ms=now_ms,
                lowest_sequence=sequence,
                epoch=epoch,
                supports_epoch_bump=supports_epoch_bump,
            )
            self._pending[producer_id] = pending
        elif epoch > pending.epoch:
            pending.epoch = epoch
            pending.lowest_sequence = sequence
        elif epoch == pending.epoch and sequence < pending.lowest_sequence:
            pending.lowest_sequence = sequence
        return pending.guard

    def get(self, producer_id: int) -> PendingVerification | None:
        return self._pending.get(producer_id)

    def accepts(self, producer_id: int, guard: VerificationGuard) -> bool:
        pending = self._pending.get(producer_id)
        return pending is not None and pending.guard == guard

    def end(self, producer_id: int) -> None:
        self._pending.pop(producer_id, None)

    def expire(self, before_ms: int) -> None:
        """Drop those that began at or before `before_ms`."""
        for producer_id in [key for key, pending in self._pending.items() if pending.started_ms <= before_ms]:
            del self._pending[producer_id]

    def clear(self) -> None:
        self._pending.clear()
