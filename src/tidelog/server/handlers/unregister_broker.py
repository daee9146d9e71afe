"""UnregisterBroker: forgets a broker that will not come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from tidelog.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: UnregisterBrokerRequest, context: RequestContext) -> UnregisterBrokerResponse:
    return await ask_controller(node, request, UnregisterBrokerResponse)
