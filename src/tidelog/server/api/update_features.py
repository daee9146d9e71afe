"""UpdateFeatures: the levels of features that the cluster works with (KIP-584). Decided in
`tidelog.controller.features`.

Version 1 can try an update without making it, 2 has one error for all of them.
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ALTER_CLUSTER, BOTH, Api, Forwarding

API = Api(
    key=ApiKey.UPDATE_FEATURES, versions=(0, 2), permissions=(ALTER_CLUSTER,), listeners=BOTH, forwarding=Forwarding.ALL
)
