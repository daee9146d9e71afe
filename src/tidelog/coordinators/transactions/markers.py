"""The second half of ending a transaction: a marker in every partition, then the record that it is complete.

Which markers are due follows from the log: a transaction in a Prepare state needs one in each of its partitions. So a
new coordinator that has replayed the log writes them all again; a partition takes the second marker of a transaction
for what it is. Writing them is the caller's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from tidelog.coordinators.decision import ProducerIdentity, ShardDraft
from tidelog.coordinators.transactions.records import transaction_record
from tidelog.coordinators.transactions.state import TransactionTable
from tidelog.coordinators.transactions.states import PREPARED, TransactionState
from tidelog.coordinators.transactions.transaction import Transaction
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerWork:
    """The markers of one transaction that are to be written, again and again until all are."""

    transactional_id: str
    producer: ProducerIdentity
    commit: bool
    coordinator_epoch: int
    partitions: frozenset[TopicPartition]
    transaction_version: int


# What the leader of each partition answered; NONE once the marker is committed there.
MarkerCodes = Mapping[TopicPartition, ErrorCode]


class MarkerOutcome(Enum):
    WRITTEN = "written"
    RETRY = "retry"
    # Another coordinator has taken over: it does the rest.
    DEPOSED = "deposed"


# The partition has moved on to a later epoch of the producer, so this transaction is not open there; or it cannot hold
# transactions at all, so it never was.
_AS_GOOD_AS_WRITTEN = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)


def marker_outcome(code: ErrorCode) -> MarkerOutcome:
    """What the answer of a partition's leader means. Whatever is not understood is tried again."""
    if code in _AS_GOOD_AS_WRITTEN:
        return MarkerOutcome.WRITTEN
    if code is ErrorCode.TRANSACTION_COORDINATOR_FENCED:
        return MarkerOutcome.DEPOSED
    return MarkerOutcome.RETRY


def note_prepared(state: TransactionTable, transaction: Transaction) -> None:
    """A record that decides a transaction has been replayed."""
    state.unmarked[transaction.transactional_id] = set(transaction.partitions)
    state.marker_backlog.append(transaction.transactional_id)


def take_work(state: TransactionTable) -> list[MarkerWork]:
    """What has been decided since this was asked last."""
    backlog, state.marker_backlog = state.marker_backlog, []
    return [
        MarkerWork(
            transactional_id=transactional_id,
            producer=transaction.producer,
            commit=transaction.state is TransactionState.PREPARE_COMMIT,
            coordinator_epoch=state.coordinator_epoch,
            partitions=frozenset(state.unmarked[transactional_id]),
            transaction_version=transaction.client_version,
        )
        for transactional_id in dict.fromkeys(backlog)
        if (transaction := state.transactions.get(transactional_id)) is not None and transaction.state in PREPARED
    ]


def on_written(
    state: TransactionTable, work: MarkerWork, partitions: Iterable[TopicPartition], draft: ShardDraft
) -> None:
    """Some of the markers are in the log of their partition, and committed there."""
    transaction = state.transactions.get(work.transactional_id)
    if transaction is None or transaction.state not in PREPARED or transaction.producer != work.producer:
        return
    left = state.unmarked[work.transactional_id]
    left.difference_update(partitions)
    if not left:
        draft.append(transaction_record(transaction.completed(now_ms=draft.now.wall_ms)))
