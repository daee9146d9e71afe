"""What a shard of the transaction coordinator holds."""

from __future__ import annotations

from typing import NamedTuple

from tidelog.coordinators.decision import Moment, ProducerIdentity, Undecided
from tidelog.coordinators.timers import Timers
from tidelog.coordinators.transactions.settings import TransactionSettings
from tidelog.coordinators.transactions.transaction import Transaction
from tidelog.model.ids import TopicPartition


class TimeoutTimer(NamedTuple):
    """The end of the time that a transaction may take."""

    transactional_id: str


class IdExpiryTimer(NamedTuple):
    """The next look for transactional ids that nobody uses."""


TransactionTimer = TimeoutTimer | IdExpiryTimer


class EpochGrant(NamedTuple):
    """A producer asked for a new epoch of its own id (KIP-360): whom, and what it was given."""

    asked_by: ProducerIdentity
    given: ProducerIdentity


class ProducerIdNeeded(Undecided):
    """Without a new producer id: get one and ask again with it."""


PRODUCER_ID_NEEDED = ProducerIdNeeded()


class TransactionTable:
    """Mutable, and only touched by the functions of this package."""

    def __init__(self, settings: TransactionSettings, coordinator_epoch: int) -> None:
        self.settings = settings
        # The leader epoch of the shard's partition: markers carry it, so that those of a deposed coordinator are
        # refused.
        self.coordinator_epoch = coordinator_epoch
        # Durable: changed by replay alone.
        self.transactions: dict[str, Transaction] = {}
        # Partitions of decided transactions that lack their marker. Follows from `transactions` when a record is
        # replayed, and shrinks as markers are written; a new coordinator writes them all again.
        self.unmarked: dict[str, set[TopicPartition]] = {}
        # Decided transactions whose markers nobody has begun to write yet.
        self.marker_backlog: list[str] = []
        # Soft: at worst a retry that follows a change of coordinators is refused.
        self.epoch_grants: dict[str, EpochGrant] = {}
        self.timers: Timers[TransactionTimer] = Timers()

    def watch_timeout(self, transaction: Transaction, now: Moment) -> None:
        """The coordinator may have changed since the transaction began, hence the wall clock."""
        if transaction.is_two_phase:
            self.timers.cancel(TimeoutTimer(transaction.transactional_id))
            return
        left_ms = max(0, transaction.start_ms + transaction.timeout_ms - now.wall_ms)
        self.timers.schedule(TimeoutTimer(transaction.transactional_id), now.monotonic_ms + left_ms)
