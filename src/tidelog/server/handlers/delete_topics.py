"""DeleteTopics, by name, and from version 6 on also by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tidelog.server.context import RequestContext
from tidelog.server.forwarding import ask_controller

if TYPE_CHECKING:
    from tidelog.server.node import Node

# Clients of older versions do not know TOPIC_DELETION_DISABLED.
FIRST_VERSION_WITH_DISABLED = 3


async def handle(node: Node, request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse:
    response = await ask_controller(node, request, DeleteTopicsResponse, request.timeout_ms)
    if context.version < FIRST_VERSION_WITH_DISABLED:
        return DeleteTopicsResponse(responses=[_in_older_words(result) for result in response.responses])
    return response


def _in_older_words(result: DeletableTopicResult) -> DeletableTopicResult:
    if result.error_code != ErrorCode.TOPIC_DELETION_DISABLED:
        return result
    return DeletableTopicResult(name=result.name, topic_id=result.topic_id, error_code=ErrorCode.INVALID_REQUEST)
