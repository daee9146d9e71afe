"""Replies that refuse a whole administrative request, in the shape that each API has for that."""

from __future__ import annotations

from tidelog.model.errors import ApiError
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.api import response_class
from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.alter_configs_response import (
    AlterConfigsResourceResponse as ReplacedResourceResponse,
)
from tidelog.protocol.messages.alter_configs_response import AlterConfigsResponse
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest
from tidelog.protocol.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tidelog.protocol.schema import Message


def refuse(request: Message, error: ApiError) -> Message:
    """The response to `request` that says `error` everywhere."""
    code, message = error.code, error.message
    match request:
        case CreateTopicsRequest():
            return CreateTopicsResponse(
                topics=[
                    CreatableTopicResult(name=topic.name, error_code=code, error_message=message)
                    for topic in request.topics
                ]
            )
        case DeleteTopicsRequest():
            asked = [(name, ZERO_UUID) for name in request.topic_names]
            asked += [(topic.name or "", topic.topic_id) for topic in request.topics]  # type: ignore[misc]
            return DeleteTopicsResponse(
                responses=[
                    DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message=message)
                    for name, topic_id in asked
                ]
            )
        case CreatePartitionsRequest():
            return CreatePartitionsResponse(
                results=[
                    CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=message)
                    for topic in request.topics
                ]
            )
        case AlterConfigsRequest():
            return AlterConfigsResponse(
                responses=[
                    ReplacedResourceResponse(
                        error_code=code,
                        error_message=message,
                        resource_type=each.resource_type,
                        resource_name=each.resource_name,
                    )
                    for each in request.resources
                ]
            )
        case IncrementalAlterConfigsRequest():
            return IncrementalAlterConfigsResponse(
                responses=[
                    AlterConfigsResourceResponse(
                        error_code=code,
                        error_message=message,
                        resource_type=each.resource_type,
                        resource_name=each.resource_name,
                    )
                    for each in request.resources
                ]
            )
        case _:
            # All others have one error for the whole reply.
            return response_class(request.SCHEMA.api_key)(error_code=code)  # type: ignore[call-arg]
