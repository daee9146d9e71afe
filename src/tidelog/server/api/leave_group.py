"""LeaveGroup: members leave, or are removed. Decided in `tidelog.coordinators.groups.presence`."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest
from tidelog.protocol.messages.leave_group_response import LeaveGroupResponse
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import COORDINATOR_FIRST, READ_GROUP, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.LEAVE_GROUP, versions=(0, 5), permissions=(READ_GROUP,), differences=(COORDINATOR_FIRST,))


def handle(
    access: Access, groups: GroupCoordinator, request: LeaveGroupRequest, context: RequestContext
) -> Message | Later[Message]:
    if not access.allows(context, Operation.READ, AclResourceType.GROUP, request.group_id):
        return LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return groups.ask(request.group_id, request, context)
