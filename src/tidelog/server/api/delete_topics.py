"""DeleteTopics: decided in `tidelog.controller.topics`.

Version 5 has messages, 6 takes ids as well as names. Versions before 3 do not know TOPIC_DELETION_DISABLED.
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import BOTH, DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC, Api, Forwarding

API = Api(
    key=ApiKey.DELETE_TOPICS,
    versions=(1, 6),
    permissions=(DELETE_TOPIC, DESCRIBE_TOPIC, DELETE_CLUSTER),
    listeners=BOTH,
    forwarding=Forwarding.ALL,
    differences=("With an authorizer the results are in the order of names and ids; Kafka shuffles them.",),
)
