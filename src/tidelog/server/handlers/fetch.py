"""Fetch: records for readers, undecoded from the page cache to the socket.

Version 7 brought sessions (KIP-227), 12 the check for divergence (KIP-595), 13 topic ids instead of names (KIP-516),
15 the replica state (KIP-903).

A fetch is answered at once if there is an error to tell, if min.bytes can be had, or if the reader does not want to
wait. Otherwise it waits once, for at most max.wait, and answers with what there is then.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest
from tidelog.protocol.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from tidelog.records.batch import CorruptBatch
from tidelog.server.context import RequestContext
from tidelog.server.fetch_sessions import FetchPlan, PartitionKey, SessionRefusal
from tidelog.server.replicas.replica import READ_COMMITTED, Replica
from tidelog.server.replicas.waits import FetchWait
from tidelog.storage.filesystem import StorageFailure
from tidelog.storage.log_results import OffsetOutOfRange

if TYPE_CHECKING:
    from tidelog.server.node import Node

logger = logging.getLogger(__name__)

MAX_WAIT_MS = 5 * 60 * 1000

Answers = list[tuple[PartitionKey, PartitionData]]


@dataclass(slots=True)
class _Round:
    """One pass over the wanted partitions."""

    answers: Answers
    replicas: list[Replica]
    readable_bytes: int
    # An error or a divergence, which the reader should hear of at once.
    urgent: bool


def handle(node: Node, request: FetchRequest, context: RequestContext) -> FetchResponse | Awaitable[FetchResponse]:
    plan = node.fetch_sessions.plan(request, context.version)
    if isinstance(plan, SessionRefusal):
        return FetchResponse(error_code=plan.code, session_id=0)
    if _replica_id(request) >= 0:
        # Followers of this broker's partitions would be members of its cluster; there are none.
        return _respond(plan, [(key, _failed(key[2], ErrorCode.NOT_LEADER_OR_FOLLOWER)) for key, _ in plan.partitions])
    first = _read_all(node, plan, request)
    if request.max_wait_ms <= 0 or not plan.partitions or first.urgent or first.readable_bytes >= request.min_bytes:
        return _respond(plan, first.answers)
    return _wait_and_respond(node, plan, request, first)


async def _wait_and_respond(node: Node, plan: FetchPlan, request: FetchRequest, first: _Round) -> FetchResponse:
    waiting = FetchWait(request.min_bytes - first.readable_bytes)
    await waiting.wait([replica.fetch_waits for replica in first.replicas], min(request.max_wait_ms, MAX_WAIT_MS))
    return _respond(plan, _read_all(node, plan, request).answers)


def _replica_id(request: FetchRequest) -> int:
    return max(request.replica_id, request.replica_state.replica_id)


def _read_all(node: Node, plan: FetchPlan, request: FetchRequest) -> _Round:
    result = _Round(answers=[], replicas=[], readable_bytes=0, urgent=False)
    left = min(request.max_bytes, node.config.fetch_max_bytes)
    for key, wanted in plan.partitions:
        found = _find(node, key)
        if isinstance(found, ErrorCode):
            result.answers.append((key, _failed(wanted.partition, found)))
            result.urgent = True
            continue
        # The first batch goes out whole even if it is above the limits, or a reader could never get past it (KIP-74).
        min_one_batch = result.readable_bytes == 0
        try:
            answer = _read(found, wanted, request.isolation_level, max(left, 0), min_one_batch)
        except StorageFailure as failure:
            node.replicas.storage_failed(found, failure)
            answer = _failed(wanted.partition, ErrorCode.KAFKA_STORAGE_ERROR)
        except CorruptBatch as damage:
            logger.error("%s is damaged: %s", found.topic_partition, damage)
            answer = _failed(wanted.partition, ErrorCode.CORRUPT_MESSAGE)
        result.answers.append((key, answer))
        result.replicas.append(found)
        if answer.error_code or answer.diverging_epoch.epoch >= 0:
            result.urgent = True
        if answer.records is not None:
            result.readable_bytes += len(answer.records)
            left -= len(answer.records)
    return result


def _find(node: Node, key: PartitionKey) -> Replica | ErrorCode:
    topic, topic_id, partition = key
    if topic_id == ZERO_UUID:
        return node.replicas.leader(topic, partition)
    name = node.topic_name(topic_id)
    if name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return node.replicas.leader(name, partition)


def _read(
    replica: Replica, wanted: FetchPartition, isolation_level: int, response_left: int, min_one_batch: bool
) -> PartitionData:
    problem = replica.check_leader_epoch(wanted.current_leader_epoch)
    if problem:
        return _failed(wanted.partition, problem)
    log = replica.log
    if wanted.last_fetched_epoch >= 0:
        diverging = _divergence(replica, wanted)
        if diverging is not None:
            return diverging
    if not log.log_start_offset <= wanted.fetch_offset <= log.log_end_offset:
        return _failed(wanted.partition, ErrorCode.OFFSET_OUT_OF_RANGE)
    upper_bound = replica.readable_end(isolation_level)
    max_bytes = max(0, min(wanted.partition_max_bytes, response_left))
    records = b""
    aborted: list[AbortedTransaction] | None = [] if isolation_level == READ_COMMITTED else None
    if max_bytes > 0 or min_one_batch:
        result = replica.read(wanted.fetch_offset, max_bytes, upper_bound=upper_bound, min_one_batch=min_one_batch)
        if isinstance(result, OffsetOutOfRange):
            return _failed(wanted.partition, ErrorCode.OFFSET_OUT_OF_RANGE)
        records = result.records
        if aborted is not None and records:
            aborted = [
                AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
                for each in log.aborted_transactions(wanted.fetch_offset, log.end_offset_of(result))
            ]
    return PartitionData(
        partition_index=wanted.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=aborted,
        preferred_read_replica=-1,
        records=records,
    )


def _divergence(replica: Replica, wanted: FetchPartition) -> PartitionData | None:
    """The reader's last record is of an epoch that ended earlier in our log: it has records that we do not have."""
    log = replica.log
    epoch, end_offset = log.leader_epochs.end_offset_for(wanted.last_fetched_epoch, log.log_end_offset)
    if epoch < 0 or end_offset < 0:
        return _failed(wanted.partition, ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch >= wanted.last_fetched_epoch and end_offset >= wanted.fetch_offset:
        return None
    return PartitionData(
        partition_index=wanted.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end_offset),
        records=b"",
    )


def _failed(partition: int, code: ErrorCode) -> PartitionData:
    return PartitionData(
        partition_index=partition,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        current_leader=LeaderIdAndEpoch(),
        records=b"",
    )


def _respond(plan: FetchPlan, answers: Answers) -> FetchResponse:
    topics: dict[tuple[str, bytes], list[PartitionData]] = {}
    for (topic, topic_id, _), answer in plan.to_answer(answers):
        topics.setdefault((topic, topic_id), []).append(answer)
    return FetchResponse(
        session_id=plan.session_id,
        responses=[
            FetchableTopicResponse(topic=topic, topic_id=topic_id, partitions=partitions)
            for (topic, topic_id), partitions in topics.items()
        ],
    )
