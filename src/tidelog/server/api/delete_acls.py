"""DeleteAcls. No authorizer is configured, and the reply says so, as that of Apache Kafka does."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ALTER_CLUSTER, NO_AUTHORIZER_DIFFERENCES, Api

API = Api(key=ApiKey.DELETE_ACLS, versions=(1, 3), permissions=(ALTER_CLUSTER,), differences=NO_AUTHORIZER_DIFFERENCES)
