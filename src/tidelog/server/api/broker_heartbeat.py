"""BrokerHeartbeat: a broker is alive, wants to be unfenced, or to shut down (KIP-631). Decided in
`tidelog.controller.heartbeats`.

Version 1 names the directories that have failed (KIP-858).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from tidelog.network.server_connection import ServerConnection
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tidelog.protocol.schema import Message
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.forwarding import ToController

API = Api(key=ApiKey.BROKER_HEARTBEAT, versions=(0, 2), permissions=(CLUSTER_ACTION,), listeners=CONTROLLERS)


def handle(
    came: Callable[[BrokerHeartbeatRequest, ServerConnection], None],
    controller: ToController,
    request: BrokerHeartbeatRequest,
    context: RequestContext,
) -> Coroutine[Any, Any, Message]:
    """`came` learns over which connection a broker sends its heartbeats, before anything is decided."""
    came(request, context.connection)
    return controller.forward(API, request, context)
