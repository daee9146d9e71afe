"""DescribeGroups: state, members and assignments of classic groups."""

from __future__ import annotations

from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.protocol.messages.describe_groups_response import DescribeGroupsResponse
from tidelog.protocol.schema import replaced
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DESCRIBE_GROUP, Api
from tidelog.server.replies.authorized_operations import GROUP_OPERATIONS
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DESCRIBE_GROUPS, versions=(0, 6), permissions=(DESCRIBE_GROUP,))


def handle(groups: GroupCoordinator, request: DescribeGroupsRequest, context: RequestContext) -> DescribeGroupsResponse:
    described = [groups.describe_group(group_id, context.version) for group_id in request.groups]
    if request.include_authorized_operations:
        described = [
            group if group.error_code else replaced(group, authorized_operations=GROUP_OPERATIONS)
            for group in described
        ]
    return DescribeGroupsResponse(groups=described)
