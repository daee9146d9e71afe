"""DeleteGroups: groups without members, and their offsets. Each group may have another coordinator."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DELETE_GROUP, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DELETE_GROUPS, versions=(0, 2), permissions=(DELETE_GROUP,))


async def handle(
    access: Access, groups: GroupCoordinator, request: DeleteGroupsRequest, context: RequestContext
) -> DeleteGroupsResponse:
    results: list[DeletableGroupResult] = []
    forbidden = access.forbidden(context, Operation.DELETE, AclResourceType.GROUP, request.groups_names)
    for group_id in dict.fromkeys(request.groups_names):
        if group_id in forbidden:
            refused = DeletableGroupResult(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
            results.append(refused)
            continue
        outcome = groups.ask(group_id, DeleteGroupsRequest(groups_names=[group_id]), context)
        reply = outcome if isinstance(outcome, Message) else await outcome
        assert isinstance(reply, DeleteGroupsResponse)
        results.extend(reply.results)
    return DeleteGroupsResponse(results=results)
