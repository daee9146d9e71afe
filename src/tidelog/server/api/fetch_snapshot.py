"""FetchSnapshot: a piece of a snapshot of the cluster's metadata (KIP-630). See `tidelog.consensus`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api

API = Api(key=ApiKey.FETCH_SNAPSHOT, versions=(0, 1), permissions=(CLUSTER_ACTION,), listeners=CONTROLLERS)
