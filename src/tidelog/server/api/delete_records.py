"""DeleteRecords: moves the start of a partition. -1 stands for the high watermark: everything there is.

Answered when all in-sync replicas have learned of it, or else the records could come back with the next leader.
"""

from __future__ import annotations

import asyncio

from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest
from tidelog.protocol.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.configuration.topic_settings import writable_by_clients
from tidelog.server.declaration import DELETE_TOPIC, Api
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DELETE_RECORDS, versions=(0, 2), permissions=(DELETE_TOPIC,))

HIGH_WATERMARK = -1
_UNKNOWN = -1


def handle(
    access: Access, replicas: Replicas, request: DeleteRecordsRequest, context: RequestContext
) -> DeleteRecordsResponse | Later[DeleteRecordsResponse]:
    waiting: list[_RecordDeletion] = []
    names = (topic.name for topic in request.topics)
    forbidden = access.forbidden(context, Operation.DELETE, AclResourceType.TOPIC, names)
    topics = [
        DeleteRecordsTopicResult(
            name=topic.name,
            partitions=[
                _refused(wanted, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                if topic.name in forbidden
                else _delete(replicas, topic.name, wanted, waiting)
                for wanted in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    if not waiting:
        return DeleteRecordsResponse(topics=topics)
    return Later.run(_wait(topics, waiting, request.timeout_ms))


def _delete(
    replicas: Replicas, topic: str, wanted: DeleteRecordsPartition, waiting: list[_RecordDeletion]
) -> DeleteRecordsPartitionResult:
    if not writable_by_clients(topic):
        return _refused(wanted, ErrorCode.INVALID_TOPIC_EXCEPTION)
    replica = replicas.leader(topic, wanted.partition_index)
    if isinstance(replica, ErrorCode):
        return _refused(wanted, replica)
    if not replica.settings.config.deletes:
        # In a compacted topic the oldest records are as current as the newest.
        return _refused(wanted, ErrorCode.POLICY_VIOLATION)
    log = replica.log
    offset = log.high_watermark if wanted.offset == HIGH_WATERMARK else wanted.offset
    if not 0 <= offset <= log.high_watermark:
        return _refused(wanted, ErrorCode.OFFSET_OUT_OF_RANGE)
    log.advance_log_start(offset)
    # Also if it was there already: a client that was refused for want of room asks again.
    problem = replicas.checkpoint_log_start(replica)
    if problem:
        return _refused(wanted, problem)
    if replica.low_watermark < offset:
        waiting.append(_RecordDeletion(topic, wanted, replica, replica.when_deleted(offset)))
    return DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=replica.low_watermark)


async def _wait(
    topics: list[DeleteRecordsTopicResult], waiting: list[_RecordDeletion], timeout_ms: int
) -> DeleteRecordsResponse:
    await asyncio.wait([each.done for each in waiting], timeout=max(timeout_ms, 0) / 1000)
    settled = {(each.topic, each.wanted.partition_index): each.result() for each in waiting}
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[settled.get((topic.name, each.partition_index), each) for each in topic.partitions],
            )
            for topic in topics
        ]
    )


@dataclass(frozen=True, slots=True)
class _RecordDeletion:
    """One that the other replicas have to learn of."""

    topic: str
    wanted: DeleteRecordsPartition
    replica: Replica
    done: asyncio.Future[ErrorCode]

    def result(self) -> DeleteRecordsPartitionResult:
        code = self.done.result() if self.done.done() else ErrorCode.REQUEST_TIMED_OUT
        if code:
            return _refused(self.wanted, code)
        return DeleteRecordsPartitionResult(
            partition_index=self.wanted.partition_index, low_watermark=self.replica.low_watermark
        )


def _refused(wanted: DeleteRecordsPartition, code: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=_UNKNOWN, error_code=code)
