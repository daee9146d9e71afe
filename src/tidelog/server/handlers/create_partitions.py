"""CreatePartitions: topics grow; they never shrink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest
from tidelog.protocol.messages.create_partitions_response import CreatePartitionsResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: CreatePartitionsRequest, context: RequestContext) -> CreatePartitionsResponse:
    return await ask_controller(node, request, CreatePartitionsResponse, request.timeout_ms)
