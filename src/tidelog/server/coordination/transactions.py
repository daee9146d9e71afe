"""The transaction coordinator of this broker: finds the shard of a transactional id, and makes and drops shards with
leadership."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from tidelog.coordinators.placement import partition_for
from tidelog.coordinators.transactions.listing import ListFilter, refused_description
from tidelog.coordinators.transactions.replies import refused
from tidelog.coordinators.transactions.settings import TransactionSettings
from tidelog.model.errors import ErrorCode
from tidelog.model.ports import Clock
from tidelog.network.later import Later
from tidelog.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from tidelog.protocol.messages.describe_transactions_response import TransactionState as DescribedTransaction
from tidelog.protocol.messages.list_transactions_response import ListTransactionsResponse
from tidelog.protocol.schema import Message
from tidelog.server.coordination.group_shard import ShardLimits
from tidelog.server.coordination.port import CoordinatorLog
from tidelog.server.coordination.transaction_shard import MarkerWriter, ProducerIdSource, TransactionShardRuntime

logger = logging.getLogger(__name__)

# How long a shard that broke stays away, so that a fault that comes back does not keep the broker busy.
RELOAD_DELAY_SECONDS = 1.0


class OtherCoordinators(Protocol):
    """The coordinators of other brokers."""

    async def ask_coordinator(self, partition: int, message: AddPartitionsToTxnRequest, version: int) -> Message: ...

    def close(self) -> None: ...


class TransactionCoordinator:
    """All shards of this broker. `partition_count` is that of `__transaction_state`, or what it will have."""

    def __init__(
        self,
        log: CoordinatorLog,
        *,
        markers: MarkerWriter,
        producer_ids: ProducerIdSource,
        settings: Callable[[], TransactionSettings],
        limits: ShardLimits,
        partition_count: Callable[[], int],
        clock: Clock,
        others: OtherCoordinators | None = None,
    ) -> None:
        self._log = log
        self._others = others
        self._markers = markers
        self._producer_ids = producer_ids
        self._settings = settings
        self._limits = limits
        self._partition_count = partition_count
        self._clock = clock
        self._shards: dict[int, TransactionShardRuntime] = {}
        self._closed = False

    # -- leadership ----------------------------------------------------------------------------------------------

    def lead(self, partition: int, leader_epoch: int) -> None:
        """The broker leads this partition now. Markers carry the epoch, so a new one needs a new shard."""
        if self._closed:
            return
        current = self._shards.get(partition)
        if current is not None:
            if current.shard.coordinator_epoch == leader_epoch:
                return
            self.stop_leading(partition)
        self._shards[partition] = TransactionShardRuntime(
            partition,
            coordinator_epoch=leader_epoch,
            log=self._log,
            markers=self._markers,
            producer_ids=self._producer_ids,
            settings=self._settings(),
            limits=self._limits,
            clock=self._clock,
            broken=self._reload,
        )

    def stop_leading(self, partition: int) -> None:
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.close(ErrorCode.NOT_COORDINATOR)

    def close(self) -> None:
        """The broker stops: whoever waits is told to look for another coordinator."""
        self._closed = True
        for partition in list(self._shards):
            self.stop_leading(partition)
        if self._others is not None:
            self._others.close()

    def reconfigure(self) -> None:
        """The properties or the features of the cluster have changed."""
        for shard in self._shards.values():
            shard.shard.settings = self._settings()

    def _reload(self, partition: int) -> None:
        asyncio.get_running_loop().call_later(RELOAD_DELAY_SECONDS, self._lead_anew, partition)

    def _lead_anew(self, partition: int) -> None:
        shard = self._shards.pop(partition, None)
        if shard is not None:
            self.lead(partition, shard.shard.coordinator_epoch)

    # -- requests ------------------------------------------------------------------------------------------------

    def partition_of(self, transactional_id: str) -> int:
        """The partition whose leader coordinates the transactional id."""
        return partition_for(transactional_id, self._partition_count())

    def ask(self, transactional_id: str, message: Message, version: int) -> Message | Later[Message]:
        """The reply to a request that concerns one transactional id, or what to await for it."""
        shard = self._shards.get(self.partition_of(transactional_id))
        if shard is None:
            return refused(message, ErrorCode.NOT_COORDINATOR, version)
        return shard.ask(message, version)

    def ask_patiently(self, transactional_id: str, message: Message, version: int) -> Message | Later[Message]:
        """As `ask`, for a question that nobody else waits behind: it may wait for the end of the last transaction."""
        shard = self._shards.get(self.partition_of(transactional_id))
        if shard is None:
            return refused(message, ErrorCode.NOT_COORDINATOR, version)
        return shard.ask_patiently(transactional_id, message, version)

    def ask_as_broker(
        self, transactional_id: str, message: AddPartitionsToTxnRequest, version: int
    ) -> Message | Later[Message]:
        """For the leader of a partition that a transaction writes to: the coordinator may be another broker."""
        partition = self.partition_of(transactional_id)
        if partition not in self._shards and self._others is not None:
            return Later.run(self._others.ask_coordinator(partition, message, version))
        return self.ask_patiently(transactional_id, message, version)

    def describe_transaction(self, transactional_id: str) -> DescribedTransaction:
        if not transactional_id:
            return refused_description(transactional_id, ErrorCode.INVALID_REQUEST)
        shard = self._shards.get(self.partition_of(transactional_id))
        code = ErrorCode.NOT_COORDINATOR if shard is None else shard.unavailable
        if shard is None or code:
            return refused_description(transactional_id, code)
        return shard.shard.describe_transaction(transactional_id)

    def list_transactions(self, wanted: ListFilter) -> ListTransactionsResponse:
        """Those of this broker; a client asks all brokers. An incomplete list would look like a complete one."""
        found = []
        now_ms = self._clock.now_ms()
        for shard in self._shards.values():
            if shard.unavailable is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                return ListTransactionsResponse(error_code=shard.unavailable)
            if not shard.unavailable:
                found += shard.shard.list_transactions(wanted, now_ms)
        return ListTransactionsResponse(unknown_state_filters=wanted.unknown_states, transaction_states=found)

    def transactional_id_count(self) -> int:
        return sum(len(shard.shard.transactions) for shard in self._shards.values())
