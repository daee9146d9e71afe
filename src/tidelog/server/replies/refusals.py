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
from tidelog.protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from tidelog.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest
from tidelog.protocol.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tidelog.protocol.messages.elect_leaders_request import ElectLeadersRequest
from tidelog.protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tidelog.protocol.schema import Message


def refuse(request: Message, error: ApiError) -> Message:
    """The response to `request` that says `error` everywhere: it must be seen in every version of the API."""
    code, message = error.code, error.message
    match request:
        case CreateTopicsRequest() | DeleteTopicsRequest() | CreatePartitionsRequest():
            return _refuse_topics(request, error)
        case AlterConfigsRequest() | IncrementalAlterConfigsRequest():
            return _refuse_resources(request, error)
        case ElectLeadersRequest():
            return ElectLeadersResponse(
                error_code=code,
                replica_election_results=[
                    ReplicaElectionResult(
                        topic=topic.topic,
                        partition_result=[
                            PartitionResult(partition_id=number, error_code=code, error_message=message)
                            for number in topic.partitions
                        ],
                    )
                    for topic in request.topic_partitions or ()
                ],
            )
        case AlterPartitionReassignmentsRequest():
            return AlterPartitionReassignmentsResponse(
                error_code=code,
                error_message=message,
                responses=[
                    ReassignableTopicResponse(
                        name=topic.name,
                        partitions=[
                            ReassignablePartitionResponse(
                                partition_index=partition.partition_index, error_code=code, error_message=message
                            )
                            for partition in topic.partitions
                        ],
                    )
                    for topic in request.topics
                ],
            )
        case _:
            # All others have one error for the whole reply, most of them with a message.
            kind = response_class(request.SCHEMA.api_key)
            words = {"error_message": message} if "error_message" in kind.__slots__ else {}
            return kind(error_code=code, **words)  # type: ignore[call-arg]


def _refuse_topics(
    request: CreateTopicsRequest | DeleteTopicsRequest | CreatePartitionsRequest, error: ApiError
) -> Message:
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
            asked: list[tuple[str | None, bytes]] = [(name, ZERO_UUID) for name in request.topic_names]
            asked += [(topic.name, topic.topic_id) for topic in request.topics]
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


def _refuse_resources(request: AlterConfigsRequest | IncrementalAlterConfigsRequest, error: ApiError) -> Message:
    if isinstance(request, AlterConfigsRequest):
        return AlterConfigsResponse(
            responses=[
                ReplacedResourceResponse(
                    error_code=error.code,
                    error_message=error.message,
                    resource_type=each.resource_type,
                    resource_name=each.resource_name,
                )
                for each in request.resources
            ]
        )
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=error.message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in request.resources
        ]
    )
