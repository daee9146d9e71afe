"""InitProducerId with a transactional id: who may go on under this name, and with which producer id and epoch.

Whoever comes without an identity is a new producer: it fences its predecessor by getting a higher epoch. A producer
that says who it is (version 3, KIP-360) wants to go on after an error, and is fenced itself if somebody else came in
the meantime. An open transaction of the predecessor is aborted first; the producer is told to come back.

Version 6 brings two-phase commit (KIP-939): a producer whose transaction is decided elsewhere sets no timeout, and its
successor may keep the open transaction in order to decide it.
"""

from __future__ import annotations

from tidelog.coordinators.decision import Draft, Moment, ProducerIdentity, Request
from tidelog.coordinators.transactions import replies
from tidelog.coordinators.transactions.records import transaction_record
from tidelog.coordinators.transactions.state import PRODUCER_ID_NEEDED, EpochGrant, ProducerIdNeeded, ShardState
from tidelog.coordinators.transactions.states import IDLE, TransactionState
from tidelog.coordinators.transactions.transaction import (
    NO_PRODUCER,
    NO_TIMEOUT_MS,
    Transaction,
    is_epoch_exhausted,
    new_transactional_id,
)
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest


def initialise(
    state: ShardState,
    request: Request,
    message: InitProducerIdRequest,
    now: Moment,
    fresh_producer_id: int | None,
    draft: Draft,
) -> ProducerIdNeeded | None:
    code = _check(state, message)
    if code is not ErrorCode.NONE:
        draft.answer(request.token, replies.initialised(NO_PRODUCER, code, request.version))
        return None
    asking = ProducerIdentity(message.producer_id, message.producer_epoch)
    timeout_ms = NO_TIMEOUT_MS if message.enable2_pc else message.transaction_timeout_ms
    transactional_id = message.transactional_id or ""
    transaction = state.transactions.get(transactional_id)
    if transaction is None:
        if fresh_producer_id is None:
            return PRODUCER_ID_NEEDED
        begun = new_transactional_id(transactional_id, fresh_producer_id, timeout_ms=timeout_ms, now_ms=now.wall_ms)
        _grant(state, request, asking, begun, draft)
        return None
    if transaction.state is TransactionState.ONGOING:
        return _initialise_ongoing(state, request, message, transaction, now, fresh_producer_id, draft)
    if transaction.state not in IDLE:
        # The predecessor's transaction is still being ended.
        _refuse(request, ErrorCode.CONCURRENT_TRANSACTIONS, draft)
        return None
    return _initialise_idle(state, request, asking, transaction, timeout_ms, now, fresh_producer_id, draft)


def _check(state: ShardState, message: InitProducerIdRequest) -> ErrorCode:
    if not message.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if (message.producer_id == NO_PRODUCER_ID) != (message.producer_epoch == NO_PRODUCER_EPOCH):
        return ErrorCode.INVALID_REQUEST
    settings = state.settings
    if not settings.transaction_two_phase_commit_enable:
        if message.enable2_pc:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if message.keep_prepared_txn:
            return ErrorCode.UNSUPPORTED_VERSION
    # A participant of a two-phase commit has no timeout, whatever it asks for.
    if message.enable2_pc or 0 < message.transaction_timeout_ms <= settings.transaction_max_timeout_ms:
        return ErrorCode.NONE
    return ErrorCode.INVALID_TRANSACTION_TIMEOUT


def _initialise_idle(
    state: ShardState,
    request: Request,
    asking: ProducerIdentity,
    transaction: Transaction,
    timeout_ms: int,
    now: Moment,
    fresh_producer_id: int | None,
    draft: Draft,
) -> ProducerIdNeeded | None:
    current = transaction.producer
    if asking not in (NO_PRODUCER, current):
        if not _is_retry(state, asking, transaction):
            _refuse(request, ErrorCode.PRODUCER_FENCED, draft)
            return None
        given = current
    elif is_epoch_exhausted(current.producer_epoch):
        if fresh_producer_id is None:
            return PRODUCER_ID_NEEDED
        given = ProducerIdentity(fresh_producer_id, 0)
    else:
        given = ProducerIdentity(current.producer_id, current.producer_epoch + 1)
    _grant(state, request, asking, transaction.initialised(given, timeout_ms=timeout_ms, now_ms=now.wall_ms), draft)
    return None


def _is_retry(state: ShardState, asking: ProducerIdentity, transaction: Transaction) -> bool:
    """Whether the producer has been given its current identity already, but the reply was lost.

    It cannot be a fenced one: a producer that came since would have left nothing of it here.
    """
    grant = state.epoch_grants.get(transaction.transactional_id)
    if grant == EpochGrant(asking, transaction.producer):
        return True
    return asking == transaction.producer_before_end


def _initialise_ongoing(
    state: ShardState,
    request: Request,
    message: InitProducerIdRequest,
    transaction: Transaction,
    now: Moment,
    fresh_producer_id: int | None,
    draft: Draft,
) -> ProducerIdNeeded | None:
    asking = ProducerIdentity(message.producer_id, message.producer_epoch)
    if asking not in (NO_PRODUCER, transaction.holder):
        # Kafka aborts the transaction even so, and refuses the producer when it comes back. A zombie has no business
        # with a transaction that is not its own.
        _refuse(request, ErrorCode.PRODUCER_FENCED, draft)
        return None
    if not message.keep_prepared_txn:
        # The epoch that fences is given to nobody: the producer comes back and gets the one after it.
        fenced = transaction.fenced(version=state.settings.transaction_version, now_ms=now.wall_ms)
        draft.append(transaction_record(fenced))
        _refuse(request, ErrorCode.CONCURRENT_TRANSACTIONS, draft)
        return None
    holder = transaction.holder
    if not is_epoch_exhausted(holder.producer_epoch):
        successor = ProducerIdentity(holder.producer_id, holder.producer_epoch + 1)
    elif fresh_producer_id is None:
        return PRODUCER_ID_NEEDED
    else:
        successor = ProducerIdentity(fresh_producer_id, 0)
    timeout_ms = NO_TIMEOUT_MS if message.enable2_pc else message.transaction_timeout_ms
    kept = transaction.kept(successor, timeout_ms=timeout_ms, now_ms=now.wall_ms)
    state.watch_timeout(kept, now)
    draft.append(transaction_record(kept))
    reply = replies.initialised(successor, ErrorCode.NONE, request.version, ongoing=transaction.producer)
    draft.answer(request.token, reply)
    return None


def _grant(
    state: ShardState, request: Request, asking: ProducerIdentity, transaction: Transaction, draft: Draft
) -> None:
    if asking == NO_PRODUCER:
        state.epoch_grants.pop(transaction.transactional_id, None)
    elif asking != transaction.producer:
        state.epoch_grants[transaction.transactional_id] = EpochGrant(asking, transaction.producer)
    draft.append(transaction_record(transaction))
    draft.answer(request.token, replies.initialised(transaction.producer, ErrorCode.NONE, request.version))


def _refuse(request: Request, code: ErrorCode, draft: Draft) -> None:
    draft.answer(request.token, replies.initialised(NO_PRODUCER, code, request.version))
