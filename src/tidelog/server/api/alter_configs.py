"""AlterConfigs: replaces all properties of a resource. IncrementalAlterConfigs is what clients should use instead."""

from __future__ import annotations

from typing import cast

from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.alter_configs_response import AlterConfigsResponse
from tidelog.server.configuration.alteration import join_replacement, split_replacement
from tidelog.server.declaration import ALTER_CONFIGS, BOTH, Api, Forwarding
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.forwarding import ToController

API = Api(
    key=ApiKey.ALTER_CONFIGS, versions=(0, 2), permissions=ALTER_CONFIGS, listeners=BOTH, forwarding=Forwarding.A_PART
)


class AlterConfigsHandler:
    """What other brokers have to be asked themselves is answered here; the rest by the controller."""

    def __init__(self, *, node_id: int, controller: ToController) -> None:
        self._node_id = node_id
        self._controller = controller

    async def handle(self, request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
        split = split_replacement(request, self._node_id)
        if not split.answered:
            return cast(AlterConfigsResponse, await self._controller.forward(API, request, context))

        async def forward(rest: AlterConfigsRequest) -> AlterConfigsResponse:
            return cast(AlterConfigsResponse, await self._controller.forward_part(API, rest, context))

        return await join_replacement(request, split, forward)
