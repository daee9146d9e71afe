"""A shard of the transaction coordinator: the transactional ids that hash to one partition of `__transaction_state`.

This is the package's only door: it says who is called for which request, record and timer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidelog.coordinators.decision import (
    NOTHING_TO_DO,
    CoordinatorRecord,
    Moment,
    ShardDecision,
    ShardDraft,
    ShardRequest,
)
from tidelog.coordinators.timers import FAILED_TIMER_RETRY_MS
from tidelog.coordinators.transactions import invariants, listing, markers, timeouts
from tidelog.coordinators.transactions.add_partitions import add_or_verify
from tidelog.coordinators.transactions.end_transaction import end
from tidelog.coordinators.transactions.init_producer_id import initialise
from tidelog.coordinators.transactions.listing import ListFilter
from tidelog.coordinators.transactions.markers import MarkerWork
from tidelog.coordinators.transactions.records import read_transaction
from tidelog.coordinators.transactions.savepoint import TransactionSavepoint
from tidelog.coordinators.transactions.settings import TransactionSettings
from tidelog.coordinators.transactions.state import (
    IdExpiryTimer,
    ProducerIdNeeded,
    TimeoutTimer,
    TransactionTable,
    TransactionTimer,
)
from tidelog.coordinators.transactions.states import PREPARED, TransactionState
from tidelog.coordinators.transactions.transaction import Transaction
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from tidelog.protocol.messages.describe_transactions_response import TransactionState as DescribedTransaction
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.list_transactions_response import TransactionState as ListedTransaction
from tidelog.protocol.messages.transaction_log_key import TransactionLogKey
from tidelog.protocol.messages.transaction_log_value import TransactionLogValue
from tidelog.protocol.schema import Message


class TransactionShard:
    """A `CoordinatorShard`."""

    def __init__(self, settings: TransactionSettings, *, coordinator_epoch: int) -> None:
        self._state = TransactionTable(settings, coordinator_epoch)
        # What the last decision began with, and the timer that asked for it.
        self._savepoint = TransactionSavepoint(self._state, None)
        self._firing: TransactionTimer | None = None

    @property
    def coordinator_epoch(self) -> int:
        return self._state.coordinator_epoch

    def reconfigure(self, settings: TransactionSettings) -> None:
        """Properties of the broker or features of the cluster have changed."""
        self._state.settings = settings

    @property
    def transactions(self) -> Collection[Transaction]:
        """To look at, not to touch."""
        return self._state.transactions.values()

    # ------------------------------------------------------------------------------------------------------------
    # Decisions.

    def decide(self, request: ShardRequest, now: Moment) -> ShardDecision | ProducerIdNeeded:
        self._begin(_transactional_id_of(request.message))
        draft = ShardDraft(now)
        state = self._state
        needed: ProducerIdNeeded | None = None
        match request.message:
            case AddPartitionsToTxnRequest() as message:
                add_or_verify(state, request, message, draft)
            case EndTxnRequest() as message:
                needed = end(state, request, message, draft)
            case InitProducerIdRequest() as message:
                needed = initialise(state, request, message, draft)
            case message:
                raise TypeError(f"{type(message).__name__} is not a request to the transaction coordinator")
        return draft.finish() if needed is None else needed

    def next_deadline(self) -> float | None:
        return self._state.timers.next_deadline()

    def on_time(self, now: Moment) -> ShardDecision:
        """What the earliest timer that is due asks for. Others stay due and are asked for again at once, so that a
        decision that fails holds up none of them."""
        self._begin()
        draft = ShardDraft(now)
        timer = self._state.timers.take_due(now.monotonic_ms)
        self._firing = timer
        match timer:
            case TimeoutTimer():
                timeouts.on_timeout(self._state, timer.transactional_id, draft)
            case IdExpiryTimer():
                timeouts.on_expiry(self._state, draft)
        return draft.finish()

    def roll_back(self, now: Moment) -> None:
        self._savepoint.roll_back()
        if self._firing is not None:
            self._state.timers.schedule(self._firing, now.monotonic_ms + FAILED_TIMER_RETRY_MS)

    def _begin(self, transactional_id: str | None = None) -> None:
        """Every decision starts here, so that it can be rolled back."""
        self._savepoint = TransactionSavepoint(self._state, transactional_id)
        self._firing = None

    def on_loaded(self, now: Moment) -> ShardDecision:
        """`take_marker_work` has what is left to do."""
        self._begin()
        timeouts.schedule_all(self._state, now)
        return NOTHING_TO_DO

    # ------------------------------------------------------------------------------------------------------------
    # Markers.

    def take_marker_work(self) -> list[MarkerWork]:
        """The markers of all transactions that were decided since the last call.

        They may be written once the records replayed so far are committed, not before: a decision that gets lost with
        its coordinator must not be known to anybody.
        """
        return markers.take_work(self._state)

    def on_markers_written(self, work: MarkerWork, partitions: Iterable[TopicPartition], now: Moment) -> ShardDecision:
        """Completes the transaction once all its partitions have been reported."""
        self._begin(work.transactional_id)
        draft = ShardDraft(now)
        markers.on_written(self._state, work, partitions, draft)
        return draft.finish()

    # ------------------------------------------------------------------------------------------------------------
    # Replay: the only way in which durable state changes.

    def replay(self, record: CoordinatorRecord, *, offset: int = -1, producer_id: int | None = None) -> None:
        match record.key, record.value:
            case TransactionLogKey() as key, TransactionLogValue() as value:
                self._replay_transaction(read_transaction(key.transactional_id, value))
            case TransactionLogKey() as key, None:
                self._forget(key.transactional_id)
                self._state.transactions.pop(key.transactional_id, None)
                self._state.epoch_grants.pop(key.transactional_id, None)
            case key, _:
                raise TypeError(f"{type(key).__name__} is not a key of __transaction_state")

    def replay_marker(self, producer_id: int, *, commit: bool) -> None:
        """Nobody writes to this topic in a transaction."""

    def _replay_transaction(self, transaction: Transaction) -> None:
        state = self._state
        state.transactions[transaction.transactional_id] = transaction
        if transaction.state is TransactionState.ONGOING:
            return
        self._forget(transaction.transactional_id)
        if transaction.state in PREPARED:
            markers.note_prepared(state, transaction)

    def _forget(self, transactional_id: str) -> None:
        self._state.unmarked.pop(transactional_id, None)
        self._state.timers.cancel(TimeoutTimer(transactional_id))

    # ------------------------------------------------------------------------------------------------------------
    # Questions, which change nothing.

    def check_invariants(self) -> None:
        invariants.check(self._state)

    def size(self) -> str:
        return f"{len(self._state.transactions)} transactional ids"

    def is_completing(self, transactional_id: str) -> bool:
        """Whether its transaction is decided and its markers are still being written."""
        transaction = self._state.transactions.get(transactional_id)
        return transaction is not None and transaction.state in PREPARED

    def list_transactions(self, wanted: ListFilter, now_ms: int) -> list[ListedTransaction]:
        return listing.list_transactions(self._state, wanted, now_ms)

    def describe_transaction(self, transactional_id: str) -> DescribedTransaction:
        return listing.describe_transaction(self._state, transactional_id)


def _transactional_id_of(message: Message) -> str | None:
    """The one that a decision about this request may touch. A request reaches a shard with one at a time."""
    if isinstance(message, AddPartitionsToTxnRequest):
        return message.transactions[0].transactional_id if message.transactions else None
    return getattr(message, "transactional_id", None)
