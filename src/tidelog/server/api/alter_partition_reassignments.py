"""AlterPartitionReassignments: replicas move to other brokers (KIP-455). Decided in `tidelog.controller.reassignment`.

Version 1 can forbid another replication factor (KIP-860).
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ALTER_CLUSTER, BOTH, Api, Forwarding, RefusalShape

API = Api(
    key=ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    versions=(0, 1),
    permissions=(ALTER_CLUSTER,),
    listeners=BOTH,
    forwarding=Forwarding.ALL,
    refusal=RefusalShape(for_each_too=True),
    differences=("A partition that is named twice is refused with INVALID_REQUEST; Kafka takes the last.",),
)
