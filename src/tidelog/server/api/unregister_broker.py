"""UnregisterBroker: removes a broker that will not return (KIP-631). Decided in `tidelog.controller.brokers`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ALTER_CLUSTER, BOTH, Api, Forwarding

API = Api(
    key=ApiKey.UNREGISTER_BROKER,
    versions=(0, 0),
    permissions=(ALTER_CLUSTER,),
    listeners=BOTH,
    forwarding=Forwarding.ALL,
)
