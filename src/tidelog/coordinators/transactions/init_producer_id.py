"""InitProducerId with a transactional id: who may go on under this name, and with which producer id and epoch.

Whoever comes without an identity is a new producer: it fences its predecessor by getting a higher epoch. A producer
that says who it is (version 3, KIP-360) wants to go on after an error, and is fenced itself if somebody else came in
the meantime. An open transaction of the predecessor is aborted first; the producer has to come back.

Version 6 brings two-phase commit (KIP-939): a producer whose transaction is decided elsewhere sets no timeout, and its
successor may keep the open transaction in order to decide it.
"""

from __future__ import annotations

from tidelog.coordinators.decision import ProducerIdentity, ShardDraft, ShardRequest
from tidelog.coordinators.transactions import replies
from tidelog.coordinators.transactions.records import transaction_record
from tidelog.coordinators.transactions.state import (
    PRODUCER_ID_NEEDED,
    EpochGrant,
    ProducerIdNeeded,
    TransactionTable,
)
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
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest


def initialise(
    state: TransactionTable, request: ShardRequest, message: InitProducerIdRequest, draft: ShardDraft
) -> ProducerIdNeeded | None:
    return _Initialisation(state, request, message, draft).decide()


@dataclass(frozen=True, slots=True)
class _Initialisation:
    """One request and what it is decided with."""

    state: TransactionTable
    request: ShardRequest
    message: InitProducerIdRequest
    draft: ShardDraft

    @property
    def asking(self) -> ProducerIdentity:
        return ProducerIdentity(self.message.producer_id, self.message.producer_epoch)

    @property
    def timeout_ms(self) -> int:
        return NO_TIMEOUT_MS if self.message.enable2_pc else self.message.transaction_timeout_ms

    def decide(self) -> ProducerIdNeeded | None:
        code = self._check()
        if code is not ErrorCode.NONE:
            self._refuse(code)
            return None
        transactional_id = self.message.transactional_id or ""
        transaction = self.state.transactions.get(transactional_id)
        if transaction is None:
            if self.request.fresh_producer_id is None:
                return PRODUCER_ID_NEEDED
            first = new_transactional_id(
                transactional_id,
                self.request.fresh_producer_id,
                timeout_ms=self.timeout_ms,
                now_ms=self.draft.now.wall_ms,
            )
            self._grant(first)
            return None
        if transaction.state is TransactionState.ONGOING:
            if self.message.keep_prepared_txn:
                return self._keep(transaction)
            self._abort(transaction)
            return None
        if transaction.state not in IDLE:
            # The predecessor's transaction is still being ended.
            self._refuse(ErrorCode.CONCURRENT_TRANSACTIONS)
            return None
        return self._take_over(transaction)

    def _check(self) -> ErrorCode:
        message, settings = self.message, self.state.settings
        if not message.transactional_id:
            return ErrorCode.INVALID_REQUEST
        if (message.producer_id == NO_PRODUCER_ID) != (message.producer_epoch == NO_PRODUCER_EPOCH):
            return ErrorCode.INVALID_REQUEST
        if not settings.transaction_two_phase_commit_enable:
            if message.enable2_pc:
                return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            if message.keep_prepared_txn:
                return ErrorCode.UNSUPPORTED_VERSION
        # A participant of a two-phase commit has no timeout, whatever it asks for.
        if message.enable2_pc or 0 < message.transaction_timeout_ms <= settings.transaction_max_timeout_ms:
            return ErrorCode.NONE
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT

    # -- no transaction is open ----------------------------------------------------------------------------------

    def _take_over(self, transaction: Transaction) -> ProducerIdNeeded | None:
        current = transaction.producer
        if self.asking not in (NO_PRODUCER, current):
            if not self._is_retry(transaction):
                self._refuse(ErrorCode.PRODUCER_FENCED)
                return None
            given = current
        else:
            following = self._after(current)
            if following is None:
                return PRODUCER_ID_NEEDED
            given = following
        self._grant(transaction.initialised(given, timeout_ms=self.timeout_ms, now_ms=self.draft.now.wall_ms))
        return None

    def _is_retry(self, transaction: Transaction) -> bool:
        """Whether the producer has been given its current identity already, but the reply was lost.

        It cannot be a fenced one: a producer that came since would have left nothing of it here.
        """
        grant = self.state.epoch_grants.get(transaction.transactional_id)
        if grant == EpochGrant(self.asking, transaction.producer):
            return True
        return self.asking == transaction.producer_before_end

    # -- the predecessor has a transaction open ------------------------------------------------------------------

    def _abort(self, transaction: Transaction) -> None:
        if self._is_stranger(transaction):
            self._refuse(ErrorCode.PRODUCER_FENCED)
            return
        # The epoch that fences is given to nobody: the producer comes back and gets the one after it.
        fenced = transaction.fenced(version=self.state.settings.transaction_version, now_ms=self.draft.now.wall_ms)
        self.draft.append(transaction_record(fenced))
        self._refuse(ErrorCode.CONCURRENT_TRANSACTIONS)

    def _keep(self, transaction: Transaction) -> ProducerIdNeeded | None:
        if self._is_stranger(transaction):
            self._refuse(ErrorCode.PRODUCER_FENCED)
            return None
        successor = self._after(transaction.holder)
        if successor is None:
            return PRODUCER_ID_NEEDED
        kept = transaction.kept(successor, timeout_ms=self.timeout_ms, now_ms=self.draft.now.wall_ms)
        self.state.watch_timeout(kept, self.draft.now)
        self.draft.append(transaction_record(kept))
        reply = replies.initialised(successor, ErrorCode.NONE, self.request.version, ongoing=transaction.producer)
        self.draft.answer(self.request.token, reply)
        return None

    def _is_stranger(self, transaction: Transaction) -> bool:
        """Kafka lets a zombie that names itself abort the transaction, and refuses it when it comes back.

        It has no business with a transaction that is not its own.
        """
        return self.asking not in (NO_PRODUCER, transaction.holder)

    # -- outcomes ------------------------------------------------------------------------------------------------

    def _after(self, producer: ProducerIdentity) -> ProducerIdentity | None:
        """The next identity; None if that needs a new producer id and there is none at hand."""
        if not is_epoch_exhausted(producer.producer_epoch):
            return ProducerIdentity(producer.producer_id, producer.producer_epoch + 1)
        return None if self.request.fresh_producer_id is None else ProducerIdentity(self.request.fresh_producer_id, 0)

    def _grant(self, transaction: Transaction) -> None:
        if self.asking == NO_PRODUCER:
            self.state.epoch_grants.pop(transaction.transactional_id, None)
        elif self.asking != transaction.producer:
            self.state.epoch_grants[transaction.transactional_id] = EpochGrant(self.asking, transaction.producer)
        self.draft.append(transaction_record(transaction))
        reply = replies.initialised(transaction.producer, ErrorCode.NONE, self.request.version)
        self.draft.answer(self.request.token, reply)

    def _refuse(self, code: ErrorCode) -> None:
        self.draft.answer(self.request.token, replies.initialised(NO_PRODUCER, code, self.request.version))
