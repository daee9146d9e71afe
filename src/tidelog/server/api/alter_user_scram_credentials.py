"""AlterUserScramCredentials: sets and removes what the cluster keeps of passwords (KIP-554). Decided in
`tidelog.controller.credentials`.
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ALTER_CLUSTER, BOTH, Api, Forwarding, RefusalShape

API = Api(
    key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    versions=(0, 0),
    permissions=(ALTER_CLUSTER,),
    listeners=BOTH,
    forwarding=Forwarding.ALL,
    refusal=RefusalShape(asked_as={"results": "deletions,upsertions", "user": "name"}),
    differences=(
        "An empty salted password is refused with UNACCEPTABLE_CREDENTIAL; Kafka fails with UNKNOWN_SERVER_ERROR.",
    ),
)
