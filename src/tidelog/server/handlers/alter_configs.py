"""AlterConfigs: replaces all properties of a resource. IncrementalAlterConfigs is what clients should use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.alter_configs_response import AlterConfigsResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    return await ask_controller(node, request, AlterConfigsResponse)
