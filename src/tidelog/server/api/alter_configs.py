"""AlterConfigs: replaces all properties of a resource. IncrementalAlterConfigs is what clients should use instead.

Both have the same handler, in `incremental_alter_configs.py`.
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import ALTER_CONFIGS, BOTH, Api, Forwarding

API = Api(
    key=ApiKey.ALTER_CONFIGS, versions=(0, 2), permissions=ALTER_CONFIGS, listeners=BOTH, forwarding=Forwarding.A_PART
)
