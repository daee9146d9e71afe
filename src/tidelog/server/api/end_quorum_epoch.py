"""EndQuorumEpoch: a leader that resigns names its preferred successors (KIP-595). See `tidelog.consensus`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api

API = Api(key=ApiKey.END_QUORUM_EPOCH, versions=(0, 1), permissions=(CLUSTER_ACTION,), listeners=CONTROLLERS)
