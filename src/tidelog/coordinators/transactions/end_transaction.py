"""EndTxn: a producer commits or aborts.

Up to version 4 the producer keeps its epoch, so a request that was delayed from one transaction into the next cannot be
told from one that belongs there (KAFKA-17754). From version 5 on each transaction has an epoch of its own (KIP-890):
the reply brings the next one, a delayed request comes with one that is over, and a repeated one is recognised by it.
"""

from __future__ import annotations

from tidelog.coordinators.decision import ProducerIdentity, ShardDraft, ShardRequest
from tidelog.coordinators.transactions import replies
from tidelog.coordinators.transactions.records import transaction_record
from tidelog.coordinators.transactions.state import PRODUCER_ID_NEEDED, ProducerIdNeeded, TransactionTable
from tidelog.coordinators.transactions.states import PREPARED, TransactionState, TransactionStep
from tidelog.coordinators.transactions.transaction import (
    NO_PRODUCER,
    TRANSACTIONS_V1,
    TRANSACTIONS_V2,
    Transaction,
    is_epoch_exhausted,
)
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_PRODUCER_ID
from tidelog.protocol.messages.end_txn_request import EndTxnRequest

SECOND_PROTOCOL_VERSION_FROM = 5

_COMMIT = True
_ABORT = False

# What a request does in each state, by whether it commits: the step to take, or the answer. A repeated request finds
# the transaction ended and learns so.
V1_OUTCOMES: dict[tuple[TransactionState, bool], TransactionStep | ErrorCode] = {
    (TransactionState.EMPTY, _COMMIT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.EMPTY, _ABORT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.ONGOING, _COMMIT): TransactionStep.COMMIT,
    (TransactionState.ONGOING, _ABORT): TransactionStep.ABORT,
    (TransactionState.PREPARE_COMMIT, _COMMIT): ErrorCode.CONCURRENT_TRANSACTIONS,
    (TransactionState.PREPARE_COMMIT, _ABORT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.PREPARE_ABORT, _COMMIT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.PREPARE_ABORT, _ABORT): ErrorCode.CONCURRENT_TRANSACTIONS,
    (TransactionState.COMPLETE_COMMIT, _COMMIT): ErrorCode.NONE,
    (TransactionState.COMPLETE_COMMIT, _ABORT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.COMPLETE_ABORT, _COMMIT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.COMPLETE_ABORT, _ABORT): ErrorCode.NONE,
}

# The same for the second version, for a request of the current epoch. A producer may have written to partitions, or
# tried to, without the coordinator's having learned of it: aborting such a transaction gives it a new epoch too.
V2_OUTCOMES: dict[tuple[TransactionState, bool], TransactionStep | ErrorCode] = {
    (TransactionState.EMPTY, _COMMIT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.EMPTY, _ABORT): TransactionStep.ABORT,
    (TransactionState.ONGOING, _COMMIT): TransactionStep.COMMIT,
    (TransactionState.ONGOING, _ABORT): TransactionStep.ABORT,
    (TransactionState.COMPLETE_COMMIT, _COMMIT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.COMPLETE_COMMIT, _ABORT): TransactionStep.ABORT,
    (TransactionState.COMPLETE_ABORT, _COMMIT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.COMPLETE_ABORT, _ABORT): TransactionStep.ABORT,
}

# And for a request that comes with the epoch from before the end: it is repeated.
V2_RETRY_OUTCOMES: dict[tuple[TransactionState, bool], ErrorCode] = {
    (TransactionState.COMPLETE_COMMIT, _COMMIT): ErrorCode.NONE,
    (TransactionState.COMPLETE_COMMIT, _ABORT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.COMPLETE_ABORT, _COMMIT): ErrorCode.INVALID_TXN_STATE,
    (TransactionState.COMPLETE_ABORT, _ABORT): ErrorCode.NONE,
}


def end(
    state: TransactionTable, request: ShardRequest, message: EndTxnRequest, draft: ShardDraft
) -> ProducerIdNeeded | None:
    version = TRANSACTIONS_V2 if request.version >= SECOND_PROTOCOL_VERSION_FROM else TRANSACTIONS_V1
    transaction = state.transactions.get(message.transactional_id)
    outcome = _outcome(transaction, message, version)
    if isinstance(outcome, ErrorCode):
        producer = NO_PRODUCER
        if outcome is ErrorCode.NONE and version >= TRANSACTIONS_V2:
            assert transaction is not None
            producer = transaction.holder
        draft.answer(request.token, replies.ended(producer, outcome, request.version))
        return None
    assert transaction is not None
    if version >= TRANSACTIONS_V2 and is_epoch_exhausted(transaction.holder.producer_epoch):
        if request.fresh_producer_id is None:
            return PRODUCER_ID_NEEDED
        fresh_producer_id = request.fresh_producer_id
    else:
        fresh_producer_id = NO_PRODUCER_ID
    prepared = transaction.prepared(
        outcome, version=version, now_ms=draft.now.wall_ms, fresh_producer_id=fresh_producer_id
    )
    draft.append(transaction_record(prepared))
    draft.answer(request.token, replies.ended(prepared.holder, ErrorCode.NONE, request.version))
    return None


def _outcome(transaction: Transaction | None, message: EndTxnRequest, version: int) -> TransactionStep | ErrorCode:
    if not message.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if transaction is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    asking = ProducerIdentity(message.producer_id, message.producer_epoch)
    if version >= TRANSACTIONS_V2:
        return _second_version_outcome(transaction, asking, message.committed)
    code = transaction.check_holder(asking)
    if code is not ErrorCode.NONE:
        return code
    return V1_OUTCOMES[transaction.state, message.committed]


def _second_version_outcome(
    transaction: Transaction, asking: ProducerIdentity, committed: bool
) -> TransactionStep | ErrorCode:
    if transaction.state in PREPARED:
        # Whoever it is, and whatever it wants, is clear only when the end has brought in the next identity.
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if asking == transaction.producer_before_end:
        return V2_RETRY_OUTCOMES[transaction.state, committed]
    code = transaction.check_holder(asking)
    if code is not ErrorCode.NONE:
        return code
    return V2_OUTCOMES[transaction.state, committed]
