"""CreateTopics: new topics, with partitions and properties as asked for. Decided in `tidelog.controller.topics`.

Who lacks DESCRIBE_CONFIGS on a topic can create it, and does not get its properties.

Version 4 takes the cluster's defaults, 5 returns the properties, 7 the topic's id.
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import BOTH, CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CONFIGS_OF_TOPIC, Api, Forwarding

API = Api(
    key=ApiKey.CREATE_TOPICS,
    versions=(2, 7),
    permissions=(CREATE_TOPIC, CREATE_CLUSTER, DESCRIBE_CONFIGS_OF_TOPIC),
    listeners=BOTH,
    forwarding=Forwarding.ALL,
)
