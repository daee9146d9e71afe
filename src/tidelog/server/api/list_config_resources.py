"""ListConfigResources: what has properties (KIP-1142). Version 0 only knew client metrics."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidelog.metadata.image import ResourceType
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from tidelog.protocol.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse
from tidelog.server.api.ports import Metadata
from tidelog.server.declaration import DESCRIBE_CONFIGS, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), permissions=DESCRIBE_CONFIGS[:1])

_LISTED = frozenset(
    {
        ResourceType.TOPIC,
        ResourceType.BROKER,
        ResourceType.BROKER_LOGGER,
        ResourceType.CLIENT_METRICS,
        ResourceType.GROUP,
    }
)


def handle(
    metadata: Metadata, request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    wanted = {ResourceType.CLIENT_METRICS} if context.version == 0 else set(request.resource_types) or set(_LISTED)
    if not wanted <= _LISTED:
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    found: list[ConfigResource] = []
    # The order is Kafka's. The first two exist by having properties.
    for kind in (ResourceType.GROUP, ResourceType.CLIENT_METRICS):
        names = [resource.name for resource in metadata.image.configs if resource.type == kind]
        found += _listed(wanted, kind, names)
    for kind in (ResourceType.BROKER_LOGGER, ResourceType.BROKER):
        found += _listed(wanted, kind, map(str, metadata.image.brokers))
    found += _listed(wanted, ResourceType.TOPIC, metadata.image.topics)
    return ListConfigResourcesResponse(config_resources=found)


def _listed(wanted: Collection[int], kind: ResourceType, names: Iterable[str]) -> list[ConfigResource]:
    return [ConfigResource(resource_name=name, resource_type=kind) for name in names] if kind in wanted else []
