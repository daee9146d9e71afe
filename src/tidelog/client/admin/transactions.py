"""Transactions: which there are, what they are doing, which of them hang, and how to end those (KIP-664)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from operator import attrgetter

from tidelog.client.admin.partitions import PartitionAdmin, ProducerState
from tidelog.client.cluster.cluster import Cluster, CoordinatorKind
from tidelog.client.cluster.coordinator_topic import CoordinatorTopic, coordinator_topic
from tidelog.client.cluster.metadata import known
from tidelog.client.cluster.routing import (
    COORDINATION,
    ask_brokers,
    ask_coordinator,
    ask_each_broker,
    ask_each_coordinator,
    ask_leaders,
)
from tidelog.client.errors import api_error, outcome, raise_for_code
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from tidelog.protocol.messages.describe_transactions_response import DescribeTransactionsResponse
from tidelog.protocol.messages.describe_transactions_response import TransactionState as DescribedTransaction
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.protocol.messages.list_transactions_request import ListTransactionsRequest
from tidelog.protocol.messages.list_transactions_response import ListTransactionsResponse
from tidelog.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tidelog.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse

ANY_DURATION = -1
# No coordinator has a smaller epoch: for producers whose partitions no coordinator has written to yet.
FIRST_COORDINATOR_EPOCH = 0
# Of leaders that have not answered at all.
_SILENT = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION})
# A coordinator answers nobody else while it describes the transactions of one request.
_DESCRIBED_AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionListing:
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionDescription:
    """`start_ms` is None while there is no transaction; `partitions` are those that still await its end."""

    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_ms: int | None
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HangingTransaction:
    """A transaction that is open in a partition, but that no coordinator will ever end."""

    partition: TopicPartition
    producer: ProducerState


@dataclass(frozen=True, slots=True, kw_only=True)
class HangingOrNot:
    """Of some open transactions those that hang, and those of which nobody can tell: their producer may belong to a
    transactional id whose partition of `coordinators` has no leader, or this client may not see whether there is one.
    """

    hanging: list[HangingTransaction]
    unknown: list[HangingTransaction]
    coordinators: CoordinatorTopic


class TransactionAdmin(PartitionAdmin):
    _cluster: Cluster

    async def list_transactions(
        self,
        *,
        states: Collection[str] = (),
        producer_ids: Collection[int] = (),
        longer_than_ms: int = ANY_DURATION,
        pattern: str | None = None,
    ) -> list[TransactionListing]:
        """The transactional ids of all coordinators, by name; filters that are left out let everything through. Raises
        ApiTimeout if one of the brokers does not answer."""
        request = _list_request(states, producer_ids, longer_than_ms, pattern)
        ask = partial(self._list_transactions_of, request)
        order = attrgetter("transactional_id")
        return await ask_brokers(self._cluster, "listing transactions", ask, order=order)

    async def list_transactions_by_broker(
        self,
        node_ids: Collection[int] | None = None,
        *,
        states: Collection[str] = (),
        producer_ids: Collection[int] = (),
        longer_than_ms: int = ANY_DURATION,
        pattern: str | None = None,
        timeout_ms: float | None = None,
    ) -> dict[int, list[TransactionListing] | ApiError]:
        """The transactional ids that each of these brokers coordinates, or each of all. One that does not answer until
        the time is up has an error."""
        request = _list_request(states, producer_ids, longer_than_ms, pattern)
        ask = partial(self._list_transactions_of, request)
        return await ask_each_broker(self._cluster, "listing transactions", node_ids, ask, timeout_ms=timeout_ms)

    async def _list_transactions_of(self, request: ListTransactionsRequest, node: int) -> list[TransactionListing]:
        reply = await self._cluster.ask_node(node, request, ListTransactionsResponse)
        raise_for_code(reply.error_code, f"broker {node}")
        if reply.unknown_state_filters:
            names = ", ".join(reply.unknown_state_filters)
            raise ApiError(ErrorCode.INVALID_REQUEST, f"these are not states of transactions: {names}")
        return [
            TransactionListing(
                transactional_id=each.transactional_id,
                coordinator=node,
                producer_id=each.producer_id,
                state=each.transaction_state,
            )
            for each in reply.transaction_states
        ]

    async def describe_transactions(
        self, transactional_ids: Collection[str], *, timeout_ms: float | None = None
    ) -> dict[str, TransactionDescription | ApiError]:
        """An id that nobody knows gives TRANSACTIONAL_ID_NOT_FOUND."""
        return await ask_each_coordinator(
            self._cluster,
            "describing transactions",
            transactional_ids,
            self._describe_transactions,
            kind=CoordinatorKind.TRANSACTION,
            timeout_ms=timeout_ms,
        )

    async def force_terminate_transaction(self, transactional_id: str) -> tuple[int, int]:
        """Abort the transaction that is open under this id, and fence its producer, whose next request is refused.

        As Kafka's Admin does it: by coming as another producer with the same id. Returns the producer id and the epoch
        that this gives, which nobody uses. An id that nobody knows is created.

        Naming the producer and its epoch (KIP-360) would not help. Apache Kafka compares only the
        producer id while a transaction is open, so that it aborts one of a later epoch as well. Then it refuses the old
        epoch with PRODUCER_FENCED, as if nothing had been done.
        """
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=self._cluster.config.request_timeout_ms
        )

        async def attempt() -> InitProducerIdResponse:
            # Until the abort is complete, the answer is CONCURRENT_TRANSACTIONS.
            reply = await ask_coordinator(
                self._cluster,
                transactional_id,
                request,
                InitProducerIdResponse,
                lambda reply: reply.error_code,
                kind=CoordinatorKind.TRANSACTION,
            )
            raise_for_code(reply.error_code, f"transactional id {transactional_id!r}")
            return reply

        reply = await self._cluster.retry(f"terminating the transaction of {transactional_id!r}", attempt)
        return reply.producer_id, reply.producer_epoch

    async def abort_transaction(
        self, partition: TopicPartition, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
    ) -> None:
        """End a transaction in one partition behind the back of its coordinator, if it has one."""
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transaction_result=False,
            topics=[WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])],
            coordinator_epoch=max(coordinator_epoch, FIRST_COORDINATOR_EPOCH),
        )

        async def ask(node: int, _: list[TopicPartition]) -> Mapping[TopicPartition, ApiError | None]:
            reply = await self._cluster.ask_node(
                node, WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse
            )
            return {
                TopicPartition(topic.name, entry.partition_index): outcome(
                    entry.error_code, f"partition {partition}", None
                )
                for result in reply.markers
                for topic in result.topics
                for entry in topic.partitions
            }

        refusal = (await ask_leaders(self._cluster, "aborting a transaction", [partition], ask))[partition]
        if refusal is not None:
            raise refusal

    async def find_hanging_transactions(
        self, partitions: Collection[TopicPartition], *, silent_since_ms: int
    ) -> list[HangingTransaction]:
        """Open transactions of these partitions that nothing was written to since then and that will not end.

        One hangs if no coordinator knows its producer id, or if the coordinator that does has nothing to do in this
        partition any more. Raises ApiError if one of the leaders does not answer: nobody shall take a part for the
        whole.
        """
        found = await self.describe_producers(partitions)
        for answer in found.values():
            if isinstance(answer, ApiError) and answer.code in _SILENT:
                raise answer
        candidates = [
            HangingTransaction(partition=partition, producer=producer)
            for partition, producers in found.items()
            if not isinstance(producers, ApiError)
            for producer in producers
            if producer.transaction_start is not None and producer.last_timestamp < silent_since_ms
        ]
        return await self.hanging_among(candidates)

    async def hanging_among(self, candidates: Collection[HangingTransaction]) -> list[HangingTransaction]:
        """Of open transactions, those that no coordinator will end. Raises ApiError if nobody can tell of one of them,
        because a coordinator that may know it is away."""
        if not candidates:
            return []
        found = await self.hanging_or_not(candidates)
        if found.unknown:
            one = found.unknown[0]
            raise ApiError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"nobody can tell whether the transaction of producer {one.producer.producer_id} in {one.partition} "
                f"hangs: {found.coordinators.words()} and look again",
            )
        return found.hanging

    async def hanging_or_not(self, candidates: Collection[HangingTransaction]) -> HangingOrNot:
        """Of open transactions, those that no coordinator will end, as far as the coordinators are there."""
        producer_ids = {candidate.producer.producer_id for candidate in candidates}
        coordinators, listed = await self._listed_by_all(producer_ids)
        ids = {listing.producer_id: listing.transactional_id for listing in listed}
        described = await self.describe_transactions(sorted(set(ids.values())))
        hanging: list[HangingTransaction] = []
        unknown: list[HangingTransaction] = []
        for each in candidates:
            transactional_id = ids.get(each.producer.producer_id)
            if transactional_id is None and not coordinators.are_all_there:
                unknown.append(each)
            elif not _will_end(each, described.get(transactional_id or "")):
                hanging.append(each)
        return HangingOrNot(hanging=hanging, unknown=unknown, coordinators=coordinators)

    async def _listed_by_all(self, producer_ids: Collection[int]) -> tuple[CoordinatorTopic, list[TransactionListing]]:
        """With the coordinators that have listed them.

        An id that moves to another coordinator in between may be listed by neither, so nothing counts that was listed
        while leaders changed. To look at the leaders first also makes known the brokers that have just come back.
        """

        async def attempt() -> tuple[CoordinatorTopic, list[TransactionListing]]:
            before = await coordinator_topic(self._cluster, CoordinatorKind.TRANSACTION)
            listed = await self.list_transactions(producer_ids=sorted(producer_ids))
            if await coordinator_topic(self._cluster, CoordinatorKind.TRANSACTION) != before:
                raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"leaders of {before.name} change")
            return before, listed

        return await self._cluster.retry("listing transactions", attempt)

    async def _describe_transactions(
        self, node: int, transactional_ids: list[str]
    ) -> dict[str, TransactionDescription | ApiError]:
        """Those of one coordinator."""
        answers: dict[str, TransactionDescription | ApiError] = {}
        for first in range(0, len(transactional_ids), _DESCRIBED_AT_ONCE):
            request = DescribeTransactionsRequest(
                transactional_ids=transactional_ids[first : first + _DESCRIBED_AT_ONCE]
            )
            reply = await self._cluster.ask_node(node, request, DescribeTransactionsResponse, purpose=COORDINATION)
            answers |= {found.transactional_id: _description(found, node) for found in reply.transaction_states}
        return answers


def _list_request(
    states: Collection[str], producer_ids: Collection[int], longer_than_ms: int, pattern: str | None
) -> ListTransactionsRequest:
    return ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=list(producer_ids),
        duration_filter=longer_than_ms,
        transactional_id_pattern=pattern,
    )


def _description(found: DescribedTransaction, coordinator: int) -> TransactionDescription | ApiError:
    if found.error_code:
        return api_error(found.error_code, f"transactional id {found.transactional_id!r}")
    return TransactionDescription(
        transactional_id=found.transactional_id,
        coordinator=coordinator,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        state=found.transaction_state,
        timeout_ms=found.transaction_timeout_ms,
        start_ms=known(found.transaction_start_time_ms),
        partitions=tuple(TopicPartition(topic.topic, number) for topic in found.topics for number in topic.partitions),
    )


def _will_end(candidate: HangingTransaction, described: TransactionDescription | ApiError | None) -> bool:
    if isinstance(described, ApiError):
        if described.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            # Whoever aborts what only seems to hang loses data.
            raise described
        return False
    return described is not None and candidate.partition in described.partitions
