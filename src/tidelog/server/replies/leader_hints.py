"""Who leads instead: what producers and readers receive with the error that this broker does not (KIP-951).

A client that knows the new leader and its address does not have to ask for metadata first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tidelog.metadata.image import NO_LEADER, BrokerImage, ClusterImage, Endpoint
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_LEADER_EPOCH

# The class of this name in the messages of Produce, or in those of Fetch.
NodeEndpoint = TypeVar("NodeEndpoint")

# The errors that mean "somebody else".
REDIRECTING = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


class LeaderHints:
    """Gathers the leaders of one reply, and each address once."""

    def __init__(self, image: ClusterImage, listener: str) -> None:
        self._image = image
        self._listener = listener
        self._found: dict[int, tuple[BrokerImage, Endpoint]] = {}

    def addresses(self, kind: Callable[..., NodeEndpoint]) -> list[NodeEndpoint]:
        """As the reply has them."""
        return [
            kind(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
            for broker, endpoint in self._found.values()
        ]

    def leader_of(self, topic: str | None, partition: int) -> tuple[int, int]:
        """(broker, leader epoch) as far as this broker knows, each -1 if it does not."""
        image = None if topic is None else self._image.partition(topic, partition)
        if image is None:
            return NO_LEADER, NO_LEADER_EPOCH
        broker = self._image.brokers.get(image.leader)
        endpoint = None if broker is None else broker.endpoint(self._listener)
        if broker is not None and endpoint is not None:
            self._found[broker.id] = broker, endpoint
        return image.leader, image.leader_epoch
