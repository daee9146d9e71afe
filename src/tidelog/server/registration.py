"""How a broker becomes part of the cluster: it registers, is fenced at first, and serves once it is unfenced.

A start is always a new incarnation with a new broker epoch, and its partitions get a new leader epoch: what clients
have read from the last incarnation can be told from what this one writes (KIP-320).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.controller.bootstrap import bootstrap_records
from tidelog.controller.brokers import register_broker, unfence_broker
from tidelog.controller.decision import Decision
from tidelog.controller.elections import unclean_allowed
from tidelog.metadata.image import ClusterImage, Endpoint
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from tidelog.protocol.messages.broker_registration_response import BrokerRegistrationResponse

if TYPE_CHECKING:
    from tidelog.server.node import Node


async def register(node: Node, endpoints: Sequence[Endpoint], directories: Sequence[Uuid]) -> None:
    """Raises ApiError if the controller does not take the broker."""
    if not node.image.features:
        await node.controller.decide(lambda image: Decision(records=bootstrap_records(), reply=None))
    request = BrokerRegistrationRequest(
        broker_id=node.broker_id,
        cluster_id=node.image.cluster_id,
        incarnation_id=node.randomness.random_bytes(16),
        listeners=[
            Listener(name=each.listener, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for each in endpoints
        ],
        features=[
            Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in node.supported_features().items()
        ],
        rack=node.config.broker_rack,
        log_dirs=list(directories),
    )

    def admit(image: ClusterImage) -> Decision[BrokerRegistrationResponse]:
        return register_broker(
            image,
            request,
            next_offset=node.controller.next_offset,
            session_alive=False,
            unclean=unclean_allowed(image, node.config.topic_defaults()),
        )

    response = await node.controller.decide(admit)
    if response.error_code:
        raise ApiError(ErrorCode(response.error_code), f"broker {node.broker_id} cannot be registered")
    node.broker_epoch = response.broker_epoch
    await node.controller.decide(
        lambda image: unfence_broker(
            image, node.broker_id, unclean=unclean_allowed(image, node.config.topic_defaults())
        )
    )
