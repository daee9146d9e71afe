"""IncrementalAlterConfigs: sets, deletes, appends to and subtracts from single properties (KIP-339)."""

from __future__ import annotations

from typing import cast

from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tidelog.server.configuration.alteration import join_incremental, split_incremental
from tidelog.server.declaration import ALTER_CONFIGS, BOTH, Api, Forwarding
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.forwarding import ToController

API = Api(
    key=ApiKey.INCREMENTAL_ALTER_CONFIGS,
    versions=(0, 1),
    permissions=ALTER_CONFIGS,
    listeners=BOTH,
    forwarding=Forwarding.A_PART,
)


class IncrementalAlterConfigsHandler:
    """Log levels, and what other brokers have to be asked themselves, is answered here; the rest by the controller."""

    def __init__(self, *, node_id: int, controller: ToController, refuse_other_brokers: bool) -> None:
        self._node_id = node_id
        self._controller = controller
        self._refuse_other_brokers = refuse_other_brokers

    async def handle(
        self, request: IncrementalAlterConfigsRequest, context: RequestContext
    ) -> IncrementalAlterConfigsResponse:
        split = split_incremental(request, self._node_id, brokers=self._refuse_other_brokers)
        if not split.answered:
            return cast(IncrementalAlterConfigsResponse, await self._controller.forward(API, request, context))

        async def forward(rest: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
            return cast(IncrementalAlterConfigsResponse, await self._controller.forward_part(API, rest, context))

        return await join_incremental(request, split, forward)
