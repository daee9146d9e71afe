"""Vote: a candidate asks for a voter's vote (KIP-595). See `tidelog.consensus`.

Version 1 has the directories of voters (KIP-853), 2 asks without raising the epoch (KIP-996).
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api

API = Api(key=ApiKey.VOTE, versions=(0, 2), permissions=(CLUSTER_ACTION,), listeners=CONTROLLERS)
