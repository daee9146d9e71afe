"""The part of IncrementalAlterConfigs and AlterConfigs that the node which is asked answers itself.

Log levels are the node's own and stored nowhere. Clients must ask a broker itself about its own properties, and only
that broker can check it. Everything else is for the controller (`tidelog.controller.configs`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tidelog.metadata.image import ResourceType
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages import alter_configs_response, incremental_alter_configs_response
from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.alter_configs_response import AlterConfigsResponse
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tidelog.server.configuration.log_levels import alter_log_levels

Request = TypeVar("Request", AlterConfigsRequest, IncrementalAlterConfigsRequest)
_Answer = TypeVar(
    "_Answer",
    alter_configs_response.AlterConfigsResourceResponse,
    incremental_alter_configs_response.AlterConfigsResourceResponse,
)
_Resource = tuple[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Generic[Request]):
    """`answered` is None for what was done, an error for what was refused. `rest` is for the controller."""

    answered: Mapping[_Resource, ApiError | None]
    rest: Request


def split_incremental(
    request: IncrementalAlterConfigsRequest, node_id: int, *, brokers: bool
) -> Split[IncrementalAlterConfigsRequest]:
    """Carries out what is this node's. `brokers` says whether other nodes' broker resources are refused."""
    times = Counter((each.resource_type, each.resource_name) for each in request.resources)
    answered: dict[_Resource, ApiError | None] = {}
    for each in request.resources:
        resource = (each.resource_type, each.resource_name)
        if each.resource_type == ResourceType.BROKER_LOGGER and times[resource] == 1:
            answered[resource] = _alter_loggers(each, node_id, validate_only=request.validate_only)
        else:
            answered |= _refused_here(resource, times[resource], node_id, brokers=brokers)
    rest = [each for each in request.resources if (each.resource_type, each.resource_name) not in answered]
    return Split(
        answered=answered, rest=IncrementalAlterConfigsRequest(resources=rest, validate_only=request.validate_only)
    )


def split_replacement(request: AlterConfigsRequest, node_id: int) -> Split[AlterConfigsRequest]:
    times = Counter((each.resource_type, each.resource_name) for each in request.resources)
    answered: dict[_Resource, ApiError | None] = {}
    for resource, count in times.items():
        answered |= _refused_here(resource, count, node_id, brokers=True)
    rest = [each for each in request.resources if (each.resource_type, each.resource_name) not in answered]
    return Split(answered=answered, rest=AlterConfigsRequest(resources=rest, validate_only=request.validate_only))


async def join_incremental(
    request: IncrementalAlterConfigsRequest,
    split: Split[IncrementalAlterConfigsRequest],
    forward: Callable[[IncrementalAlterConfigsRequest], Awaitable[IncrementalAlterConfigsResponse]],
) -> IncrementalAlterConfigsResponse:
    """The answers of this node and of the controller, in the order of the request."""
    forwarded = (await forward(split.rest)).responses if split.rest.resources else ()
    kind = incremental_alter_configs_response.AlterConfigsResourceResponse
    return IncrementalAlterConfigsResponse(responses=_in_order(request, split.answered, forwarded, kind))


async def join_replacement(
    request: AlterConfigsRequest,
    split: Split[AlterConfigsRequest],
    forward: Callable[[AlterConfigsRequest], Awaitable[AlterConfigsResponse]],
) -> AlterConfigsResponse:
    forwarded = (await forward(split.rest)).responses if split.rest.resources else ()
    kind = alter_configs_response.AlterConfigsResourceResponse
    return AlterConfigsResponse(responses=_in_order(request, split.answered, forwarded, kind))


def _in_order(
    request: AlterConfigsRequest | IncrementalAlterConfigsRequest,
    answered: Mapping[_Resource, ApiError | None],
    forwarded: Sequence[_Answer],
    kind: type[_Answer],
) -> list[_Answer]:
    answers = {(each.resource_type, each.resource_name): each for each in forwarded}
    answers |= {resource: kind(**_fields(resource, error)) for resource, error in answered.items()}
    asked = [(each.resource_type, each.resource_name) for each in request.resources]
    return [answers[resource] for resource in asked if resource in answers]


def _alter_loggers(resource: AlterConfigsResource, node_id: int, *, validate_only: bool) -> ApiError | None:
    if resource.resource_name != str(node_id):
        return ApiError(
            ErrorCode.INVALID_REQUEST, f"this is node {node_id}; send the request to node {resource.resource_name!r}"
        )
    changes = [(change.name, change.config_operation, change.value) for change in resource.configs]
    try:
        alter_log_levels(changes, validate_only=validate_only)
    except ApiError as error:
        return error
    return None


def _refused_here(resource: _Resource, count: int, node_id: int, *, brokers: bool) -> dict[_Resource, ApiError | None]:
    kind, name = resource
    if count > 1:
        return {resource: ApiError(ErrorCode.INVALID_REQUEST, f"{name!r} is in the request more than once")}
    if brokers and kind == ResourceType.BROKER and name not in ("", str(node_id)):
        message = f"this is broker {node_id}; send the request to broker {name!r}"
        return {resource: ApiError(ErrorCode.INVALID_REQUEST, message)}
    return {}


def _fields(resource: _Resource, error: ApiError | None) -> dict[str, Any]:
    return {
        "error_code": ErrorCode.NONE if error is None else error.code,
        "error_message": None if error is None else error.message,
        "resource_type": resource[0],
        "resource_name": resource[1],
    }
