"""Builds the handlers of a node from its parts, and the routers of its listeners from the handlers."""

from __future__ import annotations

from functools import partial

from tidelog.config.broker import BrokerConfig
from tidelog.network.frame_receiver import Frame
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.envelope_request import EnvelopeRequest
from tidelog.protocol.schema import Message
from tidelog.server.api import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_configs,
    alter_replica_log_dirs,
    api_versions,
    broker_heartbeat,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    delete_acls,
    delete_groups,
    delete_records,
    describe_acls,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    describe_transactions,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_transactions,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
    txn_offset_commit,
    write_txn_markers,
)
from tidelog.server.api import metadata as metadata_api
from tidelog.server.api.catalogue import served_on
from tidelog.server.coordination.verification import Verification
from tidelog.server.declaration import Forwarding, ListenerKind
from tidelog.server.node import Node
from tidelog.server.observability.metrics import Metrics
from tidelog.server.ports import Ports
from tidelog.server.quorum.active_controller import ActiveController
from tidelog.server.quorum.answers import ControllerAnswers
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.runtime import QuorumRuntime
from tidelog.server.routing.connections import Connections
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.forwarding import AnsweredHere, Forwarder
from tidelog.server.routing.produce_order import ProduceOrder, may_overtake
from tidelog.server.routing.router import MAX_CONTROL_FRAME_BYTES, Handler, Router

# What the quorum's replicas ask each other.
_QUORUM = (
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.FETCH,
    ApiKey.FETCH_SNAPSHOT,
)


# -- a broker ------------------------------------------------------------------------------------------------------


def broker_router(node: Node) -> Router:
    apis = served_on(ListenerKind.BROKER)
    forwarder = Forwarder(node.controller)
    handlers: dict[ApiKey, Handler] = {
        key: partial(forwarder.forward, api) for key, api in apis.items() if api.forwarding is Forwarding.ALL
    }
    metadata, broker_id = node.control.metadata, node.broker_id
    handlers |= {
        ApiKey.API_VERSIONS: api_versions.ApiVersionsHandler(apis=apis.values(), metadata=metadata).handle,
        ApiKey.METADATA: metadata_api.MetadataHandler(
            metadata=metadata, configuration=node.live, topics_on_demand=node.topics_on_demand, broker_id=broker_id
        ).handle,
        ApiKey.DESCRIBE_CLUSTER: describe_cluster.DescribeClusterHandler(metadata=metadata, broker_id=broker_id).handle,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions.DescribeTopicPartitionsHandler(
            metadata=metadata, configuration=node.live
        ).handle,
        ApiKey.DESCRIBE_ACLS: describe_acls.handle,
        ApiKey.CREATE_ACLS: create_acls.handle,
        ApiKey.DELETE_ACLS: delete_acls.handle,
        ApiKey.DESCRIBE_CONFIGS: describe_configs.DescribeConfigsHandler(
            metadata=metadata, configuration=node.live
        ).handle,
        ApiKey.LIST_CONFIG_RESOURCES: list_config_resources.ListConfigResourcesHandler(metadata=metadata).handle,
        ApiKey.ALTER_CONFIGS: alter_configs.AlterConfigsHandler(node_id=broker_id, controller=forwarder).handle,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs.IncrementalAlterConfigsHandler(
            node_id=broker_id, controller=forwarder, refuse_other_brokers=True
        ).handle,
    }
    return Router(
        apis=apis,
        handlers=handlers | _of_replicas(node) | _of_groups(node) | _of_transactions(node),
        may_pipeline=may_overtake,
        connections=node.connections,
        metrics=node.metrics,
        clock=node.clock,
        max_frame_bytes=node.config.socket_request_max_bytes,
        ready=node.ready,
    )


def _of_replicas(node: Node) -> dict[ApiKey, Handler]:
    metadata, replicas = node.control.metadata, node.replicas
    return {
        ApiKey.PRODUCE: produce.ProduceHandler(
            replicas=replicas,
            metadata=metadata,
            clock=node.clock,
            order=ProduceOrder(),
            patient_work=node.patient_work,
            admit=_verification(node).admit,
            configuration=node.live,
            flusher=node.flusher,
        ).handle,
        ApiKey.FETCH: fetch.FetchHandler(
            sessions=node.fetch_sessions,
            replication=node.replication,
            configuration=node.live,
            replicas=replicas,
            metadata=metadata,
        ).handle,
        ApiKey.LIST_OFFSETS: list_offsets.ListOffsetsHandler(patient_work=node.patient_work, replicas=replicas).handle,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch.OffsetForLeaderEpochHandler(replicas=replicas).handle,
        ApiKey.DELETE_RECORDS: delete_records.DeleteRecordsHandler(replicas=replicas).handle,
        ApiKey.DESCRIBE_PRODUCERS: describe_producers.DescribeProducersHandler(
            replicas=replicas, broker_id=node.broker_id
        ).handle,
        ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs.DescribeLogDirsHandler(
            replicas=replicas, moves=node.moves, filesystem=node.ports.filesystem
        ).handle,
        ApiKey.ALTER_REPLICA_LOG_DIRS: alter_replica_log_dirs.AlterReplicaLogDirsHandler(
            replicas=replicas, metadata=metadata, moves=node.moves
        ).handle,
    }


def _verification(node: Node) -> Verification:
    return Verification(live=node.live, clock=node.clock, transactions=node.transactions)


def _of_groups(node: Node) -> dict[ApiKey, Handler]:
    metadata, groups = node.control.metadata, node.groups
    return {
        ApiKey.JOIN_GROUP: join_group.JoinGroupHandler(groups=groups).handle,
        ApiKey.HEARTBEAT: heartbeat.HeartbeatHandler(groups=groups).handle,
        ApiKey.LEAVE_GROUP: leave_group.LeaveGroupHandler(groups=groups).handle,
        ApiKey.SYNC_GROUP: sync_group.SyncGroupHandler(groups=groups).handle,
        ApiKey.DESCRIBE_GROUPS: describe_groups.DescribeGroupsHandler(groups=groups).handle,
        ApiKey.LIST_GROUPS: list_groups.ListGroupsHandler(groups=groups).handle,
        ApiKey.DELETE_GROUPS: delete_groups.DeleteGroupsHandler(groups=groups).handle,
        ApiKey.OFFSET_COMMIT: offset_commit.OffsetCommitHandler(metadata=metadata, groups=groups).handle,
        ApiKey.OFFSET_FETCH: offset_fetch.OffsetFetchHandler(groups=groups, metadata=metadata).handle,
        ApiKey.OFFSET_DELETE: offset_delete.OffsetDeleteHandler(metadata=metadata, groups=groups).handle,
        ApiKey.FIND_COORDINATOR: find_coordinator.FindCoordinatorHandler(
            metadata=metadata, create_missing=node.topics_on_demand.create_missing
        ).handle,
        ApiKey.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat.ConsumerGroupHeartbeatHandler(
            metadata=metadata, configuration=node.live, groups=groups
        ).handle,
        ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_group_describe.ConsumerGroupDescribeHandler(
            metadata=metadata, configuration=node.live, groups=groups
        ).handle,
    }


def _of_transactions(node: Node) -> dict[ApiKey, Handler]:
    metadata, transactions = node.control.metadata, node.transactions
    return {
        ApiKey.INIT_PRODUCER_ID: init_producer_id.InitProducerIdHandler(
            transactions=transactions, producer_ids=node.producer_ids
        ).handle,
        ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn.AddPartitionsToTxnHandler(
            transactions=transactions, metadata=metadata
        ).handle,
        ApiKey.ADD_OFFSETS_TO_TXN: add_offsets_to_txn.AddOffsetsToTxnHandler(
            metadata=metadata,
            create_missing=node.topics_on_demand.create_missing,
            groups=node.groups,
            transactions=transactions,
        ).handle,
        ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit.TxnOffsetCommitHandler(
            admit=_verification(node).admit, metadata=metadata, replicas=node.replicas, groups=node.groups
        ).handle,
        ApiKey.END_TXN: end_txn.EndTxnHandler(transactions=transactions).handle,
        ApiKey.WRITE_TXN_MARKERS: write_txn_markers.WriteTxnMarkersHandler(marker_appends=node.marker_appends).handle,
        ApiKey.DESCRIBE_TRANSACTIONS: describe_transactions.DescribeTransactionsHandler(
            transactions=transactions
        ).handle,
        ApiKey.LIST_TRANSACTIONS: list_transactions.ListTransactionsHandler(transactions=transactions).handle,
    }


# -- a controller --------------------------------------------------------------------------------------------------


class _ControllerConfiguration:
    """The properties of a node that may be no broker."""

    def __init__(self, config: BrokerConfig, metadata: MetadataFollower) -> None:
        self._config = config
        self._metadata = metadata

    @property
    def config(self) -> BrokerConfig:
        image = self._metadata.image
        return self._config.with_dynamic(
            cluster=image.cluster_config(), broker=image.broker_config(self._config.node_id)
        )


def controller_router(
    *,
    config: BrokerConfig,
    ports: Ports,
    quorum: QuorumRuntime,
    metadata: MetadataFollower,
    controller: ActiveController,
    answers: ControllerAnswers,
    metrics: Metrics,
) -> Router:
    apis = served_on(ListenerKind.CONTROLLER)
    here = AnsweredHere(answers)
    configuration = _ControllerConfiguration(config, metadata)
    handlers: dict[ApiKey, Handler] = {key: partial(here.forward, api) for key, api in apis.items()}

    async def ask_quorum(request: Message, context: RequestContext) -> Message:
        return await quorum.ask(request)

    async def open_envelope(request: EnvelopeRequest, context: RequestContext) -> Message:
        return await answers.open(request)

    def may_pipeline(frame: Frame) -> bool:
        # A fetch that waits for records must not hold up a vote or a heartbeat behind it.
        return True

    handlers |= dict.fromkeys(_QUORUM, ask_quorum)
    handlers |= {
        ApiKey.API_VERSIONS: api_versions.ApiVersionsHandler(apis=apis.values(), metadata=metadata).handle,
        ApiKey.ENVELOPE: open_envelope,
        ApiKey.BROKER_HEARTBEAT: broker_heartbeat.BrokerHeartbeatHandler(
            came=controller.absent_brokers.heartbeat_came, controller=here
        ).handle,
        ApiKey.DESCRIBE_CLUSTER: describe_cluster.DescribeControllersHandler(
            config=config, metadata=metadata, leader_id=lambda: quorum.leader_id
        ).handle,
        ApiKey.DESCRIBE_CONFIGS: describe_configs.DescribeConfigsHandler(
            metadata=metadata, configuration=configuration
        ).handle,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs.IncrementalAlterConfigsHandler(
            node_id=config.node_id, controller=here, refuse_other_brokers=False
        ).handle,
    }
    return Router(
        apis=apis,
        handlers=handlers,
        may_pipeline=may_pipeline,
        connections=Connections(
            config=lambda: configuration.config,
            descriptors=ports.most_connections,
            metrics=metrics,
            released=controller.absent_brokers.connection_ended,
        ),
        metrics=metrics,
        clock=ports.clock,
        max_frame_bytes=MAX_CONTROL_FRAME_BYTES,
    )
