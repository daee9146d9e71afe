"""ListGroups: the groups that this broker coordinates. Version 4 filters by state, 5 by type."""

from __future__ import annotations

from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.list_groups_request import ListGroupsRequest
from tidelog.protocol.messages.list_groups_response import ListGroupsResponse
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DESCRIBE_CLUSTER, DESCRIBE_GROUP, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.LIST_GROUPS, versions=(0, 5), permissions=(DESCRIBE_CLUSTER, DESCRIBE_GROUP))


def handle(
    access: Access, groups: GroupCoordinator, request: ListGroupsRequest, context: RequestContext
) -> ListGroupsResponse:
    listed = groups.list_groups(request.states_filter, request.types_filter)
    if access.allows_cluster(context, Operation.DESCRIBE, quiet=True):
        return listed
    names = (group.group_id for group in listed.groups)
    hidden = access.forbidden(context, Operation.DESCRIBE, AclResourceType.GROUP, names, quiet=True)
    return ListGroupsResponse(
        error_code=listed.error_code, groups=[group for group in listed.groups if group.group_id not in hidden]
    )
