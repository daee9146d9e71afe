"""SyncGroup: answered when the leader has assigned; see `tidelog.coordinators.groups.sync`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from tidelog.protocol.messages.sync_group_request import SyncGroupRequest
from tidelog.protocol.schema import Message
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: SyncGroupRequest, context: RequestContext) -> Message | Awaitable[Message]:
    return node.groups.ask(request.group_id, request, context)
