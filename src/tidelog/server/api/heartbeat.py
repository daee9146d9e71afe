"""Heartbeat of a classic group's member; see `tidelog.coordinators.groups.presence`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.network.later import Later
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.schema import Message
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: HeartbeatRequest, context: RequestContext) -> Message | Later[Message]:
    return node.groups.ask(request.group_id, request, context)
