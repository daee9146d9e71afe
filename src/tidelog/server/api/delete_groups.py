"""DeleteGroups: groups without members, and their offsets. Each group may have another coordinator."""

from __future__ import annotations

from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from tidelog.protocol.schema import Message
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DELETE_GROUP, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DELETE_GROUPS, versions=(0, 2), permissions=(DELETE_GROUP,))


async def handle(
    groups: GroupCoordinator, request: DeleteGroupsRequest, context: RequestContext
) -> DeleteGroupsResponse:
    results: list[DeletableGroupResult] = []
    for group_id in dict.fromkeys(request.groups_names):
        outcome = groups.ask(group_id, DeleteGroupsRequest(groups_names=[group_id]), context)
        reply = outcome if isinstance(outcome, Message) else await outcome
        assert isinstance(reply, DeleteGroupsResponse)
        results.extend(reply.results)
    return DeleteGroupsResponse(results=results)
