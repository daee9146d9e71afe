"""IncrementalAlterConfigs: sets, deletes, appends to and subtracts from single properties (KIP-339).

The node that is asked answers a part of it itself. Log levels are the node's own and stored nowhere. Clients must ask a
broker itself about its own properties, and only that broker can check it: it tries new key stores of its listeners
before they are stored. Everything else is for the controller
(`tidelog.controller.configs`). The same goes for AlterConfigs, but for log levels.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

from tidelog.config.alteration import AlterOperation, ConfigChange
from tidelog.config.broker import BrokerConfig
from tidelog.metadata.image import ResourceType
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.api import response_class
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.alter_configs_request import AlterConfigsRequest
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.schema import Message, replaced
from tidelog.security.acls import Operation
from tidelog.server.access.access import Access, cluster_refusal
from tidelog.server.configuration.log_levels import alter_log_levels
from tidelog.server.configuration.tls_properties import altered_tls_problems, concerns_tls
from tidelog.server.declaration import ALTER_CONFIGS, BOTH, CLUSTER_ACTION, Api, Forwarding
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.forwarding import ToController

API = Api(
    key=ApiKey.INCREMENTAL_ALTER_CONFIGS,
    versions=(0, 1),
    permissions=(*ALTER_CONFIGS, CLUSTER_ACTION),
    listeners=BOTH,
    forwarding=Forwarding.A_PART,
)

Request = AlterConfigsRequest | IncrementalAlterConfigsRequest
_Key = tuple[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsHandler:
    """Of both APIs."""

    api: Api
    node_id: int
    controller: ToController
    refuse_other_brokers: bool
    access: Access
    # What those need who change this node's log levels.
    logger_operation: Operation
    # Of this node, as it is now.
    config: Callable[[], BrokerConfig]

    async def handle(self, request: Request, context: RequestContext) -> Message:
        answered = self._answer_here(request, context)
        answered |= await self._refused_key_stores(request, context, answered)
        if not answered:
            return await self.controller.forward(self.api, request, context)
        kind: Any = response_class(self.api.key)
        answers = {
            key: kind.STRUCTS["AlterConfigsResourceResponse"](
                error_code=ErrorCode.NONE if error is None else error.code,
                error_message=None if error is None else error.message,
                resource_type=key[0],
                resource_name=key[1],
            )
            for key, error in answered.items()
        }
        rest = [each for each in request.resources if _key(each) not in answered]
        if rest:
            reply: Any = await self.controller.forward_part(self.api, replaced(request, resources=rest), context)
            answers |= {_key(each): each for each in reply.responses}
        return cast(Message, kind(responses=[answers[key] for key in map(_key, request.resources) if key in answers]))

    def _answer_here(self, request: Request, context: RequestContext) -> dict[_Key, ApiError | None]:
        """None for what was done, an error for what was refused."""
        answered: dict[_Key, ApiError | None] = {}
        times = Counter(map(_key, request.resources))
        for each in request.resources:
            kind, name = key = _key(each)
            if times[key] > 1:
                answered[key] = ApiError(ErrorCode.INVALID_REQUEST, f"{name!r} is in the request more than once")
            elif kind == ResourceType.BROKER_LOGGER and isinstance(each, AlterConfigsResource):
                if self.access.allows_cluster(context, self.logger_operation):
                    answered[key] = self._alter_loggers(each, validate_only=request.validate_only)
                else:
                    answered[key] = cluster_refusal(self.logger_operation)
            elif kind == ResourceType.BROKER and self.refuse_other_brokers and name not in ("", str(self.node_id)):
                message = f"this is broker {self.node_id}; send the request to broker {name!r}"
                answered[key] = ApiError(ErrorCode.INVALID_REQUEST, message)
        return answered

    async def _refused_key_stores(
        self, request: Request, context: RequestContext, answered: Mapping[_Key, ApiError | None]
    ) -> dict[_Key, ApiError | None]:
        """For those who may alter properties: others learn nothing about this node's files."""
        refused: dict[_Key, ApiError | None] = {}
        for each in request.resources:
            kind, name = key = _key(each)
            is_own = kind == ResourceType.BROKER and name == str(self.node_id) and key not in answered
            if not is_own or not isinstance(each, AlterConfigsResource):
                continue
            changes = [
                ConfigChange(name=change.name, operation=AlterOperation(change.config_operation), text=change.value)
                for change in each.configs
                if concerns_tls(change.name) and change.config_operation in AlterOperation.__members__.values()
            ]
            if changes and self.access.allows_cluster(context, Operation.ALTER_CONFIGS, quiet=True):
                loop = asyncio.get_running_loop()
                problems = await loop.run_in_executor(None, altered_tls_problems, self.config(), changes)
                if problems:
                    refused[key] = ApiError(ErrorCode.INVALID_REQUEST, "; ".join(problems))
        return refused

    def _alter_loggers(self, resource: AlterConfigsResource, *, validate_only: bool) -> ApiError | None:
        if resource.resource_name != str(self.node_id):
            message = f"this is node {self.node_id}; send the request to node {resource.resource_name!r}"
            return ApiError(ErrorCode.INVALID_REQUEST, message)
        changes = [(change.name, change.config_operation, change.value) for change in resource.configs]
        try:
            alter_log_levels(changes, validate_only=validate_only)
        except ApiError as error:
            return error
        return None


def _key(resource: Any) -> _Key:
    return resource.resource_type, resource.resource_name
