"""ListTransactions and DescribeTransactions: questions, which change nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import groupby

from tidelog.coordinators.transactions.state import TransactionTable
from tidelog.coordinators.transactions.states import STATES_BY_LABEL, TransactionState
from tidelog.coordinators.transactions.transaction import Transaction
from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.describe_transactions_response import TopicData
from tidelog.protocol.messages.describe_transactions_response import TransactionState as DescribedTransaction
from tidelog.protocol.messages.list_transactions_response import TransactionState as ListedTransaction

ANY_DURATION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilter:
    """An empty filter lets everything through; a name that is no state lets nothing through."""

    state_names: Collection[str] = ()
    producer_ids: Collection[int] = ()
    # Only transactions that have been running for longer (KIP-994).
    longer_than_ms: int = ANY_DURATION
    # Whether a transactional id is wanted (KIP-1152).
    matches: Callable[[str], bool] | None = None

    @property
    def states(self) -> frozenset[TransactionState]:
        return frozenset(STATES_BY_LABEL[name] for name in self.state_names if name in STATES_BY_LABEL)

    @property
    def unknown_states(self) -> list[str]:
        return [name for name in self.state_names if name not in STATES_BY_LABEL]

    def includes(self, transaction: Transaction, now_ms: int) -> bool:
        if self.producer_ids and transaction.producer.producer_id not in self.producer_ids:
            return False
        if self.state_names and transaction.state not in self.states:
            return False
        if self.longer_than_ms >= 0 and now_ms - transaction.start_ms <= self.longer_than_ms:
            return False
        return self.matches is None or self.matches(transaction.transactional_id)


def list_transactions(state: TransactionTable, wanted: ListFilter, now_ms: int) -> list[ListedTransaction]:
    return [
        ListedTransaction(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer.producer_id,
            transaction_state=transaction.state.label,
        )
        for transaction in state.transactions.values()
        if wanted.includes(transaction, now_ms)
    ]


def describe_transaction(state: TransactionTable, transactional_id: str) -> DescribedTransaction:
    transaction = state.transactions.get(transactional_id)
    if transaction is None:
        return refused_description(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return DescribedTransaction(
        transactional_id=transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer.producer_id,
        producer_epoch=transaction.producer.producer_epoch,
        topics=[
            TopicData(topic=topic, partitions=[each.partition for each in partitions])
            for topic, partitions in groupby(sorted(transaction.partitions), key=lambda each: each.topic)
        ],
    )


def refused_description(transactional_id: str, code: ErrorCode) -> DescribedTransaction:
    return DescribedTransaction(transactional_id=transactional_id, error_code=code)
