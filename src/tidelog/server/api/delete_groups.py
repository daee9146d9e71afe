"""DeleteGroups: groups without members, and their offsets. Each group may have another coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from tidelog.protocol.schema import Message
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: DeleteGroupsRequest, context: RequestContext) -> DeleteGroupsResponse:
    results: list[DeletableGroupResult] = []
    for group_id in dict.fromkeys(request.groups_names):
        outcome = node.groups.ask(group_id, DeleteGroupsRequest(groups_names=[group_id]), context)
        reply = outcome if isinstance(outcome, Message) else await outcome
        assert isinstance(reply, DeleteGroupsResponse)
        results.extend(reply.results)
    return DeleteGroupsResponse(results=results)
