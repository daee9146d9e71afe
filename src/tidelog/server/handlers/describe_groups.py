"""DescribeGroups: state, members and assignments of classic groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.protocol.messages.describe_groups_response import DescribeGroupsResponse
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: DescribeGroupsRequest, context: RequestContext) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[node.groups.describe_group(group_id, context.version) for group_id in request.groups]
    )
