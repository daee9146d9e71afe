"""IncrementalAlterConfigs: sets, deletes, appends to and subtracts from single properties (KIP-339)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.controller.configs import incremental_alter_configs
from tidelog.model.errors import ApiError
from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tidelog.server.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(
    node: Node, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    try:
        return await node.controller.decide(lambda image: incremental_alter_configs(image, request, config=node.config))
    except ApiError as error:
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
