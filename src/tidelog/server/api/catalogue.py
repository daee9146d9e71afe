"""All APIs that a node serves, in the order of their keys: the one list, from which each listener takes its own.

The versions are those of Apache Kafka 4.3; where that is not so, the declaration says why.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.protocol.messages import ApiKey
from tidelog.server.api import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    allocate_producer_ids,
    alter_client_quotas,
    alter_configs,
    alter_partition,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    api_versions,
    assign_replicas_to_dirs,
    begin_quorum_epoch,
    broker_heartbeat,
    broker_registration,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_quorum_epoch,
    end_txn,
    envelope,
    fetch,
    fetch_snapshot,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sasl_authenticate,
    sasl_handshake,
    sync_group,
    txn_offset_commit,
    unregister_broker,
    update_features,
    vote,
    write_txn_markers,
)
from tidelog.server.declaration import Api, ListenerKind

# fmt: off
APIS: tuple[Api, ...] = tuple(module.API for module in (
    produce, fetch, list_offsets, metadata, offset_commit, offset_fetch, find_coordinator, join_group, heartbeat,
    leave_group, sync_group, describe_groups, list_groups, sasl_handshake, api_versions, create_topics, delete_topics,
    delete_records, init_producer_id, offset_for_leader_epoch, add_partitions_to_txn, add_offsets_to_txn, end_txn,
    write_txn_markers, txn_offset_commit, describe_acls, create_acls, delete_acls, describe_configs, alter_configs,
    alter_replica_log_dirs, describe_log_dirs, sasl_authenticate, create_partitions, delete_groups, elect_leaders,
    incremental_alter_configs, alter_partition_reassignments, list_partition_reassignments, offset_delete,
    describe_client_quotas, alter_client_quotas, describe_user_scram_credentials, alter_user_scram_credentials, vote,
    begin_quorum_epoch, end_quorum_epoch, describe_quorum, alter_partition, update_features, envelope,
    fetch_snapshot, describe_cluster, describe_producers, broker_registration, broker_heartbeat, unregister_broker,
    describe_transactions, list_transactions, allocate_producer_ids, consumer_group_heartbeat,
    consumer_group_describe, assign_replicas_to_dirs, list_config_resources, describe_topic_partitions,
))
# fmt: on
BY_KEY: Mapping[int, Api] = {api.key: api for api in APIS}


def served_on(kind: ListenerKind) -> dict[ApiKey, Api]:
    return {api.key: api for api in APIS if kind in api.listeners}
