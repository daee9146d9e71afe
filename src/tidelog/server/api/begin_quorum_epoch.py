"""BeginQuorumEpoch: a newly elected leader informs the other voters (KIP-595). See `tidelog.consensus`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api

API = Api(key=ApiKey.BEGIN_QUORUM_EPOCH, versions=(0, 1), permissions=(CLUSTER_ACTION,), listeners=CONTROLLERS)
