"""ConsumerGroupDescribe: state, members and assignments of consumer groups (KIP-848). Version 1 tells member types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.consumer_group_describe_response import (
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from tidelog.server.context import RequestContext
from tidelog.server.handlers.consumer_group_heartbeat import is_enabled

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: ConsumerGroupDescribeRequest, context: RequestContext) -> ConsumerGroupDescribeResponse:
    enabled = is_enabled(node)
    return ConsumerGroupDescribeResponse(
        groups=[_describe(node, group_id) if enabled else _refused(group_id) for group_id in request.group_ids]
    )


def _describe(node: Node, group_id: str) -> DescribedGroup:
    if not group_id:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
    return node.groups.describe_consumer_group(group_id)


def _refused(group_id: str) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
