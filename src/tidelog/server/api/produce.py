"""Produce: batches of records, appended as they came.

Version 7 allows zstd, 8 brought errors per record (KIP-467), 10 tells the new leader, 11 knows TRANSACTION_ABORTABLE,
with 12 the write itself adds the partition to the transaction (both KIP-890), 13 gives topic ids instead of names
(KIP-516).

Every record is checked before it is appended (`produce_checks.py`).

acks=0 gets no reply; if something is wrong the connection is closed, which is the only way to tell. acks=1 is answered
after the append, acks=all (-1) when all in-sync replicas have the records. A partition whose flush policy asks for it
(flush.messages) is on the device before the producer hears of it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.network.later import Later
from tidelog.partition.producers import AppendOrigin
from tidelog.partition.verification import VerificationGuard
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tidelog.records.produce_rules import ProduceRejection
from tidelog.records.produced_records import RecordsWork
from tidelog.server.api.produce_checks import (
    Checks,
    Outcome,
    are_finished,
    begin_checks,
    finish_checks,
    has_transactional_batch,
)
from tidelog.server.api.transactional_produce import WriteRefusal, admit_produce, guard_to_show, topic_name
from tidelog.server.configuration.topic_settings import writable_by_clients
from tidelog.server.coordination.verification import Admission
from tidelog.server.replicas.replica import Replica
from tidelog.server.replies.leader_hints import REDIRECTING, LeaderHints
from tidelog.server.routing.context import RequestContext
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.results import AppendRefusal

if TYPE_CHECKING:
    from tidelog.server.node import Node

logger = logging.getLogger(__name__)

ACKS_ALL = -1
_KNOWN_ACKS = (ACKS_ALL, 0, 1)
_TOPIC_IDS_FROM = 13
_LEADER_HINTS_FROM = 10


class _Appended:
    """A partition whose reply has to wait: for the device, for the other replicas, or for both."""

    __slots__ = ("committed", "end_offset", "partition", "replica", "response", "topic_index")

    def __init__(
        self, topic_index: int, partition: int, replica: Replica, response: PartitionProduceResponse, acks: int
    ) -> None:
        self.topic_index = topic_index
        self.partition = partition
        self.replica = replica
        self.response = response
        self.end_offset = replica.log.log_end_offset
        # Waiting begins here, right after the append: the leadership may end before the reply is worked on.
        self.committed = replica.when_committed(self.end_offset) if acks == ACKS_ALL else None


def handle(
    node: Node, request: ProduceRequest, context: RequestContext
) -> ProduceResponse | Later[ProduceResponse | None] | None:
    request = _distinct(request)
    if request.transactional_id is None and has_transactional_batch(request):
        return _refuse_all(node, request, context, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    checks = begin_checks(node, request, context.version)
    before = context.connection.turn
    admission: Admission | Later[Admission] | None = None
    if before is None and are_finished(checks):
        if request.transactional_id is None:
            return _append_all(node, request, context, checks, None)
        admission = admit_produce(node, request, context.version)
        if isinstance(admission, Admission):
            return _append_all(node, request, context, checks, admission)
    return Later.run(_append_in_turn(node, request, context, checks, before, _new_turn(context), admission))


def _distinct(request: ProduceRequest) -> ProduceRequest:
    """Each partition once, with what was given for it last; topics without partitions are not answered for."""
    topics = request.topic_data
    if len(topics) == 1 and len(topics[0].partition_data) == 1:
        return request
    given: dict[tuple[str, bytes], dict[int, PartitionProduceData]] = {}
    for topic in topics:
        if topic.partition_data:
            partitions = given.setdefault((topic.name, topic.topic_id), {})
            partitions.update((each.index, each) for each in topic.partition_data)
    return ProduceRequest(
        transactional_id=request.transactional_id,
        acks=request.acks,
        timeout_ms=request.timeout_ms,
        topic_data=[
            TopicProduceData(name=name, topic_id=topic_id, partition_data=list(partitions.values()))
            for (name, topic_id), partitions in given.items()
        ],
    )


def _new_turn(context: RequestContext) -> asyncio.Future[None]:
    """Requests of one connection are appended in their order, also if one has large batches to unpack, or if the
    coordinator has to be asked for some."""
    turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    context.connection.turn = turn
    return turn


async def _append_in_turn(
    node: Node,
    request: ProduceRequest,
    context: RequestContext,
    checks: Checks,
    before: asyncio.Future[None] | None,
    turn: asyncio.Future[None],
    admission: Admission | Later[Admission] | None,
) -> ProduceResponse | None:
    try:
        await finish_checks(node, checks)
        if before is not None:
            await before
        if request.transactional_id is not None and admission is None:
            admission = admit_produce(node, request, context.version)
        if isinstance(admission, Later):
            admission = await admission
        outcome = _append_all(node, request, context, checks, admission)
    finally:
        if context.connection.turn is turn:
            context.connection.turn = None
        if not turn.done():
            turn.set_result(None)
    return await outcome if isinstance(outcome, Later) else outcome


def _append_all(
    node: Node, request: ProduceRequest, context: RequestContext, checks: Checks, admission: Admission | None
) -> ProduceResponse | Later[ProduceResponse] | None:
    """Nothing gives way in here: what has been appended to one partition and what to the next is one step."""
    acks = request.acks
    by_id = context.version >= _TOPIC_IDS_FROM
    topics: list[list[PartitionProduceResponse]] = []
    waiting: list[_Appended] = []
    failed = False
    for topic in request.topic_data:
        answers: list[PartitionProduceResponse] = []
        name = None if by_id and topic.topic_id == ZERO_UUID else topic_name(node, topic)
        for partition in topic.partition_data:
            replica = node.replicas.leader(name, partition.index) if name is not None else ErrorCode.UNKNOWN_TOPIC_ID
            checked = checks[len(topics)][len(answers)]
            assert not isinstance(checked, RecordsWork)
            answer = _append(node, name, partition, replica, checked, acks, context.version, admission)
            failed = failed or answer.error_code != 0
            if not answer.error_code and isinstance(replica, Replica) and _must_wait(replica, acks):
                waiting.append(_Appended(len(topics), len(answers), replica, answer, acks))
            answers.append(answer)
        topics.append(answers)
    if acks == 0:
        if failed:
            context.connection.close()
        return None
    if waiting:
        return Later.run(_wait(node, request, context, topics, waiting))
    return _response(node, request, context, topics, failed=failed)


def _append(
    node: Node,
    topic: str | None,
    data: PartitionProduceData,
    replica: Replica | ErrorCode,
    checked: Outcome | None,
    acks: int,
    version: int,
    admission: Admission | None,
) -> PartitionProduceResponse:
    if acks not in _KNOWN_ACKS:
        return _refused(data.index, ErrorCode.INVALID_REQUIRED_ACKS, f"acks={acks} is none of 0, 1 and -1 (all)")
    if topic is not None and not writable_by_clients(topic):
        return _refused(data.index, ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is written by the broker only")
    if isinstance(replica, ErrorCode):
        return _refused(data.index, replica, None)
    if checked is None:
        # This broker has become the leader while the other partitions of the request were checked.
        return _refused(data.index, ErrorCode.NOT_LEADER_OR_FOLLOWER, None)
    if isinstance(checked, ProduceRejection):
        return _rejected(data.index, replica, checked)
    guard: VerificationGuard | None = None
    if checked.headers[0].is_transactional:
        shown = guard_to_show(node, replica.topic_partition, admission, version)
        if isinstance(shown, WriteRefusal):
            return _refused(data.index, shown.code, shown.message)
        guard = shown.guard
    try:
        result = replica.append(
            checked.data, checked.headers, origin=AppendOrigin.CLIENT, all_in_sync=acks == ACKS_ALL, guard=guard
        )
    except StorageFailure as failure:
        node.replicas.storage_failed(replica, failure)
        return _refused(data.index, ErrorCode.KAFKA_STORAGE_ERROR, str(failure))
    if isinstance(result, AppendRefusal):
        start = -1 if result.code == ErrorCode.RECORD_LIST_TOO_LARGE else replica.log.log_start_offset
        return _refused(data.index, result.code, result.message, log_start_offset=start)
    return PartitionProduceResponse(
        index=data.index,
        base_offset=result.base_offset,
        log_append_time_ms=result.log_append_time_ms,
        log_start_offset=result.log_start_offset,
    )


def _rejected(partition: int, replica: Replica, rejection: ProduceRejection) -> PartitionProduceResponse:
    logger.debug("refused a batch for %s: %s", replica.topic_partition, rejection.reason)
    return PartitionProduceResponse(
        index=partition,
        error_code=rejection.code,
        base_offset=-1,
        log_start_offset=replica.log.log_start_offset if rejection.tells_log_start else -1,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=each.batch_index, batch_index_error_message=each.message)
            for each in rejection.record_errors
        ],
        # Kafka has no words for most of these; for those that it has, ours are the same.
        error_message=rejection.message or rejection.reason,
    )


def _must_wait(replica: Replica, acks: int) -> bool:
    if replica.log.settled_end_offset < replica.log.log_end_offset:
        return True
    return acks == ACKS_ALL and not replica.all_committed()


async def _wait(
    node: Node,
    request: ProduceRequest,
    context: RequestContext,
    topics: list[list[PartitionProduceResponse]],
    waiting: list[_Appended],
) -> ProduceResponse:
    deadline = asyncio.get_running_loop().time() + max(request.timeout_ms, 0) / 1000
    for appended in waiting:
        code = await _settle(node, appended, deadline)
        if code:
            topics[appended.topic_index][appended.partition] = _refused(appended.response.index, code, None)
    return _response(node, request, context, topics, failed=True)


async def _settle(node: Node, appended: _Appended, deadline: float) -> ErrorCode:
    replica = appended.replica
    try:
        if not await node.flusher.settle(replica, appended.end_offset):
            return ErrorCode.KAFKA_STORAGE_ERROR if replica.offline else ErrorCode.NOT_LEADER_OR_FOLLOWER
        if appended.committed is not None:
            async with asyncio.timeout_at(deadline):
                return await appended.committed
    except StorageFailure as failure:
        node.replicas.storage_failed(replica, failure)
        return ErrorCode.KAFKA_STORAGE_ERROR
    except TimeoutError:
        if replica.progress is not None and not replica.progress.has_enough_in_sync:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.REQUEST_TIMED_OUT
    return ErrorCode.NONE


def _refuse_all(
    node: Node, request: ProduceRequest, context: RequestContext, code: ErrorCode
) -> ProduceResponse | None:
    if request.acks == 0:
        context.connection.close()
        return None
    topics = [[_refused(each.index, code, None) for each in topic.partition_data] for topic in request.topic_data]
    return _response(node, request, context, topics, failed=True)


def _refused(
    partition: int, code: ErrorCode, message: str | None, *, log_start_offset: int = -1
) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=partition, error_code=code, base_offset=-1, log_start_offset=log_start_offset, error_message=message
    )


def _response(
    node: Node,
    request: ProduceRequest,
    context: RequestContext,
    topics: list[list[PartitionProduceResponse]],
    *,
    failed: bool,
) -> ProduceResponse:
    hints = LeaderHints(node.image, context.listener)
    if failed and context.version >= _LEADER_HINTS_FROM:
        for topic, answers in zip(request.topic_data, topics, strict=True):
            answers[:] = [_with_hint(hints, topic_name(node, topic), answer) for answer in answers]
    return ProduceResponse(
        responses=[
            TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers)
            for topic, answers in zip(request.topic_data, topics, strict=True)
        ],
        node_endpoints=[
            NodeEndpoint(node_id=each.broker_id, host=each.host, port=each.port, rack=each.rack)
            for each in hints.addresses
        ],
    )


def _with_hint(hints: LeaderHints, topic: str | None, answer: PartitionProduceResponse) -> PartitionProduceResponse:
    if answer.error_code not in REDIRECTING:
        return answer
    leader, leader_epoch = hints.leader_of(topic, answer.index)
    return PartitionProduceResponse(
        index=answer.index,
        error_code=answer.error_code,
        base_offset=answer.base_offset,
        log_start_offset=answer.log_start_offset,
        error_message=answer.error_message,
        current_leader=LeaderIdAndEpoch(leader_id=leader, leader_epoch=leader_epoch),
    )
