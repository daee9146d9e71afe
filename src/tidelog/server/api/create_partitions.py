"""CreatePartitions: more partitions for topics that exist. Decided in `tidelog.controller.partitions`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ALTER_TOPIC, BOTH, Api, Forwarding

API = Api(
    key=ApiKey.CREATE_PARTITIONS, versions=(0, 3), permissions=(ALTER_TOPIC,), listeners=BOTH, forwarding=Forwarding.ALL
)
