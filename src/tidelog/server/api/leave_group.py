"""LeaveGroup: members leave, or are removed. Decided in `tidelog.coordinators.groups.presence`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import COORDINATOR_FIRST, READ_GROUP, Api

API = Api(key=ApiKey.LEAVE_GROUP, versions=(0, 5), permissions=(READ_GROUP,), differences=(COORDINATOR_FIRST,))
