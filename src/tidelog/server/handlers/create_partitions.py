"""CreatePartitions: topics grow; they never shrink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.controller.partitions import create_partitions
from tidelog.model.errors import ApiError
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest
from tidelog.protocol.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from tidelog.server.context import RequestContext
from tidelog.server.topic_creation import PLACEMENT_STARTS

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: CreatePartitionsRequest, context: RequestContext) -> CreatePartitionsResponse:
    placement_start = node.randomness.below(PLACEMENT_STARTS)
    try:
        return await node.controller.decide(
            lambda image: create_partitions(image, request, placement_start=placement_start)
        )
    except ApiError as error:
        return CreatePartitionsResponse(
            results=[
                CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
                for topic in request.topics
            ]
        )
