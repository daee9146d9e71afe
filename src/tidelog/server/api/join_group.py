"""JoinGroup: answered when all members have joined; see `tidelog.coordinators.groups.join`."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.join_group_request import JoinGroupRequest
from tidelog.protocol.messages.join_group_response import JoinGroupResponse
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import COORDINATOR_FIRST, READ_GROUP, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.JOIN_GROUP, versions=(0, 9), permissions=(READ_GROUP,), differences=(COORDINATOR_FIRST,))


# Before, no protocol was an empty name.
_NULL_PROTOCOL_FROM = 7


def handle(
    access: Access, groups: GroupCoordinator, request: JoinGroupRequest, context: RequestContext
) -> Message | Later[Message]:
    no_protocol = None if context.version >= _NULL_PROTOCOL_FROM else ""
    if not access.allows(context, Operation.READ, AclResourceType.GROUP, request.group_id):
        return JoinGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, protocol_name=no_protocol)

    def may_describe(topic: str) -> bool:
        return access.allows(context, Operation.DESCRIBE, AclResourceType.TOPIC, topic, quiet=True)

    # In a group with members of both protocols it may cause regular expressions of others to be resolved.
    outcome = groups.ask(request.group_id, request, context, sees=may_describe if access.enforced else None)

    def finish(reply: Message) -> Message:
        """An error has no protocol, and a member that is sent to another coordinator no member id."""
        if not isinstance(reply, JoinGroupResponse) or not reply.error_code:
            return reply
        member_id = "" if reply.error_code == ErrorCode.NOT_COORDINATOR else reply.member_id
        return JoinGroupResponse(error_code=reply.error_code, member_id=member_id, protocol_name=no_protocol)

    return finish(outcome) if isinstance(outcome, Message) else outcome.then(finish)
