"""`Transactions`: what a producer calls, and what its sender asks and tells. Holds the state, acts on what it decides.

With the second protocol (KIP-890, where the cluster has finalized transaction.version 2) brokers add partitions to the
transaction when something is written to them, and each transaction has an epoch of its own. With the first one the
client adds them beforehand, and takes a new epoch only when it lost track of what was stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from tidelog.client.errors import (
    AbortableError,
    ApiTimeout,
    DeliveryFailed,
    FatalError,
    FencedError,
    OutcomeUnknown,
    TransactionError,
)
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.client.transactions.coordinator_requests import Asking, CoordinatorRequests, ProducerIdAndEpoch
from tidelog.client.transactions.prepared import PreparedTransactionState
from tidelog.client.transactions.states import Call, News, TransactionPhase, after_call, after_news
from tidelog.client.transactions.verdicts import RequestKind, Verdict, judge
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import UnsupportedByBroker

SECOND_PROTOCOL = 2
# The last version of Produce that does not add partitions to a transaction by itself.
PRODUCE_V1 = 11

# In these states what waits to be sent is dropped: all of it, or part of it.
_DROPPING_EVERYTHING = frozenset({TransactionPhase.FATAL, TransactionPhase.INITIALIZING})
_DROPPING = _DROPPING_EVERYTHING | {TransactionPhase.FAILED, TransactionPhase.ABORTING, TransactionPhase.ABORT_UNKNOWN}

# Waits until nothing is on its way any more.
Drain = Callable[[], Awaitable[None]]


class TransactionalBatch(Protocol):
    """What of a producer's batch matters for its transaction."""

    @property
    def partition(self) -> TopicPartition: ...
    @property
    def has_sequence(self) -> bool: ...


class SequenceNumbers(Protocol):
    """The producer's id, epoch and sequence numbers (`tidelog.client.producer.sequences`)."""

    @property
    def producer_id(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def broken(self) -> bool: ...
    def restart(self, producer_id: int, epoch: int) -> None: ...


class Transactions:
    def __init__(
        self, coordinator: CoordinatorRequests, sequences: SequenceNumbers, on_change: Callable[[], None]
    ) -> None:
        self.state = TransactionPhase.UNINITIALIZED
        self.second_protocol = False
        # Why the transaction has failed, or why the producer is out of use.
        self.error: TransactionError | None = None
        self._coordinator = coordinator
        self._sequences = sequences
        self._on_change = on_change
        # Whether a broker may know of something in this transaction, so that it has to be ended there.
        self._started = False
        # The first protocol: partitions that the coordinator knows of, and those that it has to be told of.
        self._added: set[TopicPartition] = set()
        self._to_add: dict[TopicPartition, None] = {}
        self._adding: asyncio.Task[None] | None = None
        self._prepared = PreparedTransactionState()
        # One request of the user at a time: a commit waits for the offsets before it.
        self._turn = asyncio.Lock()

    @property
    def identity(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self._sequences.producer_id, self._sequences.epoch)

    @property
    def is_open(self) -> bool:
        """Whether there is something that can be aborted, and would have to be."""
        return self.state in (TransactionPhase.IN_TRANSACTION, TransactionPhase.FAILED)

    # -- the producer calls --------------------------------------------------------------------------------------

    async def initialize(
        self, drain: Drain, *, keep_prepared: bool = False, myself: ProducerIdAndEpoch | None = None
    ) -> None:
        self._call(Call.INITIALIZE)
        try:
            # An abort that was interrupted may have left something on its way.
            await drain()
            given = await self._coordinator.initialize(keep_prepared=keep_prepared, myself=myself)
        except FencedError as error:
            self._break(error)
            raise
        except BaseException:
            self._hear(News.INITIALIZATION_FAILED)
            raise
        self._sequences.restart(*given.identity)
        self._forget()
        self._choose_protocol()
        if given.ongoing.producer_id >= 0:
            self._started = True
            self._prepared = PreparedTransactionState(producer_id=given.ongoing.producer_id, epoch=given.ongoing.epoch)
            self._hear(News.FOUND_PREPARED)
        else:
            self._hear(News.INITIALIZED)

    def begin(self) -> None:
        self._call(Call.BEGIN)
        self._choose_protocol()

    def check_send(self) -> None:
        """Raises unless a record may be sent now."""
        if self.state is not TransactionPhase.IN_TRANSACTION:
            self._call(Call.SEND)

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        self._call(Call.SEND_OFFSETS)
        if not offsets:
            return
        async with self._turn:
            # The transaction may have ended or failed while others had their turn.
            self._call(Call.SEND_OFFSETS)
            try:
                if not self.second_protocol:
                    await self._coordinator.add_group(self.identity, group.group_id)
                self._started = True
                await self._coordinator.commit_offsets(
                    self.identity, group, offsets, second_protocol=self.second_protocol
                )
            except FatalError as error:
                self._break(error)
                raise
            except AbortableError as error:
                self._fail(error)
                raise
            except ApiTimeout as error:
                self._started = True
                failure = AbortableError(
                    f"it is not known whether the offsets are part of the transaction: {error}", error
                )
                self._fail(failure)
                raise failure from error
            except BaseException as error:
                # Cancelled. Committing now might leave out the offsets, and the records would be processed again.
                self._started = True
                self._fail(AbortableError("send_offsets was interrupted", error))
                raise

    async def prepare(self, drain: Drain) -> PreparedTransactionState:
        self._call(Call.PREPARE)
        await self._drain_all(drain)
        self._raise_error()
        self._prepared = (
            PreparedTransactionState(producer_id=self.identity.producer_id, epoch=self.identity.epoch)
            if self._started
            else PreparedTransactionState()
        )
        return self._prepared

    async def complete(self, prepared: PreparedTransactionState, drain: Drain) -> None:
        """Commit if `prepared` names the transaction that is open; abort if it names another one, which is not."""
        self._call(Call.COMPLETE)
        if prepared == self._prepared:
            await self.commit(drain)
        else:
            await self.abort(drain)

    async def commit(self, drain: Drain) -> None:
        self._call(Call.COMMIT)
        await self._drain_all(drain)
        async with self._turn:
            self._raise_error()
            await self._end(commit=True)

    async def abort(self, drain: Drain) -> None:
        self._call(Call.ABORT)
        self._to_add.clear()
        # What has not been sent is dropped.
        self._on_change()
        try:
            await drain()
            if self._adding is not None:
                await asyncio.wait((self._adding,))
            await self._turn.acquire()
        except BaseException:
            self._hear(News.OUTCOME_LOST)
            raise
        try:
            if self.state is TransactionPhase.FATAL:
                self._raise_error()
            await self._end(commit=False)
        finally:
            self._turn.release()

    # -- the sender asks and tells -------------------------------------------------------------------------------

    @property
    def produce_at_most(self) -> int | None:
        return None if self.second_protocol else PRODUCE_V1

    def may_send(self, batch: TransactionalBatch) -> bool:
        """Whether the batch's partition is part of the transaction, so that records may be written there."""
        if self.second_protocol or batch.has_sequence or batch.partition in self._added:
            return True
        self._to_add[batch.partition] = None
        self._add_partitions()
        return False

    def sending(self) -> None:
        """A request is about to be written."""
        self._started = True

    @property
    def has_doomed(self) -> bool:
        """Whether there may be batches that `drops` tells of: asked often, while almost always there are none."""
        return self.state in _DROPPING

    def drops(self, batch: TransactionalBatch) -> bool:
        """Whether a batch that waits will never be sent.

        With the first protocol what has been sent once is tried until its fate is known: the producer may keep its
        epoch, and a request that is still on its way would then be taken for part of a later transaction.
        """
        if self.state in _DROPPING_EVERYTHING:
            return True
        return self.state in _DROPPING and (self.second_protocol or not batch.has_sequence)

    def why_dropped(self) -> DeliveryFailed:
        if self.error is not None:
            return DeliveryFailed(f"the record was not sent: {self.error}", self.error)
        return DeliveryFailed("the record was not sent: its transaction was aborted")

    def delivery_failed(self, failure: Exception) -> None:
        cause = failure.cause if isinstance(failure, DeliveryFailed) else failure
        verdict = Verdict.ABORT
        if isinstance(cause, ApiError):
            verdict = judge(RequestKind.PRODUCE, cause.code)
        elif isinstance(cause, UnsupportedByBroker):
            verdict = Verdict.FATAL
        match verdict:
            case Verdict.FENCED:
                self._break(
                    FencedError(f"another producer with this transactional.id has started since: {failure}", failure)
                )
            case Verdict.FATAL:
                self._break(FatalError(str(failure), failure))
            case _:
                self._fail(AbortableError(str(failure), failure))

    # -- inside --------------------------------------------------------------------------------------------------

    def _call(self, call: Call) -> None:
        if self.error is not None and (self.state is TransactionPhase.FATAL or call is not Call.ABORT):
            until = (
                "and the producer can only be closed"
                if self.state is TransactionPhase.FATAL
                else "until abort_transaction"
            )
            self._raise_error(f"{call.value} is refused, {until}: ")
        self.state = after_call(self.state, call)

    def _raise_error(self, prefix: str = "") -> None:
        """Raise what has happened. A new exception each time: one that was raised before carries its old traceback."""
        if self.error is not None:
            raise type(self.error)(f"{prefix}{self.error}", self.error.cause)

    def _hear(self, news: News) -> None:
        self.state = after_news(self.state, news)

    def _fail(self, error: AbortableError) -> None:
        before = self.state
        self._hear(News.FAILED)
        if self.state is TransactionPhase.FAILED and before is not TransactionPhase.FAILED:
            self.error = error
            self._on_change()

    def _break(self, error: FatalError) -> None:
        if self.state is not TransactionPhase.FATAL:
            self._hear(News.BROKEN)
            self.error = error
            self._on_change()

    def _choose_protocol(self) -> None:
        self.second_protocol = self._coordinator.transaction_version >= SECOND_PROTOCOL

    def _forget(self) -> None:
        self.error = None
        self._started = False
        self._added.clear()
        self._to_add.clear()
        self._prepared = PreparedTransactionState()

    async def _drain_all(self, drain: Drain) -> None:
        try:
            await drain()
            async with self._turn:
                pass
        except BaseException:
            self._hear(News.COMMIT_WITHDRAWN)
            raise

    async def _end(self, *, commit: bool) -> None:
        """Tell the coordinator. `_turn` is held, and nothing is on its way."""
        asking = Asking(RequestKind.END)
        try:
            identity = self.identity
            if self._started:
                identity = await self._coordinator.end(
                    asking, identity, commit=commit, second_protocol=self.second_protocol
                )
            if self._sequences.broken and identity == self.identity:
                identity = (await self._coordinator.initialize(myself=identity)).identity
        except FatalError as error:
            self._break(error)
            if asking.may_be_done:
                # An earlier try may have succeeded; this answer is then about what came after it.
                raise self._unknown(commit, error) from error
            raise
        except AbortableError as error:
            if commit:
                self._fail(error)
                raise
            fatal = FatalError(f"the abort was refused: {error}", error)
            self._break(fatal)
            raise fatal from error
        except ApiTimeout as error:
            if commit and not asking.may_be_done:
                failure = AbortableError(f"the commit did not reach the coordinator: {error}", error)
                self._fail(failure)
                raise failure from error
            self._hear(News.OUTCOME_LOST)
            raise self._unknown(commit, error) from error
        except BaseException:
            self._hear(News.OUTCOME_LOST)
            raise
        if identity != self.identity:
            self._sequences.restart(*identity)
        self._forget()
        self._hear(News.ENDED)

    def _unknown(self, commit: bool, cause: Exception) -> OutcomeUnknown:
        what = "committed" if commit else "aborted"
        return OutcomeUnknown(f"it is not known whether the transaction is {what}: {cause}", cause)

    # The first protocol: the coordinator has to know of a partition before the partition's leader gets a record.

    def _add_partitions(self) -> None:
        if (
            self._adding is None
            and self._to_add
            and self.state in (TransactionPhase.IN_TRANSACTION, TransactionPhase.COMMITTING, TransactionPhase.PREPARED)
        ):
            self._adding = asyncio.create_task(self._add_waiting_partitions())
            self._adding.add_done_callback(self._added_partitions)

    async def _add_waiting_partitions(self) -> None:
        partitions = list(self._to_add)
        try:
            await self._coordinator.add_partitions(self.identity, partitions)
        except FatalError as error:
            self._break(error)
        except AbortableError as error:
            self._fail(error)
        except ApiTimeout as error:
            # They may have been added, so that there is something to abort.
            self._started = True
            self._fail(AbortableError(f"partitions could not be added to the transaction: {error}", error))
        else:
            self._started = True
            self._added.update(partitions)
            for partition in partitions:
                self._to_add.pop(partition, None)

    def _added_partitions(self, task: asyncio.Task[None]) -> None:
        self._adding = None
        if not task.cancelled():
            task.result()
        self._on_change()

    async def close(self) -> None:
        if self._adding is not None:
            self._adding.cancel()
            await asyncio.wait((self._adding,))
