"""DescribeConfigs: the properties of topics, brokers, groups and the like, and where each value comes from.

Version 1 brought synonyms, 3 the type and the documentation of a property.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.config.broker import BrokerConfig
from tidelog.config.describe import (
    DescribedConfig,
    describe_broker,
    describe_client_metrics,
    describe_cluster_defaults,
    describe_group,
    describe_loggers,
    describe_topic,
)
from tidelog.metadata.image import ClusterImage, ConfiguredResource, ResourceType
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.topics import topic_name_problem
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from tidelog.security.acls import Operation
from tidelog.server.access.access import Access
from tidelog.server.access.configured import configured_refusal
from tidelog.server.api.ports import Configuration, Metadata
from tidelog.server.configuration.log_levels import log_levels
from tidelog.server.declaration import BOTH, DESCRIBE_CONFIGS, Api
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.DESCRIBE_CONFIGS,
    versions=(1, 4),
    permissions=DESCRIBE_CONFIGS,
    listeners=BOTH,
    differences=(
        "There are no properties of share groups and of groups of Kafka Streams.",
        "The documentation of properties is in tidelog's own words.",
    ),
)


def handle(
    access: Access,
    metadata: Metadata,
    configuration: Configuration,
    request: DescribeConfigsRequest,
    context: RequestContext,
) -> DescribeConfigsResponse:
    image, config = metadata.image, configuration.config

    def describe(resource: DescribeConfigsResource) -> DescribeConfigsResult:
        kind, name = resource.resource_type, resource.resource_name
        refusal = configured_refusal(access, context, Operation.DESCRIBE_CONFIGS, kind, name)
        return _describe(request, resource, image, config, refusal)

    return DescribeConfigsResponse(results=[describe(each) for each in request.resources])


def _describe(
    request: DescribeConfigsRequest,
    resource: DescribeConfigsResource,
    image: ClusterImage,
    config: BrokerConfig,
    refusal: ApiError | None,
) -> DescribeConfigsResult:
    try:
        if refusal is not None:
            raise refusal
        found = _properties(resource, image, config)
    except ApiError as error:
        return DescribeConfigsResult(
            error_code=error.code,
            error_message=error.message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
    # As in Kafka, no names and an empty list of names both ask for everything.
    keys = set(resource.configuration_keys or ())
    return DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[_result(request, resource, each) for each in found if not keys or each.name in keys],
    )


def _properties(
    resource: DescribeConfigsResource, image: ClusterImage, config: BrokerConfig
) -> Iterable[DescribedConfig]:
    name = resource.resource_name
    own = config.node_id
    match resource.resource_type:
        case ResourceType.TOPIC:
            problem = topic_name_problem(name)
            if problem is not None:
                raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
            if name not in image.topics:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name!r} does not exist")
            return describe_topic(image.topic_config(name), config)
        case ResourceType.BROKER if name == "":
            return describe_cluster_defaults(image.cluster_config())
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER if name != str(own):
            raise ApiError(ErrorCode.INVALID_REQUEST, f"this is node {own}; send the request to node {name!r}")
        case ResourceType.BROKER:
            return describe_broker(config, cluster=image.cluster_config(), own=image.broker_config(own))
        case ResourceType.BROKER_LOGGER:
            return describe_loggers(log_levels())
        case ResourceType.GROUP if name:
            return describe_group(image.configs.get(ConfiguredResource(ResourceType.GROUP, name), {}), config)
        case ResourceType.CLIENT_METRICS if name:
            return describe_client_metrics(image.configs.get(ConfiguredResource(ResourceType.CLIENT_METRICS, name), {}))
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS:
            raise ApiError(ErrorCode.INVALID_REQUEST, "the name of the resource is empty")
    raise ApiError(ErrorCode.INVALID_REQUEST, f"resources of type {resource.resource_type} have no properties")


def _result(
    request: DescribeConfigsRequest, resource: DescribeConfigsResource, each: DescribedConfig
) -> DescribeConfigsResourceResult:
    synonyms = []
    if request.include_synonyms:
        synonyms = [
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in each.synonyms
        ]
    # Loggers have none, and say so whether they are asked or not.
    documented = request.include_documentation or resource.resource_type == ResourceType.BROKER_LOGGER
    return DescribeConfigsResourceResult(
        name=each.name,
        value=each.value,
        read_only=each.read_only,
        config_source=each.source,
        is_sensitive=each.sensitive,
        synonyms=synonyms,
        config_type=each.type,
        documentation=each.documentation if documented else None,
    )
