"""AlterClientQuotas: sets and removes quotas of users, client ids and addresses (KIP-546, KIP-612). Decided in
`tidelog.controller.client_quotas`.
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ALTER_CONFIGS, BOTH, Api, Forwarding

API = Api(
    key=ApiKey.ALTER_CLIENT_QUOTAS,
    versions=(0, 1),
    permissions=ALTER_CONFIGS[:1],
    listeners=BOTH,
    forwarding=Forwarding.ALL,
    differences=("A quota that is not a number (NaN) is refused with INVALID_REQUEST; Kafka sets it.",),
)
