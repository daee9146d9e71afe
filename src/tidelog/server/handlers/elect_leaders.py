"""ElectLeaders: gives leaderships to the preferred replicas, or to any live one if a person asks for it (KIP-460)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.elect_leaders_request import ElectLeadersRequest
from tidelog.protocol.messages.elect_leaders_response import ElectLeadersResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: ElectLeadersRequest, context: RequestContext) -> ElectLeadersResponse:
    return await ask_controller(node, request, ElectLeadersResponse, request.timeout_ms)
