"""ListConfigResources: what has properties (KIP-1142). Version 0 only knew client metrics, of which there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.metadata.image import ResourceType
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from tidelog.protocol.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node

_LISTED = frozenset(
    {
        ResourceType.TOPIC,
        ResourceType.BROKER,
        ResourceType.BROKER_LOGGER,
        ResourceType.CLIENT_METRICS,
        ResourceType.GROUP,
    }
)


def handle(node: Node, request: ListConfigResourcesRequest, context: RequestContext) -> ListConfigResourcesResponse:
    if context.version == 0:
        return ListConfigResourcesResponse()
    wanted = set(request.resource_types) or set(_LISTED)
    if not wanted <= _LISTED:
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    found: list[ConfigResource] = []
    if ResourceType.TOPIC in wanted:
        found += [ConfigResource(resource_name=name, resource_type=ResourceType.TOPIC) for name in node.image.topics]
    for kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        if kind in wanted:
            found += [ConfigResource(resource_name=str(each), resource_type=kind) for each in node.image.brokers]
    if ResourceType.GROUP in wanted:
        found += [
            ConfigResource(resource_name=resource.name, resource_type=ResourceType.GROUP)
            for resource in node.image.configs
            if resource.type == ResourceType.GROUP
        ]
    return ListConfigResourcesResponse(config_resources=found)
