"""AlterConfigs: replaces all properties of a resource. IncrementalAlterConfigs is what clients should use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.alter_configs_response import AlterConfigsResponse
from tidelog.server.configuration.alteration import join_replacement, split_replacement
from tidelog.server.routing import forwarding
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(node: Node, request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    split = split_replacement(request, node.broker_id)
    if not split.answered:
        return cast(AlterConfigsResponse, await forwarding.handle(node, request, context))

    async def forward(rest: AlterConfigsRequest) -> AlterConfigsResponse:
        return cast(AlterConfigsResponse, await forwarding.forward_part(node, rest, context))

    return await join_replacement(request, split, forward)
