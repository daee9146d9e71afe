"""ElectLeaders: the preferred replica leads again, or any that is alive (KIP-460). Decided in
`tidelog.controller.leader_election`.

Version 0 only knows preferred leaders, and has no error for the whole reply.
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ALTER_CLUSTER, BOTH, Api, Forwarding, RefusalShape

API = Api(
    key=ApiKey.ELECT_LEADERS,
    versions=(0, 2),
    permissions=(ALTER_CLUSTER,),
    listeners=BOTH,
    forwarding=Forwarding.ALL,
    refusal=RefusalShape(for_each_too=True),
)
