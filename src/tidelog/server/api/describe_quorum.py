"""DescribeQuorum: who votes, who leads, and how far each has read (KIP-595).

Version 1 has the times of the last fetches (KIP-836), 2 the addresses of the voters (KIP-853).
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import BOTH, DESCRIBE_CLUSTER, Api, Forwarding

API = Api(
    key=ApiKey.DESCRIBE_QUORUM,
    versions=(0, 2),
    permissions=(DESCRIBE_CLUSTER,),
    listeners=BOTH,
    forwarding=Forwarding.ALL,
    differences=("A node that is alone has no listener for controllers, so it shows no address of one.",),
)
