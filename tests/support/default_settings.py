"""The settings that parts of the server receive from a node without properties, with what a test changes.

The defaults are the catalogue's: these objects have none of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidelog.config.broker import BrokerConfig
from tidelog.config.topic import TopicConfig
from tidelog.consensus.settings import QuorumSettings
from tidelog.consensus.snapshots import SnapshotRules
from tidelog.coordinators.consumer_groups.settings import ConsumerGroupSettings
from tidelog.coordinators.groups.settings import GroupSettings
from tidelog.coordinators.transactions.settings import TransactionSettings
from tidelog.metadata.image import ClusterImage
from tidelog.records.produce_rules import ProduceRules
from tidelog.server.configuration import topic_settings
from tidelog.server.coordination import assembly
from tidelog.server.quorum import settings
from tidelog.server.upkeep.cleaning import compaction_limits as limits_of_config
from tidelog.storage.cleaner.compaction import CompactionLimits
from tidelog.storage.directories.meta_properties import MetaProperties
from tidelog.storage.log.config import LogConfig

CONFIG = BrokerConfig.from_properties({"node.id": "1"})
TOPIC = TopicConfig()
IMAGE = ClusterImage(cluster_id="test")
MAX_LAG_MS = CONFIG.replica_lag_time_max_ms


def log_config(**changes: Any) -> LogConfig:
    expiration_ms = CONFIG.producer_id_expiration_ms
    return replace(topic_settings.log_config(TOPIC, producer_id_expiration_ms=expiration_ms), **changes)


def rules_of_topic(**changes: Any) -> ProduceRules:
    return replace(topic_settings.produce_rules(TOPIC), **changes)


def group_settings(**changes: Any) -> GroupSettings:
    return replace(assembly.group_settings(CONFIG, IMAGE), **changes)


def consumer_group_settings(**changes: Any) -> ConsumerGroupSettings:
    return replace(group_settings().consumer, **changes)


def transaction_settings(**changes: Any) -> TransactionSettings:
    """With the newest level of the feature transaction.version."""
    return replace(assembly.transaction_settings(CONFIG, IMAGE), **{"transaction_version": 2, **changes})


def compaction_limits(**changes: Any) -> CompactionLimits:
    return replace(limits_of_config(CONFIG), **changes)


def replica_settings(*, min_in_sync: int = TOPIC.min_insync_replicas) -> topic_settings.TopicSettings:
    config = TOPIC.with_overrides({"min.insync.replicas": str(min_in_sync)})
    return topic_settings.TopicSettings.of(config, producer_id_expiration_ms=CONFIG.producer_id_expiration_ms)


def snapshot_rules(**changes: Any) -> SnapshotRules:
    return replace(settings.snapshot_rules(CONFIG), **changes)


def quorum_settings(*, node_id: int, voters: frozenset[int], **changes: Any) -> QuorumSettings:
    alone = settings.quorum_settings(CONFIG, MetaProperties(cluster_id="test", node_id=node_id, directory_id=None), {})
    return replace(alone, node_id=node_id, voters=voters, **changes)


def metadata_log_config() -> LogConfig:
    return settings.metadata_log_config(CONFIG)
