"""Creates topics through the controller, with the random values that placement and ids need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.controller.bootstrap import fresh_uuid
from tidelog.controller.topics import create_topics
from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.messages.create_topics_response import CreateTopicsResponse

if TYPE_CHECKING:
    from tidelog.server.node import Node

PLACEMENT_STARTS = 1 << 16


async def create(node: Node, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Raises ApiError if the controller cannot be asked."""
    topic_ids = [fresh_uuid(node.randomness.random_bytes(16)) for _ in request.topics]
    placement_start = node.randomness.below(PLACEMENT_STARTS)
    return await node.controller.decide(
        lambda image: create_topics(
            image, request, config=node.config, topic_ids=topic_ids, placement_start=placement_start
        )
    )
