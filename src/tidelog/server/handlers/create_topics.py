"""CreateTopics. Version 5 tells the configuration of the new topic, 7 its id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.messages.create_topics_response import CreateTopicsResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    return await ask_controller(node, request, CreateTopicsResponse, request.timeout_ms)
