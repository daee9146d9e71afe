"""JoinGroup: answered when the group has come together; see `tidelog.coordinators.groups.join`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.network.later import Later
from tidelog.protocol.messages.join_group_request import JoinGroupRequest
from tidelog.protocol.messages.join_group_response import JoinGroupResponse
from tidelog.protocol.schema import Message
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


# Before, no protocol was an empty name.
_NULL_PROTOCOL_FROM = 7


def handle(node: Node, request: JoinGroupRequest, context: RequestContext) -> Message | Later[Message]:
    outcome = node.groups.ask(request.group_id, request, context)
    if context.version < _NULL_PROTOCOL_FROM:
        return outcome
    return _without_protocol(outcome) if isinstance(outcome, Message) else outcome.then(_without_protocol)


def _without_protocol(reply: Message) -> Message:
    """An error has no protocol, and since version 7 that can be said."""
    if not isinstance(reply, JoinGroupResponse) or not reply.error_code:
        return reply
    return JoinGroupResponse(error_code=reply.error_code, member_id=reply.member_id, protocol_name=None)
