"""Envelope: a client's request that a broker passes on, as the client sent it (KIP-590). See `quorum/envelope.py`."""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import CLUSTER_ACTION, CONTROLLERS, Api, FrameSize

API = Api(
    key=ApiKey.ENVELOPE,
    versions=(0, 0),
    permissions=(CLUSTER_ACTION,),
    listeners=CONTROLLERS,
    frame_size=FrameSize.ENVELOPE,
)
