"""Heartbeat of a classic group's member; see `tidelog.coordinators.groups.presence`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.schema import Message
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: HeartbeatRequest, context: RequestContext) -> Message | Awaitable[Message]:
    return node.groups.ask(request.group_id, request, context)
