"""DeleteTopics, by name, and from version 6 on also by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.controller.topics import delete_topics
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node

# Clients of older versions do not know TOPIC_DELETION_DISABLED.
FIRST_VERSION_WITH_DISABLED = 3


async def handle(node: Node, request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse:
    try:
        response = await node.controller.decide(lambda image: delete_topics(image, request, config=node.config))
    except ApiError as error:
        asked = [(name, bytes(16)) for name in request.topic_names]
        asked += [(topic.name or "", topic.topic_id) for topic in request.topics]
        return DeleteTopicsResponse(
            responses=[
                DeletableTopicResult(name=name, topic_id=topic_id, error_code=error.code, error_message=error.message)
                for name, topic_id in asked
            ]
        )
    if context.version < FIRST_VERSION_WITH_DISABLED:
        return DeleteTopicsResponse(responses=[_in_older_words(result) for result in response.responses])
    return response


def _in_older_words(result: DeletableTopicResult) -> DeletableTopicResult:
    if result.error_code != ErrorCode.TOPIC_DELETION_DISABLED:
        return result
    return DeletableTopicResult(name=result.name, topic_id=result.topic_id, error_code=ErrorCode.INVALID_REQUEST)
