"""ConsumerGroupDescribe: state, members and assignments of consumer groups (KIP-848). Version 1 tells member types."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
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


class ConsumerGroupDescribeHandler:
    def __init__(self, *, metadata: Metadata, configuration: Configuration, groups: GroupCoordinator) -> None:
        self._metadata = metadata
        self._configuration = configuration
        self._groups = groups

    def handle(self, request: ConsumerGroupDescribeRequest, context: RequestContext) -> ConsumerGroupDescribeResponse:
        enabled = is_enabled(self._metadata, self._configuration)
        return ConsumerGroupDescribeResponse(
            groups=[
                self._describe(group_id, request.include_authorized_operations) if enabled else _refused(group_id)
                for group_id in request.group_ids
            ]
        )

    def _describe(self, group_id: str, with_operations: bool) -> DescribedGroup:
        if not group_id:
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
        found = self._groups.describe_consumer_group(group_id)
        if found.error_code or not with_operations:
            return found
        return replaced(found, authorized_operations=GROUP_OPERATIONS)


def _refused(group_id: str) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
