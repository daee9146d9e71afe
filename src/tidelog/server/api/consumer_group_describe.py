"""ConsumerGroupDescribe: state, members and assignments of consumer groups (KIP-848). Version 1 has member types."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.consumer_group_describe_response import (
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from tidelog.protocol.schema import replaced
from tidelog.server.api.consumer_group_heartbeat import is_enabled
from tidelog.server.api.ports import Configuration, Metadata
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DESCRIBE_GROUP, DESCRIBE_TOPIC, Api
from tidelog.server.replies.authorized_operations import GROUP_OPERATIONS
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1), permissions=(DESCRIBE_GROUP, DESCRIBE_TOPIC))


def handle(
    metadata: Metadata,
    configuration: Configuration,
    groups: GroupCoordinator,
    request: ConsumerGroupDescribeRequest,
    context: RequestContext,
) -> ConsumerGroupDescribeResponse:
    enabled = is_enabled(metadata, configuration)

    def describe(group_id: str) -> DescribedGroup:
        if not enabled:
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
        if not group_id:
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
        found = groups.describe_consumer_group(group_id)
        if found.error_code or not request.include_authorized_operations:
            return found
        return replaced(found, authorized_operations=GROUP_OPERATIONS)

    return ConsumerGroupDescribeResponse(groups=[describe(group_id) for group_id in request.group_ids])
