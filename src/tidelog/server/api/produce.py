"""Produce: batches of records, appended as they were received.

Version 7 allows zstd, 8 brought errors per record (KIP-467), 10 names the new leader, 11 knows TRANSACTION_ABORTABLE,
with 12 the write itself adds the partition to the transaction (both KIP-890), 13 gives topic ids instead of names
(KIP-516).

Every record is checked before it is appended (`produce_checks.py`). Requests of one connection are appended in their
order (`routing/produce_order.py`).

acks=0 gets no reply; on an error the connection is closed, which is the only possible signal. acks=1 is answered
after the append, acks=all (-1) when all in-sync replicas have the records. A partition whose flush policy asks for it
(flush.messages) is on the device before the producer learns of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.network.later import Later
from tidelog.partition.producers import AppendOrigin, AppendRefusal
from tidelog.partition.verification import VerificationGuard
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tidelog.protocol.schema import replaced
from tidelog.records.produce_rules import ProduceRejection
from tidelog.records.produced_records import RecordsWork
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api import legacy_produce
from tidelog.server.api.ports import Admit, Configuration, Metadata
from tidelog.server.api.produce_checks import (
    Checks,
    Outcome,
    are_finished,
    begin_checks,
    finish_checks,
    has_transactional_batch,
)
from tidelog.server.api.transactional_produce import WriteRefusal, admit_produce, guard_to_show
from tidelog.server.configuration.topic_settings import writable_by_clients
from tidelog.server.coordination.verification import Admission
from tidelog.server.declaration import WRITE_TOPIC, WRITE_TRANSACTIONAL_ID, Api, FrameSize
from tidelog.server.patient_work import PatientWork
from tidelog.server.replicas.flusher import ReplicaFlusher
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.replies.leader_hints import REDIRECTING, LeaderHints
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.produce_order import ProduceOrder, Turn
from tidelog.storage.files.filesystem import StorageFailure

API = Api(
    key=ApiKey.PRODUCE,
    versions=(3, 13),
    permissions=(WRITE_TOPIC, WRITE_TRANSACTIONAL_ID),
    frame_size=FrameSize.RECORDS,
    advertised_from=0,
    refuse_older=legacy_produce.refuse,
    is_answered=lambda request: request.acks != 0,
    differences=(
        "Versions 0 to 2 are advertised for the sake of librdkafka before 2.10, and refused with UNSUPPORTED_VERSION.",
        "A node that does not lead the partition answers NOT_LEADER_OR_FOLLOWER before it looks at the records.",
    ),
)

logger = logging.getLogger(__name__)

ACKS_ALL = -1
_KNOWN_ACKS = (ACKS_ALL, 0, 1)
_TOPIC_IDS_FROM = 13
_LEADER_HINTS_FROM = 10
_NOTHING: frozenset[str] = frozenset()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceHandler:
    replicas: Replicas
    metadata: Metadata
    clock: Clock
    order: ProduceOrder
    patient_work: PatientWork
    admit: Admit
    configuration: Configuration
    flusher: ReplicaFlusher
    access: Access

    def handle(
        self, request: ProduceRequest, context: RequestContext
    ) -> ProduceResponse | Later[ProduceResponse | None] | None:
        request = _distinct(request)
        if not self._may_use_transactional_id(request, context):
            return self._refuse_all(request, context, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        forbidden = self._forbidden(request, context) if self.access.enforced else _NOTHING
        checks = begin_checks(
            request,
            context.version,
            replicas=self.replicas,
            image=self.metadata.image,
            now_ms=self.clock.now_ms(),
            forbidden=forbidden,
        )
        admission: Admission | Later[Admission] | None = None
        if self.order.is_free(context.connection) and are_finished(checks):
            if request.transactional_id is None:
                return self._append_all(request, context, checks, None, forbidden)
            admission = self._admit_writes(request, context.version, forbidden)
            if isinstance(admission, Admission):
                return self._append_all(request, context, checks, admission, forbidden)
        turn = self.order.take_turn(context.connection)
        later = Later.run(self._append_in_turn(request, context, checks, turn, admission, forbidden))
        # A task that is cancelled before its first step does not end its turn itself.
        later.future.add_done_callback(lambda _: turn.end())
        return later

    def _may_use_transactional_id(self, request: ProduceRequest, context: RequestContext) -> bool:
        """Only transactional batches need one, and then it must be named."""
        transactional_id = request.transactional_id
        if transactional_id is not None and not self.access.enforced:
            return True
        if not has_transactional_batch(request):
            return True
        return transactional_id is not None and self.access.allows(
            context, Operation.WRITE, AclResourceType.TRANSACTIONAL_ID, transactional_id
        )

    def _forbidden(self, request: ProduceRequest, context: RequestContext) -> frozenset[str]:
        """The names of the topics in it that the producer may not write to."""
        image = self.metadata.image
        names = [image.name_of(topic.name, topic.topic_id) for topic in request.topic_data]
        return self.access.forbidden(
            context, Operation.WRITE, AclResourceType.TOPIC, [name for name in names if name is not None]
        )

    async def _append_in_turn(
        self,
        request: ProduceRequest,
        context: RequestContext,
        checks: Checks,
        turn: Turn,
        admission: Admission | Later[Admission] | None,
        forbidden: frozenset[str],
    ) -> ProduceResponse | None:
        try:
            await finish_checks(checks, self.patient_work)
            await turn.comes()
            if request.transactional_id is not None and admission is None:
                admission = self._admit_writes(request, context.version, forbidden)
            if isinstance(admission, Later):
                admission = await admission
            outcome = self._append_all(request, context, checks, admission, forbidden)
        finally:
            turn.end()
        return await outcome if isinstance(outcome, Later) else outcome

    def _admit_writes(
        self, request: ProduceRequest, version: int, forbidden: frozenset[str]
    ) -> Admission | Later[Admission]:
        return admit_produce(
            request,
            version,
            replicas=self.replicas,
            image=self.metadata.image,
            admit=self.admit,
            forbidden=forbidden,
        )

    def _append_all(
        self,
        request: ProduceRequest,
        context: RequestContext,
        checks: Checks,
        admission: Admission | None,
        forbidden: frozenset[str],
    ) -> ProduceResponse | Later[ProduceResponse] | None:
        """Nothing is awaited here: the appends to all partitions are one step."""
        acks = request.acks
        by_id = context.version >= _TOPIC_IDS_FROM
        image = self.metadata.image
        topics: list[list[PartitionProduceResponse]] = []
        waiting: list[_Appended] = []
        failed = False
        for topic in request.topic_data:
            answers: list[PartitionProduceResponse] = []
            name = image.topic_name(topic.topic_id) if by_id else image.name_of(topic.name, topic.topic_id)
            for partition in topic.partition_data:
                if name is None:
                    replica: Replica | ErrorCode = ErrorCode.UNKNOWN_TOPIC_ID
                elif name in forbidden:
                    replica = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                else:
                    replica = self.replicas.leader(name, partition.index)
                checked = checks[len(topics)][len(answers)]
                assert not isinstance(checked, RecordsWork)
                answer = self._append(name, partition, replica, checked, acks, context.version, admission)
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
            return Later.run(self._wait(request, context, topics, waiting))
        return self._response(request, context, topics, failed=failed)

    def _append(
        self,
        topic: str | None,
        data: PartitionProduceData,
        replica: Replica | ErrorCode,
        checked: Outcome | None,
        acks: int,
        version: int,
        admission: Admission | None,
    ) -> PartitionProduceResponse:
        if replica is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return _refused(data.index, replica, None)
        if acks not in _KNOWN_ACKS:
            return _refused(data.index, ErrorCode.INVALID_REQUIRED_ACKS, f"acks={acks}: it must be 0, 1 or -1 (all)")
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
            shown = guard_to_show(
                replica.topic_partition,
                admission,
                version,
                verifies=self.configuration.config.transaction_partition_verification_enable,
            )
            if isinstance(shown, WriteRefusal):
                return _refused(data.index, shown.code, shown.message)
            guard = shown
        try:
            result = replica.append(
                checked.data, checked.headers, origin=AppendOrigin.CLIENT, all_in_sync=acks == ACKS_ALL, guard=guard
            )
        except StorageFailure as failure:
            self.replicas.storage_failed(replica, failure)
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

    async def _wait(
        self,
        request: ProduceRequest,
        context: RequestContext,
        topics: list[list[PartitionProduceResponse]],
        waiting: list[_Appended],
    ) -> ProduceResponse:
        deadline = asyncio.get_running_loop().time() + max(request.timeout_ms, 0) / 1000
        for appended in waiting:
            code = await self._flush(appended, deadline)
            if code:
                topics[appended.topic_index][appended.partition] = _refused(appended.response.index, code, None)
        return self._response(request, context, topics, failed=True)

    async def _flush(self, appended: _Appended, deadline: float) -> ErrorCode:
        replica = appended.replica
        try:
            if not await self.flusher.flush_up_to(replica, appended.end_offset):
                return ErrorCode.KAFKA_STORAGE_ERROR if replica.offline else ErrorCode.NOT_LEADER_OR_FOLLOWER
            if appended.committed is not None:
                async with asyncio.timeout_at(deadline):
                    return await appended.committed
        except StorageFailure as failure:
            self.replicas.storage_failed(replica, failure)
            return ErrorCode.KAFKA_STORAGE_ERROR
        except TimeoutError:
            if replica.progress is not None and not replica.progress.has_enough_in_sync:
                return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
            return ErrorCode.REQUEST_TIMED_OUT
        return ErrorCode.NONE

    def _refuse_all(self, request: ProduceRequest, context: RequestContext, code: ErrorCode) -> ProduceResponse | None:
        if request.acks == 0:
            context.connection.close()
            return None
        topics = [[_refused(each.index, code, None) for each in topic.partition_data] for topic in request.topic_data]
        return self._response(request, context, topics, failed=True)

    def _response(
        self,
        request: ProduceRequest,
        context: RequestContext,
        topics: list[list[PartitionProduceResponse]],
        *,
        failed: bool,
    ) -> ProduceResponse:
        endpoints: Sequence[NodeEndpoint] = ()
        if failed and context.version >= _LEADER_HINTS_FROM:
            hints = LeaderHints(self.metadata.image, context.listener)
            for topic, answers in zip(request.topic_data, topics, strict=True):
                answers[:] = [
                    _with_hint(hints, self.metadata.image.name_of(topic.name, topic.topic_id), answer)
                    for answer in answers
                ]
            endpoints = hints.addresses(NodeEndpoint)
        return ProduceResponse(
            responses=[
                TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers)
                for topic, answers in zip(request.topic_data, topics, strict=True)
            ],
            node_endpoints=endpoints,
        )


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
        # Kafka has no message for most of these; where it has one, ours is the same.
        error_message=rejection.message or rejection.reason,
    )


def _must_wait(replica: Replica, acks: int) -> bool:
    if replica.log.flushed_end_offset < replica.log.log_end_offset:
        return True
    return acks == ACKS_ALL and not replica.all_committed()


def _refused(
    partition: int, code: ErrorCode, message: str | None, *, log_start_offset: int = -1
) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=partition, error_code=code, base_offset=-1, log_start_offset=log_start_offset, error_message=message
    )


def _with_hint(hints: LeaderHints, topic: str | None, answer: PartitionProduceResponse) -> PartitionProduceResponse:
    if answer.error_code not in REDIRECTING:
        return answer
    leader, leader_epoch = hints.leader_of(topic, answer.index)
    return replaced(answer, current_leader=LeaderIdAndEpoch(leader_id=leader, leader_epoch=leader_epoch))
