"""SyncGroup: answered when the leader has assigned; see `tidelog.coordinators.groups.sync`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse
from tidelog.protocol.schema import Message
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


# From here on a member says which protocol it believes to be chosen (KIP-559).
_NAMES_PROTOCOL_FROM = 5


def handle(node: Node, request: SyncGroupRequest, context: RequestContext) -> Message | Later[Message]:
    if context.version >= _NAMES_PROTOCOL_FROM and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return node.groups.ask(request.group_id, request, context)
