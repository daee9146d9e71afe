"""IncrementalAlterConfigs: sets, deletes, appends to and subtracts from single properties (KIP-339)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(
    node: Node, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    return await ask_controller(node, request, IncrementalAlterConfigsResponse)
