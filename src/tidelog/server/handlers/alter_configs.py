"""AlterConfigs: replaces all properties of a resource. IncrementalAlterConfigs is what clients should use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.controller.configs import alter_configs
from tidelog.model.errors import ApiError
from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    try:
        return await node.controller.decide(lambda image: alter_configs(image, request, config=node.config))
    except ApiError as error:
        return AlterConfigsResponse(
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
