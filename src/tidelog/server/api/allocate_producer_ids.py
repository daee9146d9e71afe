"""AllocateProducerIds: a block of producer ids for a broker (KIP-730). Decided in `tidelog.controller.producer_ids`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api

API = Api(key=ApiKey.ALLOCATE_PRODUCER_IDS, versions=(0, 0), permissions=(CLUSTER_ACTION,), listeners=CONTROLLERS)
