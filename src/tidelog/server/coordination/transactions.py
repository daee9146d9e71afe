"""The transaction coordinator of this broker: which requests the shards of transactional ids decide, and what follows
from their decisions: markers, and requests that wait for the end of a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from tidelog.coordinators.decision import ShardRequest, Undecided
from tidelog.coordinators.transactions import records, replies
from tidelog.coordinators.transactions.listing import ListFilter, refused_description
from tidelog.coordinators.transactions.settings import TransactionSettings
from tidelog.coordinators.transactions.shard import TransactionShard
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ports import Clock
from tidelog.network.later import Later
from tidelog.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from tidelog.protocol.messages.describe_transactions_response import TransactionState as DescribedTransaction
from tidelog.protocol.messages.list_transactions_response import ListTransactionsResponse
from tidelog.protocol.schema import Message
from tidelog.server.coordination.completions import Completions
from tidelog.server.coordination.lifecycle import ShardStage
from tidelog.server.coordination.marker_delivery import MarkerDelivery, WriteMarkers
from tidelog.server.coordination.other_brokers import OtherBrokers
from tidelog.server.coordination.port import CoordinatorLog
from tidelog.server.coordination.runtime import CoordinatorRuntime
from tidelog.server.coordination.shard_runtime import ShardLimits, ShardRuntime


class TransactionCoordinator(CoordinatorRuntime[TransactionShard]):
    """Of the transactional ids whose partition of `__transaction_state` this broker leads."""

    format = records.FORMAT
    # Markers carry the epoch.
    has_shard_for_each_epoch = True

    def __init__(
        self,
        log: CoordinatorLog,
        *,
        write_markers: WriteMarkers,
        next_producer_id: Callable[[], Awaitable[int]],
        settings: Callable[[], TransactionSettings],
        limits: ShardLimits,
        completion_wait_ms: int,
        partition_count: Callable[[], int],
        clock: Clock,
        others: OtherBrokers | None = None,
    ) -> None:
        super().__init__(log, limits=limits, partition_count=partition_count, clock=clock)
        self._others = others
        self._markers = MarkerDelivery(write_markers)
        self._next_producer_id = next_producer_id
        self._settings = settings
        self._completion_wait_ms = completion_wait_ms
        self._completions = Completions(self._is_completing)

    def new_shard(self, leader_epoch: int) -> TransactionShard:
        return TransactionShard(self._settings(), coordinator_epoch=leader_epoch)

    def refuse(self, request: ShardRequest, code: ErrorCode) -> Message:
        return replies.refused(request.message, code, request.version)

    def follow_up(self, shard: ShardRuntime[TransactionShard]) -> Callable[[], None] | None:
        self._completions.changed()
        due = shard.shard.take_marker_work()
        return (lambda: self._markers.begin(shard, due)) if due else None

    def on_undecided(self, shard: ShardRuntime[TransactionShard], request: ShardRequest, reason: Undecided) -> None:
        shard.tasks.spawn(self._decide_with_producer_id(shard, request))

    async def _decide_with_producer_id(self, shard: ShardRuntime[TransactionShard], request: ShardRequest) -> None:
        try:
            producer_id = await self._next_producer_id()
        except ApiError as error:
            shard.refuse(request, error.code)
        else:
            shard.decide(replace(request, fresh_producer_id=producer_id))

    def on_shard_gone(self) -> None:
        self._completions.changed()

    def close(self) -> None:
        super().close()
        if self._others is not None:
            self._others.close()

    def reconfigure(self) -> None:
        """The properties or the features of the cluster have changed."""
        settings = self._settings()
        for runtime in self._shards.values():
            runtime.shard.reconfigure(settings)

    # -- requests ------------------------------------------------------------------------------------------------

    def ask(self, transactional_id: str, message: Message, version: int) -> Message | Later[Message]:
        """The reply to a request that concerns one transactional id, or what to await for it."""
        request = ShardRequest(token=self.new_token(), message=message, version=version)
        return self.submit(request, self.runtime_of(transactional_id))

    def ask_patiently(self, transactional_id: str, message: Message, version: int) -> Message | Later[Message]:
        """As `ask`, for a request that no other request waits behind: while the markers of the last transaction are
        still being written, it waits for them first."""
        runtime = self.runtime_of(transactional_id)
        is_active = runtime is not None and runtime.stage is ShardStage.ACTIVE
        if runtime is None or not is_active or not runtime.shard.is_completing(transactional_id):
            return self.submit(ShardRequest(token=self.new_token(), message=message, version=version), runtime)
        completed = self._completions.of(transactional_id)
        return Later.run(self._ask_when_completed(completed, transactional_id, message, version))

    async def _ask_when_completed(
        self, completed: asyncio.Future[None], transactional_id: str, message: Message, version: int
    ) -> Message:
        await asyncio.wait((completed,), timeout=self._completion_wait_ms / 1000)
        outcome = self.ask(transactional_id, message, version)
        return outcome if isinstance(outcome, Message) else await outcome

    def ask_as_broker(
        self, transactional_id: str, message: AddPartitionsToTxnRequest, version: int
    ) -> Message | Later[Message]:
        """For the leader of a partition that a transaction writes to: the coordinator may be another broker."""
        partition = self.partition_of(transactional_id)
        if partition not in self._shards and self._others is not None:
            return Later.run(self._others.ask_coordinator(partition, message, version))
        return self.ask_patiently(transactional_id, message, version)

    def _is_completing(self, transactional_id: str) -> bool:
        shard = self.shard_of(transactional_id)
        return not isinstance(shard, ErrorCode) and shard.is_completing(transactional_id)

    def describe_transaction(self, transactional_id: str) -> DescribedTransaction:
        if not transactional_id:
            return refused_description(transactional_id, ErrorCode.INVALID_REQUEST)
        shard = self.shard_of(transactional_id)
        if isinstance(shard, ErrorCode):
            return refused_description(transactional_id, shard)
        return shard.describe_transaction(transactional_id)

    def list_transactions(self, wanted: ListFilter) -> ListTransactionsResponse:
        shards = self.shards()
        if isinstance(shards, ErrorCode):
            return ListTransactionsResponse(error_code=shards)
        now_ms = self._clock.now_ms()
        found = [each for shard in shards for each in shard.list_transactions(wanted, now_ms)]
        return ListTransactionsResponse(unknown_state_filters=wanted.unknown_states, transaction_states=found)

    def transactional_id_count(self) -> int:
        return sum(len(runtime.shard.transactions) for runtime in self._shards.values())
