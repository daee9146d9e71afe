"""CreateTopics. Version 5 tells the configuration of the new topic, 7 its id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ApiError
from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from tidelog.server.context import RequestContext
from tidelog.server.topic_creation import create

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    try:
        return await create(node, request)
    except ApiError as error:
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
                for topic in request.topics
            ]
        )
