"""ListPartitionReassignments: what is being moved (KIP-455). Decided in `tidelog.controller.reassignment`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import BOTH, DESCRIBE_CLUSTER, Api, Forwarding

API = Api(
    key=ApiKey.LIST_PARTITION_REASSIGNMENTS,
    versions=(0, 0),
    permissions=(DESCRIBE_CLUSTER,),
    listeners=BOTH,
    forwarding=Forwarding.ALL,
)
