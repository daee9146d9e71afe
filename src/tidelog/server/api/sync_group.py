"""SyncGroup: answered when the leader has assigned; see `tidelog.coordinators.groups.sync`."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import COORDINATOR_FIRST, READ_GROUP, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.SYNC_GROUP, versions=(0, 5), permissions=(READ_GROUP,), differences=(COORDINATOR_FIRST,))


# From here on a member says which protocol it expects (KIP-559).
_NAMES_PROTOCOL_FROM = 5


def handle(
    access: Access, groups: GroupCoordinator, request: SyncGroupRequest, context: RequestContext
) -> Message | Later[Message]:
    if context.version >= _NAMES_PROTOCOL_FROM and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not access.allows(context, Operation.READ, AclResourceType.GROUP, request.group_id):
        return SyncGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return groups.ask(request.group_id, request, context)
