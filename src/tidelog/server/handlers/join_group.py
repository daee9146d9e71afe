"""JoinGroup: answered when the group has come together; see `tidelog.coordinators.groups.join`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.network.later import Later
from tidelog.protocol.messages.join_group_request import JoinGroupRequest
from tidelog.protocol.schema import Message
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: JoinGroupRequest, context: RequestContext) -> Message | Later[Message]:
    return node.groups.ask(request.group_id, request, context)
