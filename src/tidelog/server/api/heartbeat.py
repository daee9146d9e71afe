"""Heartbeat of a classic group's member. Decided in `tidelog.coordinators.groups.presence`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import COORDINATOR_FIRST, READ_GROUP, Api

API = Api(key=ApiKey.HEARTBEAT, versions=(0, 4), permissions=(READ_GROUP,), differences=(COORDINATOR_FIRST,))
