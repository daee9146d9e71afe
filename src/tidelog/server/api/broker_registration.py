"""BrokerRegistration: a broker that starts gets its epoch (KIP-631). Decided in `tidelog.controller.brokers`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api

API = Api(key=ApiKey.BROKER_REGISTRATION, versions=(0, 4), permissions=(CLUSTER_ACTION,), listeners=CONTROLLERS)
