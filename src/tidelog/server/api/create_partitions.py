"""CreatePartitions: more partitions for topics that exist. Decided in `tidelog.controller.partitions`."""

from __future__ import annotations

from tidelog.protocol.api import ApiKey
from tidelog.server.api.declaration import ALTER_TOPIC, BOTH, Api, Forwarding, Refusal

API = Api(
    key=ApiKey.CREATE_PARTITIONS,
    versions=(0, 3),
    permissions=(ALTER_TOPIC,),
    listeners=BOTH,
    forwarding=Forwarding.ALL,
    refusal=Refusal(asked_as={"results": "topics"}),
)
