"""DeleteAcls: removes the ACLs that filters select (KIP-140). Decided in `tidelog.controller.acls`.

Version 1 has patterns other than literal names (KIP-290), 3 the resource type USER.
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ALTER_CLUSTER, BOTH, UNKNOWN_ACL_VALUES, Api, Forwarding

API = Api(
    key=ApiKey.DELETE_ACLS,
    versions=(1, 3),
    permissions=(ALTER_CLUSTER,),
    listeners=BOTH,
    forwarding=Forwarding.ALL,
    differences=(UNKNOWN_ACL_VALUES,),
)
