"""EndQuorumEpoch: a leader that goes names those who should follow it (KIP-595). See `tidelog.consensus`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api

API = Api(key=ApiKey.END_QUORUM_EPOCH, versions=(0, 1), permissions=(CLUSTER_ACTION,), listeners=CONTROLLERS)
