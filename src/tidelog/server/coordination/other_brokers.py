"""What a transaction needs from other brokers: markers in the partitions they lead, and their coordinators' answers.

Markers for one broker are batched: while a request is in flight, new ones wait and go with the next one. Failures on
the way are answered with an error that means "try again", since the caller retries until it works.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import groupby

from tidelog.coordinators.transactions.markers import MarkerCodes, MarkerWork
from tidelog.coordinators.transactions.replies import refused
from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import TRANSACTION_STATE_TOPIC
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from tidelog.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tidelog.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tidelog.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse
from tidelog.protocol.schema import Message
from tidelog.server.quorum.peers import Peers

logger = logging.getLogger(__name__)

# At most this many markers go in one request; each is one append on the other side.
MARKERS_PER_REQUEST = 500

_UNREACHABLE = (ConnectionProblem, UnsupportedByBroker, OSError, TimeoutError)


@dataclass(slots=True)
class _Queue:
    """Markers for one broker. A producer has one transaction at a time, so its id names the marker."""

    waiting: dict[int, tuple[WritableTxnMarker, asyncio.Future[MarkerCodes]]] = field(default_factory=dict)
    sender: asyncio.Task[None] | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class OtherBrokers:
    """Both parts have separate connections: a marker waits for replicas, a question must not wait behind it."""

    markers: Peers
    questions: Peers
    image: Callable[[], ClusterImage]
    _queues: dict[int, _Queue] = field(default_factory=dict, init=False)

    def close(self) -> None:
        for queue in self._queues.values():
            if queue.sender is not None:
                queue.sender.cancel()
        self.markers.close()
        self.questions.close()

    # -- questions to a coordinator ------------------------------------------------------------------------------

    async def ask_coordinator(self, partition: int, message: AddPartitionsToTxnRequest, version: int) -> Message:
        """As if this broker led the partition of `__transaction_state`."""
        leader = self._leader(TopicPartition(TRANSACTION_STATE_TOPIC, partition))
        if leader is None:
            return refused(message, ErrorCode.COORDINATOR_NOT_AVAILABLE, version)
        try:
            response = await self.questions.ask(leader, message, AddPartitionsToTxnResponse)
        except _UNREACHABLE as problem:
            logger.info("the transaction coordinator on broker %d cannot be reached: %s", leader, problem)
            return refused(message, ErrorCode.NETWORK_EXCEPTION, version)
        if response.error_code:
            return refused(message, ErrorCode(response.error_code), version)
        return response

    # -- markers -------------------------------------------------------------------------------------------------

    async def write(self, work: MarkerWork, partitions: frozenset[TopicPartition]) -> MarkerCodes:
        codes: dict[TopicPartition, ErrorCode] = {}
        by_leader: dict[int, list[TopicPartition]] = {}
        for partition in sorted(partitions):
            leader = self._leader(partition)
            if leader is None:
                codes[partition] = ErrorCode.LEADER_NOT_AVAILABLE
            else:
                by_leader.setdefault(leader, []).append(partition)
        sent = [self._enqueue(leader, work, members) for leader, members in by_leader.items()]
        for answer in await asyncio.gather(*sent):
            codes.update(answer)
        return codes

    def _enqueue(self, leader: int, work: MarkerWork, partitions: list[TopicPartition]) -> asyncio.Future[MarkerCodes]:
        queue = self._queues.setdefault(leader, _Queue())
        marker = WritableTxnMarker(
            producer_id=work.producer.producer_id,
            producer_epoch=work.producer.producer_epoch,
            transaction_result=work.commit,
            coordinator_epoch=work.coordinator_epoch,
            transaction_version=work.transaction_version,
            topics=[
                WritableTxnMarkerTopic(name=topic, partition_indexes=[each.partition for each in members])
                for topic, members in groupby(partitions, key=lambda each: each.topic)
            ],
        )
        answer: asyncio.Future[MarkerCodes] = asyncio.get_running_loop().create_future()
        earlier = queue.waiting.get(marker.producer_id)
        if earlier is not None and not earlier[1].done():
            # A coordinator that was deposed and elected again sends its successor's marker.
            earlier[1].set_result({})
        queue.waiting[marker.producer_id] = (marker, answer)
        if queue.sender is None:
            queue.sender = asyncio.get_running_loop().create_task(self._send(leader, queue))
        return answer

    async def _send(self, leader: int, queue: _Queue) -> None:
        try:
            while queue.waiting:
                taken = {key: queue.waiting.pop(key) for key in list(queue.waiting)[:MARKERS_PER_REQUEST]}
                codes: Mapping[int, MarkerCodes] = {}
                try:
                    codes = await self._write(leader, [marker for marker, _ in taken.values()])
                except Exception:
                    # Whoever waits must learn of it: it retries.
                    logger.exception("writing %d markers to broker %d failed", len(taken), leader)
                finally:
                    for producer_id, (_, answer) in taken.items():
                        if not answer.done():
                            # Partitions that the answer leaves out are retried.
                            answer.set_result(codes.get(producer_id, {}))
        finally:
            queue.sender = None

    async def _write(self, leader: int, markers: list[WritableTxnMarker]) -> dict[int, MarkerCodes]:
        try:
            response = await self.markers.ask(leader, WriteTxnMarkersRequest(markers=markers), WriteTxnMarkersResponse)
        except _UNREACHABLE as problem:
            logger.info("%d markers could not be sent to broker %d: %s", len(markers), leader, problem)
            return {}
        return {
            result.producer_id: {
                TopicPartition(topic.name, partition.partition_index): ErrorCode(partition.error_code)
                for topic in result.topics
                for partition in topic.partitions
            }
            for result in response.markers
        }

    def _leader(self, partition: TopicPartition) -> int | None:
        found = self.image().partition(*partition)
        return None if found is None or found.leader < 0 else found.leader
