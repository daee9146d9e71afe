"""What a client may do, as bits by the numbers of Kafka's AclOperation, for the requests that ask (KIP-430).

There is no authorizer: everybody may do everything that makes sense for the kind of resource.
"""

from __future__ import annotations

from tidelog.security.acls import SUPPORTED_BITS, AclResourceType

# The reply's default: the request did not ask.
NOT_ASKED = -(1 << 31)

TOPIC_OPERATIONS = SUPPORTED_BITS[AclResourceType.TOPIC]
GROUP_OPERATIONS = SUPPORTED_BITS[AclResourceType.GROUP]
CLUSTER_OPERATIONS = SUPPORTED_BITS[AclResourceType.CLUSTER]
