"""OffsetCommit: where a group's consumers have got to.

From version 10 topics go by their id (KIP-848). Topics that do not exist are refused here, the rest is decided in
`tidelog.coordinators.groups.offset_commit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestTopic
from tidelog.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tidelog.protocol.schema import Message
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node

_TOPIC_IDS_FROM = 10


def handle(node: Node, request: OffsetCommitRequest, context: RequestContext) -> Message | Later[Message]:
    known: list[OffsetCommitRequestTopic] = []
    refused: list[OffsetCommitResponseTopic] = []
    for topic in request.topics:
        if context.version < _TOPIC_IDS_FROM:
            if topic.name in node.image.topics:
                known.append(topic)
            else:
                refused.append(_refused(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            continue
        name = node.topic_name(topic.topic_id)
        if name is None:
            refused.append(_refused(topic, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            partitions = topic.partitions
            known.append(OffsetCommitRequestTopic(name=name, topic_id=topic.topic_id, partitions=partitions))
    if request.topics and not known:
        return OffsetCommitResponse(topics=refused)
    if refused or context.version >= _TOPIC_IDS_FROM:
        request = OffsetCommitRequest(
            group_id=request.group_id,
            generation_id_or_member_epoch=request.generation_id_or_member_epoch,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            retention_time_ms=request.retention_time_ms,
            topics=known,
        )
    outcome = node.groups.ask(request.group_id, request, context)
    if not refused:
        return outcome
    if isinstance(outcome, Message):
        return _joined(outcome, refused)
    return outcome.then(lambda reply: _joined(reply, refused))


def _joined(reply: Message, refused: list[OffsetCommitResponseTopic]) -> OffsetCommitResponse:
    assert isinstance(reply, OffsetCommitResponse)
    return OffsetCommitResponse(topics=[*reply.topics, *refused])


def _refused(topic: OffsetCommitRequestTopic, code: ErrorCode) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
            for partition in topic.partitions
        ],
    )
