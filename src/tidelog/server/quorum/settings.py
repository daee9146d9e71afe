"""The settings of a node's metadata quorum, from the broker's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidelog.config.broker import BrokerConfig
from tidelog.config.listeners import HostPort
from tidelog.config.topic import TopicConfig
from tidelog.consensus.settings import QuorumSettings
from tidelog.consensus.snapshots import SnapshotRules
from tidelog.consensus.wire import QuorumWire
from tidelog.consensus.wire_answers import VoterEndpoint
from tidelog.model.ids import ZERO_UUID
from tidelog.network.client_connection import ConnectionSettings
from tidelog.server.configuration.topic_settings import log_config
from tidelog.storage.directories.meta_properties import MetaProperties
from tidelog.storage.log.config import LogConfig


def voter_addresses(config: BrokerConfig) -> dict[int, HostPort]:
    return {voter.id: HostPort(host=voter.host, port=voter.port) for voter in config.controller_quorum_voters}


def quorum_settings(config: BrokerConfig, meta: MetaProperties, voters: Mapping[int, HostPort]) -> QuorumSettings:
    """A node without other voters is its own quorum."""
    return QuorumSettings(
        node_id=config.node_id,
        voters=frozenset(voters) or frozenset({config.node_id}),
        directory_id=meta.directory_id or ZERO_UUID,
        election_timeout_ms=config.controller_quorum_election_timeout_ms,
        fetch_timeout_ms=config.controller_quorum_fetch_timeout_ms,
        election_backoff_max_ms=config.controller_quorum_election_backoff_max_ms,
        request_timeout_ms=config.controller_quorum_request_timeout_ms,
        retry_backoff_ms=config.controller_quorum_retry_backoff_ms,
        fetch_max_bytes=config.controller_quorum_fetch_max_bytes,
        fetch_snapshot_max_bytes=config.controller_quorum_fetch_snapshot_max_bytes,
    )


def quorum_wire(config: BrokerConfig, meta: MetaProperties, voters: Mapping[int, HostPort]) -> QuorumWire:
    return QuorumWire(
        cluster_id=meta.cluster_id,
        node_id=config.node_id,
        directory_id=meta.directory_id or ZERO_UUID,
        listener_name=config.controller_listener_names[0] if config.controller_listener_names else "CONTROLLER",
        endpoints={number: VoterEndpoint(at.host, at.port) for number, at in voters.items()},
    )


def connection_settings(config: BrokerConfig) -> ConnectionSettings:
    return ConnectionSettings(
        client_id=f"tidelog-node-{config.node_id}",
        connect_timeout_ms=config.controller_quorum_request_timeout_ms,
        request_timeout_ms=config.controller_quorum_request_timeout_ms,
    )


def metadata_log_config(config: BrokerConfig) -> LogConfig:
    return replace(
        log_config(TopicConfig(), producer_id_expiration_ms=config.producer_id_expiration_ms),
        segment_bytes=config.metadata_log_segment_bytes,
        segment_ms=config.metadata_log_segment_ms,
        # What is dropped follows from the snapshots.
        retention_ms=-1,
        retention_bytes=-1,
    )


def snapshot_rules(config: BrokerConfig) -> SnapshotRules:
    return SnapshotRules(
        max_bytes=config.metadata_log_max_record_bytes_between_snapshots,
        interval_ms=config.metadata_log_max_snapshot_interval_ms,
        retention_bytes=config.metadata_max_retention_bytes,
        retention_ms=config.metadata_max_retention_ms,
    )
