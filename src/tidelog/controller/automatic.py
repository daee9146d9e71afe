"""Topics that come into being by themselves: the coordinators' own, and those that a client merely mentions."""

from __future__ import annotations

from tidelog.config.broker import BrokerConfig
from tidelog.config.topic import SEGMENT_BYTES
from tidelog.controller.topics import USE_DEFAULT
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig


def automatic_topic(name: str, config: BrokerConfig) -> CreatableTopic:
    """What to ask CreateTopics for when the topic `name` is needed and does not exist."""
    if name == CONSUMER_OFFSETS_TOPIC:
        return CreatableTopic(
            name=name,
            num_partitions=config.offsets_topic_num_partitions,
            replication_factor=config.offsets_topic_replication_factor,
            configs=_configs(
                {
                    "cleanup.policy": "compact",
                    "compression.type": "producer",
                    **_segment_size(config.offsets_topic_segment_bytes),
                }
            ),
        )
    if name == TRANSACTION_STATE_TOPIC:
        return CreatableTopic(
            name=name,
            num_partitions=config.transaction_state_log_num_partitions,
            replication_factor=config.transaction_state_log_replication_factor,
            configs=_configs(
                {
                    "cleanup.policy": "compact",
                    "compression.type": "uncompressed",
                    "min.insync.replicas": str(config.transaction_state_log_min_isr),
                    **_segment_size(config.transaction_state_log_segment_bytes),
                    # Losing the outcome of a transaction would be worse than waiting for a replica.
                    "unclean.leader.election.enable": "false",
                }
            ),
        )
    return CreatableTopic(name=name, num_partitions=USE_DEFAULT, replication_factor=USE_DEFAULT)


def _segment_size(size: int) -> dict[str, str]:
    """A size that topics of users cannot have is one for tests."""
    return {"segment.bytes" if SEGMENT_BYTES.allows(size) else "internal.segment.bytes": str(size)}


def _configs(entries: dict[str, str]) -> tuple[CreatableTopicConfig, ...]:
    return tuple(CreatableTopicConfig(name=name, value=value) for name, value in entries.items())
