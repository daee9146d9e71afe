"""Puts the coordinators of a node together: their logs, their settings, and their share in leadership."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tidelog.config.broker import BrokerConfig
from tidelog.config.group import group_values
from tidelog.coordinators.consumer_groups.settings import ConsumerGroupSettings, MigrationPolicy
from tidelog.coordinators.groups.settings import GroupSettings
from tidelog.coordinators.transactions.settings import TransactionSettings
from tidelog.metadata.image import ClusterImage, Endpoint, ResourceType
from tidelog.metadata.records import TRANSACTION_VERSION_FEATURE
from tidelog.model.ports import Randomness
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.network.client_connection import ConnectionSettings
from tidelog.network.port import Network
from tidelog.records.compression import Compression
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.configuration.node_security import NodeSecurity
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.coordination.markers import MarkerAppends, Markers
from tidelog.server.coordination.other_brokers import OtherBrokers
from tidelog.server.coordination.producer_ids import ProducerIds
from tidelog.server.coordination.replica_log import CoordinatorReplicaLog
from tidelog.server.coordination.shard_runtime import ShardLimits
from tidelog.server.coordination.topics import TopicsOfImage
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.quorum.peers import Peers
from tidelog.server.replicas.registry import Replicas


def group_coordinator(
    *,
    live: LiveConfig,
    image: Callable[[], ClusterImage],
    replicas: Replicas,
    randomness: Randomness,
) -> GroupCoordinator:
    """Coordinates the groups of all partitions of `__consumer_offsets` that this broker leads, from now on."""
    config = live.config
    compression = Compression(config.offsets_topic_compression_codec)
    groups = GroupCoordinator(
        CoordinatorReplicaLog(topic=CONSUMER_OFFSETS_TOPIC, replicas=replicas, compression=compression),
        settings=lambda: group_settings(live.config, image()),
        limits=ShardLimits(
            commit_timeout_ms=config.offsets_commit_timeout_ms, load_buffer_bytes=config.offsets_load_buffer_size
        ),
        topics=lambda: TopicsOfImage(image()),
        partition_count=lambda: _count(image(), CONSUMER_OFFSETS_TOPIC, live.config.offsets_topic_num_partitions),
        clock=replicas.clock,
        randomness=randomness,
    )
    replicas.became_leader.listen(groups.became_leader)
    replicas.stopped_leading.listen(groups.stopped_leading)
    return groups


def group_settings(config: BrokerConfig, image: ClusterImage) -> GroupSettings:
    consumer = ConsumerGroupSettings(
        group_consumer_assignors=config.group_consumer_assignors,
        group_consumer_assignment_interval_ms=config.group_consumer_assignment_interval_ms,
        group_consumer_regex_refresh_interval_ms=config.group_consumer_regex_refresh_interval_ms,
        group_consumer_heartbeat_interval_ms=config.group_consumer_heartbeat_interval_ms,
        group_consumer_session_timeout_ms=config.group_consumer_session_timeout_ms,
        group_consumer_max_size=config.group_consumer_max_size,
        group_consumer_migration_policy=MigrationPolicy(config.group_consumer_migration_policy),
    )
    groups = {
        resource.name: _of_one_group(consumer, group_values(overrides, config))
        for resource, overrides in image.configs.items()
        if resource.type == ResourceType.GROUP
    }
    return GroupSettings(
        group_initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        group_min_session_timeout_ms=config.group_min_session_timeout_ms,
        group_max_session_timeout_ms=config.group_max_session_timeout_ms,
        group_max_size=config.group_max_size,
        offset_metadata_max_bytes=config.offset_metadata_max_bytes,
        offsets_retention_minutes=config.offsets_retention_minutes,
        offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        consumer=replace(consumer, groups=groups),
    )


def _of_one_group(consumer: ConsumerGroupSettings, values: Mapping[str, int]) -> ConsumerGroupSettings:
    return replace(
        consumer,
        group_consumer_assignment_interval_ms=values["consumer.assignment.interval.ms"],
        group_consumer_heartbeat_interval_ms=values["consumer.heartbeat.interval.ms"],
        group_consumer_session_timeout_ms=values["consumer.session.timeout.ms"],
    )


def transaction_coordinator(
    *,
    live: LiveConfig,
    image: Callable[[], ClusterImage],
    replicas: Replicas,
    marker_appends: MarkerAppends,
    other_brokers: OtherBrokers,
    producer_ids: ProducerIds,
) -> TransactionCoordinator:
    """Coordinates the transactional ids of all partitions of `__transaction_state` that this broker leads."""
    config = live.config
    transactions = TransactionCoordinator(
        CoordinatorReplicaLog(topic=TRANSACTION_STATE_TOPIC, replicas=replicas),
        write_markers=Markers(appends=marker_appends, image=image, other_brokers=other_brokers).write,
        next_producer_id=producer_ids.next,
        settings=lambda: transaction_settings(live.config, image()),
        limits=ShardLimits(
            commit_timeout_ms=config.request_timeout_ms,
            load_buffer_bytes=config.transaction_state_log_load_buffer_size,
        ),
        completion_wait_ms=config.add_partitions_to_txn_retry_backoff_max_ms,
        partition_count=lambda: _count(
            image(), TRANSACTION_STATE_TOPIC, live.config.transaction_state_log_num_partitions
        ),
        clock=replicas.clock,
        others=other_brokers,
    )
    replicas.became_leader.listen(transactions.became_leader)
    replicas.stopped_leading.listen(transactions.stopped_leading)
    return transactions


def _count(image: ClusterImage, topic: str, before_creation: int) -> int:
    found = image.topics.get(topic)
    return before_creation if found is None else len(found.partitions)


def other_brokers(
    config: BrokerConfig,
    image: Callable[[], ClusterImage],
    network: Network,
    address_of: Callable[[int], Endpoint | None],
    security: NodeSecurity,
) -> OtherBrokers:
    settings = ConnectionSettings(
        client_id=f"tidelog-transactions-{config.node_id}",
        connect_timeout_ms=config.socket_connection_setup_timeout_ms,
        request_timeout_ms=config.request_timeout_ms,
    )
    return OtherBrokers(
        markers=Peers(network, address_of, settings, security=security),
        questions=Peers(network, address_of, settings, security=security),
        image=image,
    )


def transaction_settings(config: BrokerConfig, image: ClusterImage) -> TransactionSettings:
    return TransactionSettings(
        transaction_max_timeout_ms=config.transaction_max_timeout_ms,
        transactional_id_expiration_ms=config.transactional_id_expiration_ms,
        transaction_remove_expired_transaction_cleanup_interval_ms=(
            config.transaction_remove_expired_transaction_cleanup_interval_ms
        ),
        transaction_abort_timed_out_transaction_cleanup_interval_ms=(
            config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        ),
        transaction_two_phase_commit_enable=config.transaction_two_phase_commit_enable,
        transaction_version=image.features.get(TRANSACTION_VERSION_FEATURE, 0),
    )
