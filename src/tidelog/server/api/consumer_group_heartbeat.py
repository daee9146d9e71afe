"""ConsumerGroupHeartbeat: the one request of a consumer group's member (KIP-848).

Version 1 has subscriptions by regular expression, and ids that members make up themselves. See
`tidelog.coordinators.consumer_groups.heartbeat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.metadata.records import GROUP_VERSION, GROUP_VERSION_FEATURE
from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from tidelog.protocol.schema import Message
from tidelog.server.routing.context import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node import Node

_PROTOCOL = "consumer"


def handle(node: Node, request: ConsumerGroupHeartbeatRequest, context: RequestContext) -> Message | Later[Message]:
    if not is_enabled(node):
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return node.groups.ask(request.group_id, request, context)


def is_enabled(node: Node) -> bool:
    """By the cluster, whose brokers must all know the protocol, and by this broker's configuration."""
    level = node.image.features.get(GROUP_VERSION_FEATURE, 0)
    return level >= GROUP_VERSION and _PROTOCOL in node.config.group_coordinator_rebalance_protocols
