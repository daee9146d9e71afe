"""What is refused of a request for which the controller decides part by part, before it decides on the rest.

The parts that a client may not ask for are taken out of the request, and put into the reply to what is left. A part
that cannot be right for anybody, such as a name that is there twice, is left in: the controller refuses it, as Apache
Kafka does before it asks whether the client may.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.protocol.api import response_class
from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.create_partitions_request import CreatePartitionsRequest
from tidelog.protocol.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.schema import Message, replaced
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.access.audit import Caller
from tidelog.server.access.configured import configured_refusal

_NOT_ALLOWED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class AllowedPart(NamedTuple):
    """What is left of a request, and what makes the reply to the whole out of the reply to that."""

    request: Message
    complete: Callable[[Any], Message] = lambda reply: cast(Message, reply)


def allowed_part(access: Access, caller: Caller, request: Message, image: ClusterImage) -> AllowedPart:
    """Everything, if the request is none of these."""
    if access.enforced:
        match request:
            case CreateTopicsRequest():
                return _create_topics(access, caller, request)
            case DeleteTopicsRequest():
                return _delete_topics(access, caller, request, image)
            case CreatePartitionsRequest():
                return _create_partitions(access, caller, request)
            case AlterConfigsRequest() | IncrementalAlterConfigsRequest():
                return _alter_configs(access, caller, request)
    return AllowedPart(request)


def _create_topics(access: Access, caller: Caller, request: CreateTopicsRequest) -> AllowedPart:
    times = Counter(topic.name for topic in request.topics)
    names = [name for name, count in times.items() if count == 1 and name != CLUSTER_METADATA_TOPIC]
    forbidden: frozenset[str] = frozenset()
    if not access.allows_cluster(caller, Operation.CREATE, quiet=True):
        forbidden = access.forbidden(caller, Operation.CREATE, AclResourceType.TOPIC, names)
    without_properties = access.forbidden(caller, Operation.DESCRIBE_CONFIGS, AclResourceType.TOPIC, names, quiet=True)

    def complete(reply: CreateTopicsResponse) -> Message:
        results = {result.name: result for result in reply.topics}
        for name in forbidden:
            results[name] = CreatableTopicResult(
                name=name, error_code=_NOT_ALLOWED, error_message="the client may not create this topic"
            )
        for name in without_properties - forbidden:
            if name in results and not results[name].error_code:
                results[name] = CreatableTopicResult(
                    name=name,
                    topic_id=results[name].topic_id,
                    error_message=None,
                    topic_config_error_code=_NOT_ALLOWED,
                )
        return CreateTopicsResponse(topics=[results[name] for name in times])

    rest = [topic for topic in request.topics if topic.name not in forbidden]
    return AllowedPart(replaced(request, topics=rest), complete)


def _create_partitions(access: Access, caller: Caller, request: CreatePartitionsRequest) -> AllowedPart:
    times = Counter(topic.name for topic in request.topics)
    names = [name for name, count in times.items() if count == 1]
    forbidden = access.forbidden(caller, Operation.ALTER, AclResourceType.TOPIC, names)

    def complete(reply: CreatePartitionsResponse) -> Message:
        results = {result.name: result for result in reply.results}
        for name in forbidden:
            results[name] = CreatePartitionsTopicResult(
                name=name, error_code=_NOT_ALLOWED, error_message="the client may not alter this topic"
            )
        return CreatePartitionsResponse(results=[results[name] for name in times])

    rest = [topic for topic in request.topics if topic.name not in forbidden]
    return AllowedPart(replaced(request, topics=rest), complete)


def _delete_topics(access: Access, caller: Caller, request: DeleteTopicsRequest, image: ClusterImage) -> AllowedPart:
    if access.allows_cluster(caller, Operation.DELETE, quiet=True):
        return AllowedPart(request)
    asked = [*(DeleteTopicState(name=name) for name in request.topic_names), *request.topics]
    times = Counter((state.name, bytes(state.topic_id)) for state in asked)
    refused: dict[tuple[str | None, bytes], DeletableTopicResult] = {}
    for (name, topic_id), count in times.items():
        if count == 1 and (name is None) != (topic_id == ZERO_UUID):
            result = _undeletable(access, caller, image, name, Uuid(topic_id))
            if result is not None:
                refused[name, topic_id] = result

    def complete(reply: DeleteTopicsResponse) -> Message:
        # By what they say, so that their order says nothing else: not even which of them exist.
        results = sorted((*reply.responses, *refused.values()), key=lambda each: (each.name or "", each.topic_id))
        return DeleteTopicsResponse(responses=results)

    rest = replaced(
        request,
        topic_names=[name for name in request.topic_names if (name, ZERO_UUID) not in refused],
        topics=[state for state in request.topics if (state.name, bytes(state.topic_id)) not in refused],
    )
    return AllowedPart(rest, complete)


def _undeletable(
    access: Access, caller: Caller, image: ClusterImage, asked_name: str | None, topic_id: Uuid
) -> DeletableTopicResult | None:
    """None if the controller may decide: the client may delete the topic, or it is an id that nothing has."""
    name = asked_name
    if name is None:
        topic = image.topics_by_id.get(topic_id)
        if topic is None:
            return None
        name = topic.name
    describable = access.allows(caller, Operation.DESCRIBE, AclResourceType.TOPIC, name)
    deletable = access.allows(caller, Operation.DELETE, AclResourceType.TOPIC, name)
    if asked_name is None:
        if deletable:
            return None
        return DeletableTopicResult(name=name if describable else None, topic_id=topic_id, error_code=_NOT_ALLOWED)
    if describable and name not in image.topics:
        code, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"the topic {name!r} does not exist"
    elif describable and deletable:
        return None
    else:
        code, message = _NOT_ALLOWED, "the client may not delete this topic"
    return DeletableTopicResult(name=name, error_code=code, error_message=message)


def _alter_configs(
    access: Access, caller: Caller, request: AlterConfigsRequest | IncrementalAlterConfigsRequest
) -> AllowedPart:
    times = Counter((each.resource_type, each.resource_name) for each in request.resources)
    kind: Any = response_class(request.SCHEMA.api_key)
    refused = {}
    for (resource_type, name), count in times.items():
        if count > 1:
            continue
        refusal = configured_refusal(access, caller, Operation.ALTER_CONFIGS, resource_type, name)
        if refusal is not None:
            refused[resource_type, name] = kind.STRUCTS["AlterConfigsResourceResponse"](
                error_code=refusal.code,
                error_message=refusal.message,
                resource_type=resource_type,
                resource_name=name,
            )

    def complete(reply: Any) -> Message:
        results = {(each.resource_type, each.resource_name): each for each in reply.responses} | refused
        return cast(Message, kind(responses=[results[key] for key in times if key in results]))

    rest: list[Any] = [each for each in request.resources if (each.resource_type, each.resource_name) not in refused]
    return AllowedPart(replaced(request, resources=rest), complete)
