"""Builds the handlers of a node from its parts, and the routers of its listeners from the handlers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tidelog.config.broker import BrokerConfig
from tidelog.network.frame_receiver import Frame
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.envelope_request import EnvelopeRequest
from tidelog.protocol.schema import Message
from tidelog.security.acls import Operation
from tidelog.server.access.access import Access
from tidelog.server.access.guards import guarded, when_ready, whole_operation
from tidelog.server.api import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_replica_log_dirs,
    api_versions,
    broker_heartbeat,
    consumer_group_describe,
    consumer_group_heartbeat,
    delete_groups,
    delete_records,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
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
    sasl_authenticate,
    sasl_handshake,
    sync_group,
    txn_offset_commit,
    write_txn_markers,
)
from tidelog.server.api import metadata as metadata_api
from tidelog.server.api.catalogue import served_on
from tidelog.server.api.incremental_alter_configs import AlterConfigsHandler
from tidelog.server.coordination.verification import Verification
from tidelog.server.declaration import Api, Forwarding, ListenerKind, advertised_versions
from tidelog.server.node import Node
from tidelog.server.observability.metrics import Metrics
from tidelog.server.ports import Ports
from tidelog.server.quorum.control_plane import ControlPlane
from tidelog.server.quorum.log_reading import MetadataLogReading
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.routing.connections import Connections
from tidelog.server.routing.context import RequestContext
from tidelog.server.routing.forwarding import AnsweredHere, Forwarder
from tidelog.server.routing.produce_order import ProduceOrder, may_overtake
from tidelog.server.routing.quota_follower import QuotaFollower, client_throttling
from tidelog.server.routing.router import MAX_CONTROL_FRAME_BYTES, Handler, Router
from tidelog.server.routing.throttling import ClientThrottling

# What the quorum's replicas ask each other.
_QUORUM = (
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.FETCH,
    ApiKey.FETCH_SNAPSHOT,
)

# What is answered before anybody has shown who they are.
_FOR_ANYBODY = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)


def _for_anybody(apis: Mapping[ApiKey, Api], metadata: MetadataFollower) -> dict[ApiKey, Handler]:
    return {
        ApiKey.API_VERSIONS: partial(api_versions.handle, advertised_versions(apis.values()), metadata),
        ApiKey.SASL_HANDSHAKE: sasl_handshake.handle,
        ApiKey.SASL_AUTHENTICATE: sasl_authenticate.handle,
    }


# -- a broker ------------------------------------------------------------------------------------------------------


def broker_router(node: Node) -> Router:
    apis = served_on(ListenerKind.BROKER)
    forwarder = Forwarder(node.control.channel)
    handlers: dict[ApiKey, Handler] = {
        key: partial(forwarder.forward, api) for key, api in apis.items() if api.forwarding is Forwarding.ALL
    }
    metadata, broker_id, access = node.control.metadata, node.broker_id, node.control.access
    handlers |= {
        key: AlterConfigsHandler(
            api=apis[key],
            node_id=broker_id,
            controller=forwarder,
            refuse_other_brokers=True,
            access=access,
            logger_operation=Operation.ALTER_CONFIGS,
            config=lambda: node.live.config,
        ).handle
        for key in (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
    }
    handlers |= _for_anybody(apis, metadata)
    handlers |= {
        ApiKey.METADATA: metadata_api.MetadataHandler(
            access=access,
            metadata=metadata,
            configuration=node.live,
            topics_on_demand=node.topics_on_demand,
            broker_id=broker_id,
        ).handle,
        ApiKey.DESCRIBE_CLUSTER: partial(describe_cluster.describe_brokers, access, metadata, broker_id),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: partial(describe_topic_partitions.handle, access, metadata, node.live),
        ApiKey.DESCRIBE_CONFIGS: partial(describe_configs.handle, access, metadata, node.live),
        ApiKey.LIST_CONFIG_RESOURCES: partial(list_config_resources.handle, metadata),
        ApiKey.DESCRIBE_ACLS: partial(describe_acls.handle, metadata, node.live),
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: partial(describe_user_scram_credentials.handle, metadata),
        ApiKey.DESCRIBE_CLIENT_QUOTAS: partial(describe_client_quotas.handle, metadata),
    }
    handlers |= _of_replicas(node) | _of_groups(node) | _of_transactions(node)
    return Router(
        apis=apis,
        handlers={key: _guarded(access, apis[key], handler) for key, handler in handlers.items()},
        may_pipeline=may_overtake,
        connections=node.connections,
        throttling=node.throttling,
        metrics=node.metrics,
        clock=node.ports.clock,
        max_frame_bytes=node.config.socket_request_max_bytes,
        ready=node.ready,
    )


def _guarded(access: Access, api: Api, handler: Handler) -> Handler:
    """What is passed on to the controller is checked there, for the client that asks."""
    operation = whole_operation(api)
    return handler if operation is None or api.is_forwarded else guarded(access, api, operation, handler)


def _of_replicas(node: Node) -> dict[ApiKey, Handler]:
    metadata, replicas, access = node.control.metadata, node.replicas, node.control.access
    metadata_log = MetadataLogReading(log=node.control.log, quorum=node.control.quorum, access=access)
    return {
        ApiKey.PRODUCE: produce.ProduceHandler(
            replicas=replicas,
            metadata=metadata,
            clock=node.ports.clock,
            order=ProduceOrder(),
            patient_work=node.patient_work,
            admit=_verification(node).admit,
            configuration=node.live,
            flusher=node.flusher,
            access=access,
        ).handle,
        ApiKey.FETCH: fetch.FetchHandler(
            sessions=node.fetch_sessions,
            replication=node.replication,
            configuration=node.live,
            replicas=replicas,
            metadata=metadata,
            access=access,
            throttling=node.throttling,
            metadata_log=metadata_log,
        ).handle,
        ApiKey.FETCH_SNAPSHOT: metadata_log.fetch_snapshot,
        ApiKey.LIST_OFFSETS: partial(list_offsets.handle, access, node.patient_work, replicas),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: partial(offset_for_leader_epoch.handle, access, replicas),
        ApiKey.DELETE_RECORDS: partial(delete_records.handle, access, replicas),
        ApiKey.DESCRIBE_PRODUCERS: partial(describe_producers.handle, access, replicas, node.broker_id),
        ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs.DescribeLogDirsHandler(
            replicas=replicas, moves=node.moves, filesystem=node.ports.filesystem
        ).handle,
        ApiKey.ALTER_REPLICA_LOG_DIRS: alter_replica_log_dirs.AlterReplicaLogDirsHandler(
            replicas=replicas, metadata=metadata, moves=node.moves
        ).handle,
    }


def _verification(node: Node) -> Verification:
    return Verification(live=node.live, clock=node.ports.clock, transactions=node.transactions)


def _of_groups(node: Node) -> dict[ApiKey, Handler]:
    metadata, groups, access = node.control.metadata, node.groups, node.control.access
    return {
        ApiKey.HEARTBEAT: partial(heartbeat.handle, access, groups),
        ApiKey.LEAVE_GROUP: partial(leave_group.handle, access, groups),
        ApiKey.JOIN_GROUP: partial(join_group.handle, access, groups),
        ApiKey.SYNC_GROUP: partial(sync_group.handle, access, groups),
        ApiKey.DESCRIBE_GROUPS: partial(describe_groups.handle, access, groups),
        ApiKey.LIST_GROUPS: partial(list_groups.handle, access, groups),
        ApiKey.DELETE_GROUPS: partial(delete_groups.handle, access, groups),
        ApiKey.OFFSET_COMMIT: partial(offset_commit.handle, access, metadata, groups),
        ApiKey.OFFSET_FETCH: offset_fetch.OffsetFetchHandler(access=access, groups=groups, metadata=metadata).handle,
        ApiKey.OFFSET_DELETE: partial(offset_delete.handle, access, metadata, groups),
        ApiKey.FIND_COORDINATOR: partial(
            find_coordinator.handle, access, metadata, node.topics_on_demand.create_missing
        ),
        ApiKey.CONSUMER_GROUP_HEARTBEAT: partial(consumer_group_heartbeat.handle, access, metadata, node.live, groups),
        ApiKey.CONSUMER_GROUP_DESCRIBE: partial(consumer_group_describe.handle, access, metadata, node.live, groups),
    }


def _of_transactions(node: Node) -> dict[ApiKey, Handler]:
    metadata, transactions, access = node.control.metadata, node.transactions, node.control.access
    return {
        ApiKey.INIT_PRODUCER_ID: partial(init_producer_id.handle, access, transactions, node.producer_ids),
        ApiKey.ADD_PARTITIONS_TO_TXN: partial(add_partitions_to_txn.handle, access, transactions, metadata),
        ApiKey.ADD_OFFSETS_TO_TXN: add_offsets_to_txn.AddOffsetsToTxnHandler(
            access=access,
            metadata=metadata,
            create_missing=node.topics_on_demand.create_missing,
            groups=node.groups,
            transactions=transactions,
        ).handle,
        ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit.TxnOffsetCommitHandler(
            access=access,
            admit=_verification(node).admit,
            metadata=metadata,
            replicas=node.replicas,
            groups=node.groups,
        ).handle,
        ApiKey.END_TXN: partial(end_txn.handle, access, transactions),
        ApiKey.WRITE_TXN_MARKERS: partial(write_txn_markers.handle, access, node.marker_appends),
        ApiKey.DESCRIBE_TRANSACTIONS: partial(describe_transactions.handle, access, transactions),
        ApiKey.LIST_TRANSACTIONS: partial(list_transactions.handle, access, transactions),
    }


# -- a controller --------------------------------------------------------------------------------------------------


class _ControllerConfiguration:
    """The properties of a node that may not be a broker."""

    def __init__(self, config: BrokerConfig, metadata: MetadataFollower) -> None:
        self._config = config
        self._metadata = metadata

    @property
    def config(self) -> BrokerConfig:
        image = self._metadata.image
        return self._config.with_dynamic(
            cluster=image.cluster_config(), broker=image.broker_config(self._config.node_id)
        )


def _always(frame: Frame) -> bool:
    """A fetch that waits for records must not hold up a vote or a heartbeat behind it."""
    return True


def _controller_limits(
    configuration: _ControllerConfiguration, ports: Ports, control: ControlPlane, metrics: Metrics
) -> tuple[Connections, ClientThrottling]:
    """Of its own, beside those of a broker in the same process."""
    config, metadata, controller = configuration.config, control.metadata, control.controller
    assert controller is not None
    connections = Connections(
        config=lambda: configuration.config,
        listeners=config.controller_listeners,
        descriptors=ports.most_connections,
        clock=ports.clock,
        metrics=metrics,
        released=controller.absent_brokers.connection_ended,
    )
    throttling = client_throttling(config, ports.clock, metrics)
    quotas = QuotaFollower(throttling=throttling, connections=connections, network=ports.network)
    quotas.follow(metadata.latest.client_quotas)
    metadata.applied.listen(lambda: quotas.follow(metadata.latest.client_quotas))
    return connections, throttling


def controller_router(config: BrokerConfig, ports: Ports, control: ControlPlane, metrics: Metrics) -> Router:
    """For a node that votes."""
    quorum, metadata, controller, answers = control.quorum, control.metadata, control.controller, control.answers
    assert controller is not None
    assert answers is not None
    access = control.access
    apis = served_on(ListenerKind.CONTROLLER)
    here = AnsweredHere(answers)
    configuration = _ControllerConfiguration(config, metadata)
    handlers: dict[ApiKey, Handler] = {key: partial(here.forward, api) for key, api in apis.items()}

    async def ask_quorum(request: Message, context: RequestContext) -> Message:
        # A quorum must not wait for a quota.
        context.exempt()
        return await quorum.ask(request)

    async def open_envelope(request: EnvelopeRequest, context: RequestContext) -> Message:
        return await answers.open(request)

    handlers |= dict.fromkeys(_QUORUM, ask_quorum)
    handlers |= _for_anybody(apis, metadata)
    handlers |= {
        ApiKey.ENVELOPE: open_envelope,
        ApiKey.BROKER_HEARTBEAT: partial(broker_heartbeat.handle, controller.absent_brokers.heartbeat_came, here),
        ApiKey.DESCRIBE_CLUSTER: partial(
            describe_cluster.describe_controllers, access, config, metadata, lambda: quorum.replica.leader_id
        ),
        ApiKey.DESCRIBE_CONFIGS: partial(describe_configs.handle, access, metadata, configuration),
        ApiKey.DESCRIBE_ACLS: partial(describe_acls.handle, metadata, configuration),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: AlterConfigsHandler(
            api=apis[ApiKey.INCREMENTAL_ALTER_CONFIGS],
            node_id=config.node_id,
            controller=here,
            refuse_other_brokers=False,
            access=access,
            logger_operation=Operation.CLUSTER_ACTION,
            config=lambda: configuration.config,
        ).handle,
    }
    # Whoever fetches from a controller reads the metadata of the whole cluster.
    handlers[ApiKey.FETCH] = guarded(access, apis[ApiKey.FETCH], Operation.CLUSTER_ACTION, ask_quorum)
    handlers = {key: _guarded(access, apis[key], handler) for key, handler in handlers.items()}
    connections, throttling = _controller_limits(configuration, ports, control, metrics)
    return Router(
        apis=apis,
        handlers={
            key: handler if key in _FOR_ANYBODY else when_ready(access, apis[key], handler)
            for key, handler in handlers.items()
        },
        may_pipeline=_always,
        connections=connections,
        throttling=throttling,
        metrics=metrics,
        clock=ports.clock,
        max_frame_bytes=MAX_CONTROL_FRAME_BYTES,
    )
