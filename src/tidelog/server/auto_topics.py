"""Topics that come into being because somebody asks for them: those of users, and those of the coordinators."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tidelog.controller.topics import create_topics
from tidelog.model.errors import ErrorCode
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig

if TYPE_CHECKING:
    from tidelog.config.broker import BrokerConfig
    from tidelog.server.node import Node

logger = logging.getLogger(__name__)


async def create_missing(node: Node, names: list[str]) -> dict[str, ErrorCode]:
    """Create these topics as the configuration says; the errors of those that cannot be. Raises ApiError."""
    wanted = [_creatable(node.config, name) for name in names if name not in node.image.topics]
    if not wanted:
        return {}
    results = await node.create_topics(wanted)
    failed = {}
    for result in results:
        if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
            continue
        if result.error_code:
            logger.warning("cannot create %s: %s", result.name, result.error_message)
            # What Kafka tells a client that only wanted to know the topic.
            failed[result.name] = ErrorCode.INVALID_REPLICATION_FACTOR
        else:
            logger.info("created %s because a client asked for it", result.name)
    return failed


def _creatable(config: BrokerConfig, name: str) -> CreatableTopic:
    if name == CONSUMER_OFFSETS_TOPIC:
        return CreatableTopic(
            name=name,
            num_partitions=config.offsets_topic_num_partitions,
            replication_factor=config.offsets_topic_replication_factor,
            configs=_properties(
                {
                    "cleanup.policy": "compact",
                    "segment.bytes": str(config.offsets_topic_segment_bytes),
                    "compression.type": "producer",
                }
            ),
        )
    if name == TRANSACTION_STATE_TOPIC:
        return CreatableTopic(
            name=name,
            num_partitions=config.transaction_state_log_num_partitions,
            replication_factor=config.transaction_state_log_replication_factor,
            configs=_properties(
                {
                    "cleanup.policy": "compact",
                    "segment.bytes": str(config.transaction_state_log_segment_bytes),
                    "min.insync.replicas": str(config.transaction_state_log_min_isr),
                    "compression.type": "uncompressed",
                    "unclean.leader.election.enable": "false",
                }
            ),
        )
    return CreatableTopic(
        name=name, num_partitions=config.num_partitions, replication_factor=config.default_replication_factor
    )


def _properties(values: dict[str, str]) -> list[CreatableTopicConfig]:
    return [CreatableTopicConfig(name=name, value=value) for name, value in values.items()]


__all__ = ["create_missing", "create_topics"]
