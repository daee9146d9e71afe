"""The composition root: creates all parts of a node and gives each what it needs, through its constructor.

Where two parts need each other, a `Notice` is created first and passed to both. Nothing runs before
`tidelog.server.startup` starts it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tidelog.config.broker import BrokerConfig
from tidelog.consensus.effects import Leadership
from tidelog.controller.features import SUPPORTED_FEATURES
from tidelog.metadata.image import ClusterImage, Endpoint
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.request_memory import DEFAULT_LIMIT_BYTES, RequestMemory
from tidelog.server import gauges
from tidelog.server.access.access import Access
from tidelog.server.api.catalogue import BY_KEY
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.configuration.node_security import (
    NodeSecurity,
    check_node_security,
    controller_security,
    inter_broker_security,
)
from tidelog.server.coordination.assembly import group_coordinator, other_brokers, transaction_coordinator
from tidelog.server.coordination.auto_topics import TopicsOnDemand
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.coordination.markers import MarkerAppends
from tidelog.server.coordination.producer_ids import ProducerIds
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.fetching.sessions import FetchSessions
from tidelog.server.image_follower import ImageFollower
from tidelog.server.node import Node
from tidelog.server.notice import Notice
from tidelog.server.observability.metrics import Metrics
from tidelog.server.observability.quota_accounts import QuotaAccounts
from tidelog.server.opening import directory_ids
from tidelog.server.patient_work import PatientWork
from tidelog.server.ports import Ports
from tidelog.server.quorum import settings
from tidelog.server.quorum.active_controller import ActiveController
from tidelog.server.quorum.answers import ControllerAnswers
from tidelog.server.quorum.channel import ControllerChannel
from tidelog.server.quorum.control_plane import ControlPlane
from tidelog.server.quorum.election_memory import ElectionMemory
from tidelog.server.quorum.first_records import read_first_records
from tidelog.server.quorum.leader_watch import LeaderWatch
from tidelog.server.quorum.lifecycle import BrokerLifecycle
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.peers import Peers
from tidelog.server.quorum.quorum_log import QuorumLog
from tidelog.server.quorum.runtime import QuorumRuntime
from tidelog.server.quorum.snapshots import SnapshotTaker
from tidelog.server.quorum.talks import QuorumTalks
from tidelog.server.replicas.damage import Damage
from tidelog.server.replicas.flusher import ReplicaFlusher
from tidelog.server.replicas.moves import ReplicaMoves
from tidelog.server.replicas.placement import ReplicaPlacement
from tidelog.server.replicas.reconciling import Reconciler
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.storage_failures import StorageFailures
from tidelog.server.replication.directories import DirectoryAssignments
from tidelog.server.replication.fetcher import Following
from tidelog.server.replication.fetchers import Fetchers
from tidelog.server.replication.in_sync import InSyncSets
from tidelog.server.replication.runtime import Replication
from tidelog.server.replication.throttles import ReplicationThrottles
from tidelog.server.routing.connections import Connections
from tidelog.server.routing.quota_follower import QuotaFollower, client_throttling
from tidelog.server.upkeep.cleaning import Cleaning
from tidelog.server.upkeep.housekeeping import Housekeeping
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.filesystem import StorageFailure

# -- the metadata quorum, on every node ----------------------------------------------------------------------------


def compose_control(
    config: BrokerConfig,
    ports: Ports,
    directory: LogDirectory,
    *,
    failed: Callable[[BaseException], None],
    broker_gone: Callable[[int, int], None],
) -> ControlPlane:
    """`failed` is called when the node can no longer follow the metadata, `broker_gone` with the number and epoch of
    each broker that this node, as the active controller, fences because its process is gone.

    Raises what opening the metadata log raises, or InvalidConfig.
    """
    assert directory.meta is not None
    voters = settings.voter_addresses(config)
    quorum_settings = settings.quorum_settings(config, directory.meta, voters)
    acting_failed: Notice[[BaseException]] = Notice()
    leadership_changed: Notice[[Leadership]] = Notice()
    heard: Notice[[int]] = Notice()
    log = QuorumLog.open(directory, ports.filesystem, ports.clock, settings.metadata_log_config(config))
    metadata = MetadataFollower(log, directory.meta.cluster_id, acting_failed)
    wire = settings.quorum_wire(config, directory.meta, voters)
    check_node_security(config)
    to_controllers = controller_security(lambda: config)
    peers = Peers(ports.network, voters.get, settings.connection_settings(config), security=to_controllers)
    quorum = QuorumRuntime(
        log=log,
        talks=QuorumTalks(settings=quorum_settings, wire=wire, peers=peers),
        clock=ports.clock,
        randomness=ports.randomness,
        memory=ElectionMemory(settings=quorum_settings, log=log, filesystem=ports.filesystem),
        metadata=metadata,
        leadership_changed=leadership_changed,
        heard=heard,
        failed=failed,
    )
    acting_failed.listen(quorum.fail)
    controller = None
    if quorum_settings.is_voter:
        controller = ActiveController(
            quorum=quorum,
            metadata=metadata,
            config=config,
            clock=ports.clock,
            randomness=ports.randomness,
            network=ports.network,
            broker_gone=broker_gone,
            first_records=read_first_records(ports.filesystem, directory.path),
        )
        heard.listen(controller.absent_brokers.seen)
        leadership_changed.listen(controller.leadership_changed)
    return _control_plane(
        config,
        ports,
        to_controllers,
        log=log,
        metadata=metadata,
        quorum=quorum,
        controller=controller,
        leadership_changed=leadership_changed,
    )


def _control_plane(
    config: BrokerConfig,
    ports: Ports,
    to_controllers: NodeSecurity,
    *,
    log: QuorumLog,
    metadata: MetadataFollower,
    quorum: QuorumRuntime,
    controller: ActiveController | None,
    leadership_changed: Notice[[Leadership]],
) -> ControlPlane:
    controller_changed: Notice[[]] = Notice()

    def elected(leadership: Leadership) -> None:
        if leadership.leader_id is not None:
            controller_changed()

    def connection_lost(node_id: int) -> None:
        """A controller that has lost a broker's connection does not know whether it is alive: say so at once."""
        if node_id == quorum.replica.leader_id:
            controller_changed()

    leadership_changed.listen(elected)
    address_of, connection = settings.voter_addresses(config).get, settings.connection_settings(config)
    channel_peers = Peers(ports.network, address_of, connection, connection_lost, to_controllers)
    forwarding = Peers(ports.network, address_of, connection, security=to_controllers)
    access = Access(config, lambda: metadata.latest.acl_set if metadata.is_loaded else None)
    answers = None if controller is None else ControllerAnswers(controller, BY_KEY, access)
    return ControlPlane(
        log=log,
        quorum=quorum,
        leader_watch=LeaderWatch(quorum, ports.clock),
        metadata=metadata,
        access=access,
        snapshots=SnapshotTaker(
            log=log, metadata=metadata, quorum=quorum, rules=settings.snapshot_rules(config), clock=ports.clock
        ),
        controller=controller,
        answers=answers,
        channel=ControllerChannel(
            node_id=config.node_id,
            quorum=quorum,
            local=answers,
            peers=channel_peers,
            forwarding=forwarding,
            timeout_seconds=config.controller_socket_timeout_ms / 1000,
        ),
        peers=(channel_peers, forwarding),
        controller_changed=controller_changed,
    )


# -- a broker ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basis:
    """What nearly every part of a broker needs."""

    live: LiveConfig
    image: Callable[[], ClusterImage]
    ports: Ports
    control: ControlPlane
    lifecycle: BrokerLifecycle
    metrics: Metrics
    to_brokers: NodeSecurity

    @property
    def broker_id(self) -> int:
        return self.live.config.node_id

    def broker_epoch(self) -> int:
        return self.lifecycle.broker_epoch

    def address_of(self, broker_id: int) -> Endpoint | None:
        """Of the inter-broker listener."""
        broker, listener = self.image().brokers.get(broker_id), self.live.config.inter_broker_listener_name
        return None if broker is None or listener is None else broker.endpoint(listener)


def compose_broker(
    config: BrokerConfig,
    ports: Ports,
    directories: Sequence[LogDirectory],
    control: ControlPlane,
    metrics: Metrics,
) -> Node:
    def image() -> ClusterImage:
        return control.metadata.image

    lifecycle = BrokerLifecycle(
        config=config,
        channel=control.channel,
        metadata=control.metadata,
        features=SUPPORTED_FEATURES,
        offline_directories=lambda: directory_ids(each for each in directories if each.failure is not None),
    )
    control.controller_changed.listen(lifecycle.controller_changed)
    live = LiveConfig(config, image)
    basis = _Basis(
        live=live,
        image=image,
        ports=ports,
        control=control,
        lifecycle=lifecycle,
        metrics=metrics,
        to_brokers=inter_broker_security(lambda: live.config),
    )
    storage_failing: Notice[[]] = Notice()
    shortage: Notice[[StorageFailure]] = Notice()
    replicas = Replicas(
        broker_id=config.node_id,
        image=image,
        directories=directories,
        clock=ports.clock,
        damage=Damage(config.node_id),
        storage_failing=storage_failing,
        shortage=shortage,
    )
    flusher = ReplicaFlusher(ports.clock, replicas.storage_failed)
    placement = ReplicaPlacement(live=basis.live, replicas=replicas)
    reconciler = Reconciler(live=basis.live, replicas=replicas, placement=placement, flusher=flusher)
    replication = _replication(basis, placement, flusher)
    node = _node(basis, reconciler, flusher, replication)
    storage_failures = StorageFailures(
        metrics=basis.metrics,
        report_failure=lifecycle.directory_failed,
        directory_failed=node.image_follower.directory_failed,
    )
    storage_failing.listen(storage_failures.failing)
    shortage.listen(storage_failures.shortage)
    return node


def _replication(basis: _Basis, placement: ReplicaPlacement, flusher: ReplicaFlusher) -> Replication:
    ports, replicas = basis.ports, placement.replicas
    throttles = ReplicationThrottles(broker_id=basis.broker_id, clock=ports.clock, config=basis.live.config)
    following = Following(
        broker_epoch=basis.broker_epoch,
        live=basis.live,
        address_of=basis.address_of,
        randomness=ports.randomness,
        network=ports.network,
        replicas=replicas,
        flusher=flusher,
        throttles=throttles,
        security=basis.to_brokers,
    )
    return Replication(
        live=basis.live,
        replicas=replicas,
        fetchers=Fetchers(following),
        in_sync=InSyncSets(broker_id=basis.broker_id, broker_epoch=basis.broker_epoch, channel=basis.control.channel),
        directories=DirectoryAssignments(
            broker_epoch=basis.broker_epoch, placement=placement, channel=basis.control.channel
        ),
        throttles=throttles,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coordinators:
    producer_ids: ProducerIds
    groups: GroupCoordinator
    marker_appends: MarkerAppends
    transactions: TransactionCoordinator


def _coordinators(basis: _Basis, replicas: Replicas) -> _Coordinators:
    live, image, ports = basis.live, basis.image, basis.ports
    producer_ids = ProducerIds(
        broker_id=basis.broker_id, broker_epoch=basis.broker_epoch, controller=basis.control.channel
    )
    groups = group_coordinator(live=live, image=image, replicas=replicas, randomness=ports.randomness)
    # For this broker's own coordinator and for those of other brokers.
    marker_appends = MarkerAppends(replicas=replicas, groups=groups)
    transactions = transaction_coordinator(
        live=live,
        image=image,
        replicas=replicas,
        marker_appends=marker_appends,
        other_brokers=other_brokers(live.config, image, ports.network, basis.address_of, basis.to_brokers),
        producer_ids=producer_ids,
    )
    return _Coordinators(
        producer_ids=producer_ids, groups=groups, marker_appends=marker_appends, transactions=transactions
    )


def _node(basis: _Basis, reconciler: Reconciler, flusher: ReplicaFlusher, replication: Replication) -> Node:
    live, image, ports, control, metrics = basis.live, basis.image, basis.ports, basis.control, basis.metrics
    config, replicas = live.config, reconciler.replicas
    cleaning = Cleaning(live=live, replicas=replicas)
    moves = ReplicaMoves(
        replicas=replicas,
        placement=reconciler.placement,
        compare_directories=replication.directories.compare,
        throttle=replication.throttles.moving,
        is_compacted=cleaning.is_compacted,
    )
    coordinators = _coordinators(basis, replicas)
    connections = Connections(
        config=lambda: live.config,
        listeners=config.broker_listeners,
        descriptors=ports.most_connections,
        clock=ports.clock,
        metrics=metrics,
    )
    throttling = client_throttling(config, ports.clock, metrics)
    quota_follower = QuotaFollower(throttling=throttling, connections=connections, network=ports.network)
    image_follower = ImageFollower(
        live=live,
        replicas=replicas,
        reconciler=reconciler,
        replication=replication,
        groups=coordinators.groups,
        transactions=coordinators.transactions,
        quotas=quota_follower,
        clock=ports.clock,
    )
    sessions = FetchSessions(slots=config.max_incremental_fetch_session_cache_slots, randomness=ports.randomness)
    memory = _request_memory(config)
    gauges.register_traffic(metrics, connections, memory, sessions)
    metrics.register(QuotaAccounts(throttling.usage, ports.clock))
    gauges.register_replicas(metrics, replicas, cleaning)
    gauges.register_cluster(metrics, control.leader_watch, coordinators.groups, coordinators.transactions)
    return Node(
        ports=ports,
        live=live,
        control=control,
        lifecycle=basis.lifecycle,
        metrics=metrics,
        replicas=replicas,
        flusher=flusher,
        replication=replication,
        moves=moves,
        housekeeping=Housekeeping(
            live=live,
            replicas=replicas,
            flusher=flusher,
            cleaning=cleaning,
            connections=connections,
            throttling=throttling,
            follow_postponed=image_follower.follow_postponed,
            filesystem=ports.filesystem,
        ),
        image_follower=image_follower,
        patient_work=PatientWork(),
        fetch_sessions=sessions,
        connections=connections,
        throttling=throttling,
        request_memory=memory,
        topics_on_demand=TopicsOnDemand(live=live, image=image, controller=control.channel),
        producer_ids=coordinators.producer_ids,
        groups=coordinators.groups,
        transactions=coordinators.transactions,
        marker_appends=coordinators.marker_appends,
        ready=asyncio.Event(),
    )


def _request_memory(config: BrokerConfig) -> RequestMemory:
    limit = config.queued_max_request_bytes
    # At least one request of the largest size must fit, or it could never be read.
    return RequestMemory(max(limit if limit > 0 else DEFAULT_LIMIT_BYTES, config.socket_request_max_bytes))
