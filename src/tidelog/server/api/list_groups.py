"""ListGroups: the groups that this broker coordinates. Version 4 filters by state, 5 by type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.list_groups_request import ListGroupsRequest
from tidelog.protocol.messages.list_groups_response import ListGroupsResponse
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    return node.groups.list_groups(request.states_filter, request.types_filter)
