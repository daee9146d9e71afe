"""DescribeConfigs: the properties of topics and brokers, and where each value comes from.

Version 1 brought synonyms, 3 the type and the documentation of a property.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tidelog.config.describe import (
    DescribedConfig,
    describe_broker,
    describe_cluster_defaults,
    describe_topic,
)
from tidelog.metadata.image import ResourceType
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.topics import topic_name_problem
from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


def handle(node: Node, request: DescribeConfigsRequest, context: RequestContext) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_describe(node, request, resource) for resource in request.resources])


def _describe(node: Node, request: DescribeConfigsRequest, resource: DescribeConfigsResource) -> DescribeConfigsResult:
    try:
        found = _properties(node, resource)
    except ApiError as error:
        return DescribeConfigsResult(
            error_code=error.code,
            error_message=error.message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
    keys = None if resource.configuration_keys is None else set(resource.configuration_keys)
    return DescribeConfigsResult(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[_result(request, each) for each in found if keys is None or each.name in keys],
    )


def _properties(node: Node, resource: DescribeConfigsResource) -> Iterable[DescribedConfig]:
    name = resource.resource_name
    if resource.resource_type == ResourceType.TOPIC:
        problem = topic_name_problem(name)
        if problem is not None:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        if name not in node.image.topics:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        return describe_topic(node.image.topic_config(name), node.config)
    if resource.resource_type == ResourceType.BROKER:
        if name == "":
            return describe_cluster_defaults(node.image.cluster_config())
        if name != str(node.broker_id):
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"this is broker {node.broker_id}; broker {name!r} has to be asked itself"
            )
        return describe_broker(node.config)
    if resource.resource_type in (ResourceType.GROUP, ResourceType.CLIENT_METRICS):
        # Properties of these kinds can be stored by nobody yet, so there are none.
        return ()
    raise ApiError(ErrorCode.INVALID_REQUEST, f"resources of type {resource.resource_type} have no properties here")


def _result(request: DescribeConfigsRequest, each: DescribedConfig) -> DescribeConfigsResourceResult:
    synonyms = []
    if request.include_synonyms:
        synonyms = [
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in each.synonyms
        ]
    return DescribeConfigsResourceResult(
        name=each.name,
        value=each.value,
        read_only=each.read_only,
        config_source=each.source,
        is_sensitive=each.sensitive,
        synonyms=synonyms,
        config_type=each.type,
        documentation=each.documentation if request.include_documentation else None,
    )
