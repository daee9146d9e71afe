"""UpdateFeatures: the controller raises or lowers the levels of features (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.protocol.messages.update_features_request import UpdateFeaturesRequest
from tidelog.protocol.messages.update_features_response import UpdateFeaturesResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: UpdateFeaturesRequest, context: RequestContext) -> UpdateFeaturesResponse:
    return await ask_controller(node, request, UpdateFeaturesResponse, request.timeout_ms)
