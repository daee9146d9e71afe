"""FetchSnapshot: a piece of a snapshot of the cluster's metadata (KIP-630). See `tidelog.consensus`.

A broker answers it from its own snapshots (`tidelog.server.quorum.log_reading`).
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import BOTH, CLUSTER_ACTION, Api

API = Api(
    key=ApiKey.FETCH_SNAPSHOT,
    versions=(0, 1),
    permissions=(CLUSTER_ACTION,),
    listeners=BOTH,
    differences=("Brokers answer it too, for clients that browse the metadata log; in Kafka only controllers do.",),
)
