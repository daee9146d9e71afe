"""DescribeGroups: state, members and assignments of classic groups."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.protocol.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from tidelog.protocol.schema import replaced
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DESCRIBE_GROUP, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DESCRIBE_GROUPS, versions=(0, 6), permissions=(DESCRIBE_GROUP,))


def handle(
    access: Access, groups: GroupCoordinator, request: DescribeGroupsRequest, context: RequestContext
) -> DescribeGroupsResponse:
    forbidden = access.forbidden(context, Operation.DESCRIBE, AclResourceType.GROUP, request.groups)

    def describe(group_id: str) -> DescribedGroup:
        if group_id in forbidden:
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        group = groups.describe_group(group_id, context.version)
        if group.error_code or not request.include_authorized_operations:
            return group
        operations = access.operations(context, AclResourceType.GROUP, group_id)
        return replaced(group, authorized_operations=operations)

    return DescribeGroupsResponse(groups=[describe(group_id) for group_id in request.groups])
