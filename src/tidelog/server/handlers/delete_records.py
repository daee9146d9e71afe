"""DeleteRecords: moves the start of a partition. -1 stands for the high watermark: everything there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest
from tidelog.protocol.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from tidelog.server.context import RequestContext
from tidelog.server.topic_settings import writable_by_clients

if TYPE_CHECKING:
    from tidelog.server.node import Node

HIGH_WATERMARK = -1
_UNKNOWN = -1


def handle(node: Node, request: DeleteRecordsRequest, context: RequestContext) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name, partitions=[_delete(node, topic.name, wanted) for wanted in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _delete(node: Node, topic: str, wanted: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    if not writable_by_clients(topic):
        return _refused(wanted, ErrorCode.INVALID_TOPIC_EXCEPTION)
    replica = node.replicas.leader(topic, wanted.partition_index)
    if isinstance(replica, ErrorCode):
        return _refused(wanted, replica)
    if not replica.settings.config.deletes:
        # In a compacted topic the oldest records are as current as the newest.
        return _refused(wanted, ErrorCode.POLICY_VIOLATION)
    log = replica.log
    offset = log.high_watermark if wanted.offset == HIGH_WATERMARK else wanted.offset
    if not 0 <= offset <= log.high_watermark:
        return _refused(wanted, ErrorCode.OFFSET_OUT_OF_RANGE)
    if log.advance_log_start(offset):
        node.replicas.log_start_moved(replica)
    return DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=log.log_start_offset)


def _refused(wanted: DeleteRecordsPartition, code: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=_UNKNOWN, error_code=code)
