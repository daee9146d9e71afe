"""DeleteTopics, by name, and from version 6 on also by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.controller.topics import delete_topics
from tidelog.model.errors import ApiError
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse:
    try:
        return await node.controller.decide(lambda image: delete_topics(image, request, config=node.config))
    except ApiError as error:
        asked = [(name, bytes(16)) for name in request.topic_names]
        asked += [(topic.name or "", topic.topic_id) for topic in request.topics]
        return DeleteTopicsResponse(
            responses=[
                DeletableTopicResult(name=name, topic_id=topic_id, error_code=error.code, error_message=error.message)
                for name, topic_id in asked
            ]
        )
