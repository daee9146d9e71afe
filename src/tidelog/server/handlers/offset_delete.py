"""OffsetDelete: take back committed offsets of topics that no member of the group is subscribed to (KIP-496)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.offset_delete_request import OffsetDeleteRequest
from tidelog.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from tidelog.protocol.schema import Message
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: OffsetDeleteRequest, context: RequestContext) -> OffsetDeleteResponse:
    known = [topic for topic in request.topics if topic.name in node.image.topics]
    refused = [
        OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponsePartition(
                    partition_index=partition.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
        if topic.name not in node.image.topics
    ]
    if request.topics and not known:
        return OffsetDeleteResponse(topics=refused)
    message = OffsetDeleteRequest(group_id=request.group_id, topics=known)
    outcome = node.groups.ask(request.group_id, message, context)
    reply = outcome if isinstance(outcome, Message) else await outcome
    assert isinstance(reply, OffsetDeleteResponse)
    if reply.error_code:
        return reply
    return OffsetDeleteResponse(topics=[*reply.topics, *refused])
