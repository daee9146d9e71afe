"""AddPartitionsToTxn: which partitions a transaction writes to, asked by producers and by brokers.

Producers of the first protocol version ask before they write (version 0 to 3). Brokers ask on behalf of producers:
whether a partition was added (verify only, from version 4), and from version 5 for those of the second protocol
version, whose writes add the partition themselves (KIP-890). AddOffsetsToTxn comes here too, with the partition of
`__consumer_offsets` that holds the group.

A message has one transaction, in the form of version 4; whoever calls has taken longer ones apart.
"""

from __future__ import annotations

from tidelog.coordinators.decision import ProducerIdentity, ShardDraft, ShardRequest
from tidelog.coordinators.transactions import replies
from tidelog.coordinators.transactions.records import transaction_record
from tidelog.coordinators.transactions.state import TransactionTable
from tidelog.coordinators.transactions.states import PREPARED, TransactionState
from tidelog.coordinators.transactions.transaction import TRANSACTIONS_V1, TRANSACTIONS_V2, Transaction
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)

_SECOND_PROTOCOL_VERSION_FROM = 5


def add_or_verify(
    state: TransactionTable, request: ShardRequest, message: AddPartitionsToTxnRequest, draft: ShardDraft
) -> None:
    (wanted,) = message.transactions
    partitions = replies.partitions_of(wanted)
    if wanted.verify_only:
        codes = _verify(state.transactions.get(wanted.transactional_id), wanted, partitions)
    else:
        version = TRANSACTIONS_V2 if request.version >= _SECOND_PROTOCOL_VERSION_FROM else TRANSACTIONS_V1
        code = _add(state, wanted, partitions, version, draft)
        codes = dict.fromkeys(partitions, code)
    draft.answer(request.token, replies.added(wanted.transactional_id, codes, request.version))


def _add(
    state: TransactionTable,
    wanted: AddPartitionsToTxnTransaction,
    partitions: frozenset[TopicPartition],
    version: int,
    draft: ShardDraft,
) -> ErrorCode:
    if not wanted.transactional_id:
        return ErrorCode.INVALID_REQUEST
    transaction = state.transactions.get(wanted.transactional_id)
    if transaction is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if transaction.state in PREPARED:
        # Before the check of the producer: the next transaction may have another producer id, which this one's end
        # brings in.
        return ErrorCode.CONCURRENT_TRANSACTIONS
    code = _check_holder(transaction, wanted)
    if code is not ErrorCode.NONE:
        return code
    if transaction.state is TransactionState.ONGOING and partitions <= transaction.partitions:
        return ErrorCode.NONE
    grown = transaction.with_partitions(partitions, version=version, now_ms=draft.now.wall_ms)
    if transaction.state is not TransactionState.ONGOING:
        state.watch_timeout(grown, draft.now)
    draft.append(transaction_record(grown))
    return ErrorCode.NONE


def _verify(
    transaction: Transaction | None, wanted: AddPartitionsToTxnTransaction, partitions: frozenset[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    if not wanted.transactional_id:
        return dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST)
    if transaction is None:
        return dict.fromkeys(partitions, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    code = _check_holder(transaction, wanted)
    if code is ErrorCode.NONE and transaction.state in PREPARED:
        code = ErrorCode.CONCURRENT_TRANSACTIONS
    if code is not ErrorCode.NONE:
        return dict.fromkeys(partitions, code)
    return {
        partition: ErrorCode.NONE if partition in transaction.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for partition in partitions
    }


def _check_holder(transaction: Transaction, wanted: AddPartitionsToTxnTransaction) -> ErrorCode:
    code = transaction.check_holder(ProducerIdentity(wanted.producer_id, wanted.producer_epoch))
    if code is ErrorCode.NONE and transaction.is_kept:
        # The holder took over a prepared transaction to decide it; nothing can be written under it any more.
        return ErrorCode.INVALID_TXN_STATE
    return code
