"""AlterPartition: a leader proposes another in-sync set (KIP-497). Decided in `tidelog.controller.in_sync`.

Version 3 names the epochs of the brokers in it (KIP-903).
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api

API = Api(key=ApiKey.ALTER_PARTITION, versions=(2, 3), permissions=(CLUSTER_ACTION,), listeners=CONTROLLERS)
