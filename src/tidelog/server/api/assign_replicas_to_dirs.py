"""AssignReplicasToDirs: a broker reports in which directories its replicas are (KIP-858). Decided in
`tidelog.controller.directories`.
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api

API = Api(key=ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions=(0, 0), permissions=(CLUSTER_ACTION,), listeners=CONTROLLERS)
