"""Heartbeat of a classic group's member; see `tidelog.coordinators.groups.presence`."""

from __future__ import annotations

from tidelog.network.later import Later
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.schema import Message
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import COORDINATOR_FIRST, READ_GROUP, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.HEARTBEAT, versions=(0, 4), permissions=(READ_GROUP,), differences=(COORDINATOR_FIRST,))


class HeartbeatHandler:
    def __init__(self, *, groups: GroupCoordinator) -> None:
        self._groups = groups

    def handle(self, request: HeartbeatRequest, context: RequestContext) -> Message | Later[Message]:
        return self._groups.ask(request.group_id, request, context)
