"""ConsumerGroupHeartbeat: the one request of a consumer group's member (KIP-848).

Version 1 has subscriptions by regular expression, and ids that members generate themselves. See
`tidelog.coordinators.consumer_groups.heartbeat`.
"""

from __future__ import annotations

from tidelog.metadata.records import GROUP_VERSION, GROUP_VERSION_FEATURE
from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api.ports import Configuration, Metadata
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import COORDINATOR_FIRST, DESCRIBE_TOPIC, READ_GROUP, Api
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.CONSUMER_GROUP_HEARTBEAT,
    versions=(0, 1),
    permissions=(READ_GROUP, DESCRIBE_TOPIC),
    differences=(COORDINATOR_FIRST,),
)

_PROTOCOL = "consumer"


def handle(
    access: Access,
    metadata: Metadata,
    configuration: Configuration,
    groups: GroupCoordinator,
    request: ConsumerGroupHeartbeatRequest,
    context: RequestContext,
) -> Message | Later[Message]:
    if not is_enabled(metadata, configuration):
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not access.allows(context, Operation.READ, AclResourceType.GROUP, request.group_id):
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if access.forbidden(context, Operation.DESCRIBE, AclResourceType.TOPIC, request.subscribed_topic_names or ()):
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    def may_describe(topic: str) -> bool:
        return access.allows(context, Operation.DESCRIBE, AclResourceType.TOPIC, topic, quiet=True)

    return groups.ask(request.group_id, request, context, sees=may_describe if access.enforced else None)


def is_enabled(metadata: Metadata, configuration: Configuration) -> bool:
    """By the cluster, whose brokers must all know the protocol, and by this broker's configuration."""
    level = metadata.image.features.get(GROUP_VERSION_FEATURE, 0)
    return level >= GROUP_VERSION and _PROTOCOL in configuration.config.group_coordinator_rebalance_protocols
