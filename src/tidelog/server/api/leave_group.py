"""LeaveGroup: members go, or are removed; see `tidelog.coordinators.groups.presence`."""

from __future__ import annotations

from tidelog.network.later import Later
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest
from tidelog.protocol.schema import Message
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import COORDINATOR_FIRST, READ_GROUP, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.LEAVE_GROUP, versions=(0, 5), permissions=(READ_GROUP,), differences=(COORDINATOR_FIRST,))


class LeaveGroupHandler:
    def __init__(self, *, groups: GroupCoordinator) -> None:
        self._groups = groups

    def handle(self, request: LeaveGroupRequest, context: RequestContext) -> Message | Later[Message]:
        return self._groups.ask(request.group_id, request, context)
