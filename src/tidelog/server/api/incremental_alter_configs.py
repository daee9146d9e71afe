"""IncrementalAlterConfigs: sets, deletes, appends to and subtracts from single properties (KIP-339)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tidelog.server.configuration.alteration import join_incremental, split_incremental
from tidelog.server.routing import forwarding
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def handle(
    node: Node, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    split = split_incremental(request, node.broker_id, brokers=True)
    if not split.answered:
        return cast(IncrementalAlterConfigsResponse, await forwarding.handle(node, request, context))

    async def forward(rest: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        return cast(IncrementalAlterConfigsResponse, await forwarding.forward_part(node, rest, context))

    return await join_incremental(request, split, forward)
