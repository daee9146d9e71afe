"""The parts of one running broker, as one value: created in `tidelog.server.composition`, run by `startup`."""

from __future__ import annotations

import asyncio

from tidelog.config.broker import BrokerConfig
from tidelog.metadata.image import ClusterImage
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.request_memory import RequestMemory
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.coordination.auto_topics import TopicsOnDemand
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.coordination.markers import MarkerAppends
from tidelog.server.coordination.producer_ids import ProducerIds
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.fetching.sessions import FetchSessions
from tidelog.server.image_follower import ImageFollower
from tidelog.server.observability.metrics import Metrics
from tidelog.server.patient_work import PatientWork
from tidelog.server.ports import Ports
from tidelog.server.quorum.control_plane import ControlPlane
from tidelog.server.quorum.lifecycle import BrokerLifecycle
from tidelog.server.replicas.flusher import ReplicaFlusher
from tidelog.server.replicas.moves import ReplicaMoves
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replication.runtime import Replication
from tidelog.server.routing.connections import Connections
from tidelog.server.routing.throttling import ClientThrottling
from tidelog.server.upkeep.housekeeping import Housekeeping


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Holds the parts together; each part has its own module."""

    ports: Ports
    live: LiveConfig
    control: ControlPlane
    lifecycle: BrokerLifecycle
    metrics: Metrics
    replicas: Replicas
    flusher: ReplicaFlusher
    replication: Replication
    moves: ReplicaMoves
    housekeeping: Housekeeping
    image_follower: ImageFollower
    patient_work: PatientWork
    fetch_sessions: FetchSessions
    connections: Connections
    throttling: ClientThrottling
    request_memory: RequestMemory
    topics_on_demand: TopicsOnDemand
    producer_ids: ProducerIds
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    marker_appends: MarkerAppends
    # Requests that arrive while the node starts wait for this.
    ready: asyncio.Event

    @property
    def config(self) -> BrokerConfig:
        return self.live.config

    @property
    def broker_id(self) -> int:
        return self.live.config.node_id

    @property
    def broker_epoch(self) -> int:
        """Of this incarnation; -1 until it is registered."""
        return self.lifecycle.broker_epoch

    @property
    def image(self) -> ClusterImage:
        return self.control.metadata.image
