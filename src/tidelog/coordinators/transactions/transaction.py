"""What the coordinator knows of one transactional id, as an immutable value, and the steps that replace it.

Each step is one transition of the table in `states`. Who may ask for which step is decided by the modules that are
named after the requests; how a value is written to the log is in `records`.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.states import COMPLETED, IDLE, TRANSACTION, TransactionState, TransactionStep
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

# The two protocol versions as the log records them: before KIP-890 (0), and with an epoch for each transaction (2).
TRANSACTIONS_V1 = 0
TRANSACTIONS_V2 = 2

NO_TIMESTAMP = -1
# A participant of a two-phase commit waits for its decision as long as it takes (KIP-939).
NO_TIMEOUT_MS = (1 << 31) - 1

# The largest epoch is never given to a producer, so that it is always possible to fence one by raising its epoch.
LARGEST_EPOCH = 32767
LAST_EPOCH_OF_PRODUCER = LARGEST_EPOCH - 1

NO_PRODUCER = ProducerIdentity(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def is_epoch_exhausted(epoch: int) -> bool:
    return epoch >= LAST_EPOCH_OF_PRODUCER


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """`producer` is what the records and markers of the current or last transaction carry.

    `next_producer` is set while somebody else than `producer` may go on from here: after the last epoch of a producer
    id was used up by a transaction that is being ended, and for the successor of a producer that left a prepared
    transaction (KIP-939).
    """

    transactional_id: str
    producer: ProducerIdentity
    next_producer: ProducerIdentity = NO_PRODUCER
    # The id before the last step.
    previous_producer_id: int = NO_PRODUCER_ID
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = field(default=frozenset())
    start_ms: int = NO_TIMESTAMP
    last_update_ms: int
    # The protocol version of the client that made the last step.
    client_version: int = TRANSACTIONS_V1

    # ------------------------------------------------------------------------------------------------------------
    # Questions.

    @property
    def holder(self) -> ProducerIdentity:
        """The producer whose requests are accepted."""
        return self.producer if self.next_producer == NO_PRODUCER else self.next_producer

    @property
    def is_kept(self) -> bool:
        """Whether a prepared transaction waits for a successor of its producer to decide it (KIP-939)."""
        return self.state is TransactionState.ONGOING and self.next_producer != NO_PRODUCER

    @property
    def is_two_phase(self) -> bool:
        return self.timeout_ms == NO_TIMEOUT_MS

    @property
    def producer_before_end(self) -> ProducerIdentity | None:
        """Who ended the last transaction, if that gave the producer a new epoch (version 2).

        The reply may have been lost: whoever comes with this identity gets it again.
        """
        if self.client_version < TRANSACTIONS_V2 or self.state not in COMPLETED:
            return None
        if self.producer.producer_epoch == 0:
            return ProducerIdentity(self.previous_producer_id, LAST_EPOCH_OF_PRODUCER)
        return ProducerIdentity(self.producer.producer_id, self.producer.producer_epoch - 1)

    def check_holder(self, asking: ProducerIdentity) -> ErrorCode:
        if asking.producer_id != self.holder.producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if asking.producer_epoch != self.holder.producer_epoch:
            return ErrorCode.PRODUCER_FENCED
        return ErrorCode.NONE

    # ------------------------------------------------------------------------------------------------------------
    # Steps.

    def initialised(self, producer: ProducerIdentity, *, timeout_ms: int, now_ms: int) -> Transaction:
        """A producer has come, under an epoch (or an id) of its own. Which version it speaks is seen later."""
        return self._step(
            TransactionStep.INITIALISE,
            producer=producer,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_ms=NO_TIMESTAMP,
            last_update_ms=now_ms,
        )

    def kept(self, successor: ProducerIdentity, *, timeout_ms: int, now_ms: int) -> Transaction:
        """A successor has come and wants to decide the open transaction, not to abort it."""
        return self._step(
            TransactionStep.KEEP,
            next_producer=successor,
            timeout_ms=timeout_ms,
            last_update_ms=now_ms,
            client_version=TRANSACTIONS_V2,
        )

    def with_partitions(self, added: frozenset[TopicPartition], *, version: int, now_ms: int) -> Transaction:
        """The first partition begins the transaction."""
        begins = self.state is not TransactionState.ONGOING
        return self._step(
            TransactionStep.ADD,
            partitions=self.partitions | added,
            start_ms=now_ms if begins else self.start_ms,
            last_update_ms=now_ms,
            client_version=version,
        )

    def prepared(self, step: TransactionStep, *, version: int, now_ms: int, fresh_producer_id: int) -> Transaction:
        """The transaction is decided. Version 2 raises the epoch, so that no late request can end the next one.

        `fresh_producer_id` is used if there is no higher epoch left for the producer.
        """
        # Ended without a partition: the transaction began and ended at once.
        begun = now_ms if self.state in IDLE else self.start_ms
        changes: dict[str, Any] = {}
        if version >= TRANSACTIONS_V2:
            changes["producer"] = _raised(self.producer)
            changes["next_producer"] = self._holder_after_end(fresh_producer_id)
        return self._step(step, start_ms=begun, last_update_ms=now_ms, client_version=version, **changes)

    def fenced(self, *, version: int, now_ms: int) -> Transaction:
        """Nobody holds the transaction any more: its epoch is raised and it is aborted.

        A producer whose epochs are used up is fenced as in version 1, which needs no new id: the epoch that fences it
        is given to nobody, and whoever initialises next gets an id of their own.
        """
        fence = self._step(TransactionStep.FENCE)
        if version >= TRANSACTIONS_V2 and not is_epoch_exhausted(self.holder.producer_epoch):
            return fence.prepared(
                TransactionStep.ABORT, version=version, now_ms=now_ms, fresh_producer_id=NO_PRODUCER_ID
            )
        return fence._step(
            TransactionStep.ABORT,
            producer=_raised(self.producer),
            next_producer=_raised(self.next_producer) if self.is_kept else NO_PRODUCER,
            last_update_ms=now_ms,
            client_version=TRANSACTIONS_V1,
        )

    def completed(self, *, now_ms: int) -> Transaction:
        """Every partition has its marker."""
        return self._step(
            TransactionStep.COMPLETE,
            producer=self.holder,
            next_producer=NO_PRODUCER,
            partitions=frozenset(),
            last_update_ms=now_ms,
        )

    def expired(self) -> Transaction:
        return self._step(TransactionStep.EXPIRE, partitions=frozenset())

    def _holder_after_end(self, fresh_producer_id: int) -> ProducerIdentity:
        if is_epoch_exhausted(self.holder.producer_epoch):
            return ProducerIdentity(fresh_producer_id, 0)
        if self.next_producer == NO_PRODUCER:
            return NO_PRODUCER
        # The successor of a kept transaction gets one more epoch, for the reason that any producer does.
        return _raised(self.next_producer)

    def _step(self, step: TransactionStep, **changes: Any) -> Transaction:
        state = TRANSACTION.after(self.state, step, of=self.transactional_id)
        return replace(self, state=state, previous_producer_id=self.producer.producer_id, **changes)


def new_transactional_id(transactional_id: str, producer_id: int, *, timeout_ms: int, now_ms: int) -> Transaction:
    """The first producer under this name."""
    return Transaction(
        transactional_id=transactional_id,
        producer=ProducerIdentity(producer_id, 0),
        previous_producer_id=producer_id,
        timeout_ms=timeout_ms,
        last_update_ms=now_ms,
    )


def _raised(producer: ProducerIdentity) -> ProducerIdentity:
    return ProducerIdentity(producer.producer_id, min(producer.producer_epoch + 1, LARGEST_EPOCH))
