"""One running node: what the handlers work with. Put together in `tidelog.server.startup`, which also ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping

from tidelog.config.broker import BrokerConfig
from tidelog.controller.features import SUPPORTED_FEATURES
from tidelog.metadata.delta import ImageDelta
from tidelog.metadata.image import ClusterImage, ResourceType
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.later import Later
from tidelog.network.request_memory import DEFAULT_LIMIT_BYTES, RequestMemory
from tidelog.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from tidelog.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from tidelog.server.configuration.topic_settings import TopicSettings
from tidelog.server.coordination.assembly import (
    group_coordinator,
    marker_appends,
    other_brokers,
    transaction_coordinator,
)
from tidelog.server.coordination.auto_topics import TopicsOnDemand
from tidelog.server.coordination.producer_ids import Block, ProducerIds
from tidelog.server.fetching.sessions import FetchSessions
from tidelog.server.observability.metrics import Metrics
from tidelog.server.patient_work import PatientWork
from tidelog.server.ports import Ports
from tidelog.server.quorum.control_plane import ControlPlane
from tidelog.server.quorum.lifecycle import BrokerLifecycle
from tidelog.server.replicas.flusher import Flusher
from tidelog.server.replicas.moves import ReplicaMoves
from tidelog.server.replicas.registry import MissingLogs, Replicas
from tidelog.server.replication.authority import QuorumAuthority
from tidelog.server.replication.runtime import Replication
from tidelog.server.routing.connections import Connections
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.filesystem import DiskFull, StorageFailure
from tidelog.storage.log.log import Log

logger = logging.getLogger(__name__)

# What makes logs can be told to stop after so many.
LOGS_PER_JOB = 50
# Many topics are taken into use in steps, between which others are served.
TOPICS_PER_STEP = 50


class Node:
    """Holds the parts together; each part has its own module."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        ports: Ports,
        directories: list[LogDirectory],
        control: ControlPlane,
        metrics: Metrics,
    ) -> None:
        self.config = config
        self.ports = ports
        self.clock = ports.clock
        self.randomness = ports.randomness
        self.control = control
        self.lifecycle: BrokerLifecycle | None = None
        self._topic_defaults = config.topic_defaults()
        self.metrics = metrics
        self.replicas = Replicas(broker_id=config.node_id, directories=directories, clock=ports.clock)
        self.replicas.on_storage_failure = self._storage_failed
        self.patient_work = PatientWork()
        self.replicas.on_shortage = self._shortage
        self.flusher = Flusher(ports.clock, self.replicas.storage_failed)
        self.replicas.flush_wanted = self.flusher.begin
        self.controller = control.channel
        self.replication = Replication(self, QuorumAuthority(control.channel))
        self.moves = ReplicaMoves(self)
        # Whether a log is being compacted; the cleaner says so once there is one.
        self.cleans: Callable[[Log], bool] = lambda log: False
        self.fetch_sessions = FetchSessions(
            slots=config.max_incremental_fetch_session_cache_slots, randomness=ports.randomness
        )
        self.connections = Connections(
            config=lambda: self.config, descriptors=ports.most_connections, metrics=self.metrics
        )
        limit = config.queued_max_request_bytes
        # At least one request of the largest size must fit, or it could never be read.
        self.request_memory = RequestMemory(
            max(limit if limit > 0 else DEFAULT_LIMIT_BYTES, config.socket_request_max_bytes)
        )
        self.topics_on_demand = TopicsOnDemand(self)
        self.producer_ids = ProducerIds(self._allocate_producer_ids)
        self.groups = group_coordinator(self)
        self.marker_appends = marker_appends(self)
        self.other_brokers = other_brokers(self)
        self.transactions = transaction_coordinator(self)
        # Requests that come while the node starts wait for this.
        self.ready = asyncio.Event()
        self.metrics.gauge("tidelog_connections", "Open connections", lambda: len(self.connections))
        self.metrics.gauge(
            "tidelog_request_memory_bytes",
            "Memory of requests that are being received or answered",
            lambda: self.request_memory.used,
        )
        self.metrics.gauge(
            "tidelog_requests_waiting_for_memory",
            "Requests that are not read on until there is memory for them",
            lambda: len(self.request_memory.waiting),
        )
        self.metrics.gauge(
            "tidelog_quorum_leader_absent_seconds",
            "How long this node has known of no leader of the metadata quorum",
            lambda: self.control.leader_watch.absent_seconds,
        )
        self.metrics.gauge("tidelog_partitions", "Partitions on this broker", lambda: len(self.replicas))
        self.metrics.gauge(
            "tidelog_damaged_partitions",
            "Partitions of which something cannot be read because their files are damaged",
            lambda: len(self.replicas.damage.partitions),
        )
        self.metrics.gauge("tidelog_groups", "Groups that this broker coordinates", self.groups.group_count)
        self.metrics.gauge(
            "tidelog_transactional_ids",
            "Transactional ids that this broker coordinates",
            self.transactions.transactional_id_count,
        )
        self.metrics.gauge(
            "tidelog_fetch_sessions", "Fetch sessions that are remembered", lambda: len(self.fetch_sessions)
        )

    @property
    def broker_id(self) -> int:
        return self.config.node_id

    @property
    def broker_epoch(self) -> int:
        """Of this incarnation; -1 until it is registered."""
        return -1 if self.lifecycle is None else self.lifecycle.broker_epoch

    @property
    def controller_id(self) -> int:
        """Whom clients send administrative requests to: any broker, since all pass them on (KIP-590)."""
        return self.config.node_id

    @property
    def image(self) -> ClusterImage:
        return self.control.metadata.image

    def supported_features(self) -> Mapping[str, tuple[int, int]]:
        """Features this node can work with, as ranges of levels."""
        return SUPPORTED_FEATURES

    def settings_of(self, topic: str, image: ClusterImage | None = None) -> TopicSettings:
        """What the topic's own properties, and the broker's where it has none, come to."""
        return TopicSettings.of(
            self._topic_defaults.with_overrides((image or self.control.metadata.image).topic_config(topic)),
            producer_id_expiration_ms=self.config.producer_id_expiration_ms,
        )

    def reconfigure(self) -> None:
        """Take over the dynamic properties that the image holds."""
        image = self.control.metadata.image
        self.config = self.config.with_dynamic(
            cluster=image.cluster_config(), broker=image.broker_config(self.config.node_id)
        )
        self._topic_defaults = self.config.topic_defaults()
        self.replication.throttles.reconfigure(self.config)

    def follow_image(self, topics: Iterable[str]) -> None:
        """Bring the replicas of these topics in step with the image, and tell the controller where they are."""
        image = self.control.metadata.image
        names = list(topics)
        self.replicas.reconcile(image, self.settings_of, self.config.replica_lag_time_max_ms, names)
        self.replication.directories.compare(image, names)

    def _shortage(self, failure: StorageFailure) -> None:
        """Readers do not notice. Who writes gets an error that lets clients try again. Repeated lines are counted."""
        if isinstance(failure, DiskFull):
            self.metrics.disk_full()
            logger.error("%s; nothing can be written there until there is room again", failure)
        else:
            logger.warning("%s", failure)

    def _storage_failed(self) -> None:
        self.metrics.storage_failed()
        # The controller moves leaderships away from a failed directory as soon as it knows of it.
        if self.lifecycle is not None:
            self.lifecycle.beat_now()
        asyncio.get_running_loop().call_soon(self._compare_directories)

    def _compare_directories(self) -> None:
        image = self.control.metadata.image
        self.replication.directories.compare(image, image.topics)

    def prepare(self, image: ClusterImage, delta: ImageDelta) -> Later[None] | None:
        """Have a thread make the logs of new partitions, before anybody hears of them."""
        topics = dict.fromkeys(topic.name for topic in delta.topics_created)
        topics.update(dict.fromkeys(change.topic for change in delta.partitions if change.after is not None))
        wanted = self.replicas.missing(image, lambda topic: self.settings_of(topic, image), topics)
        return Later.run(self._make_logs(wanted)) if wanted else None

    async def _make_logs(self, wanted: MissingLogs) -> None:
        loop = asyncio.get_running_loop()
        for directory, logs in wanted:
            for start in range(0, len(logs), LOGS_PER_JOB):
                chunk = logs[start : start + LOGS_PER_JOB]
                job = loop.run_in_executor(None, directory.create_logs, chunk, self.clock.now_ms())
                try:
                    # A failure shows again when the logs are to be used, and is dealt with there.
                    with contextlib.suppress(StorageFailure, CorruptCheckpoint):
                        await asyncio.shield(job)
                except asyncio.CancelledError:
                    # The thread does not hear of it, and nobody must close the directory while it works there.
                    await asyncio.gather(job, return_exceptions=True)
                    raise

    def follow(self, image: ClusterImage, delta: ImageDelta) -> Later[None] | None:
        """Act on a new image: at once, or, where many topics come or go, in steps between which others are served."""
        if len(delta.topics_created) + len(delta.topics_deleted) > TOPICS_PER_STEP:
            return Later.run(self._follow_in_steps(image, delta))
        self.image_changed(image, delta)
        return None

    async def _follow_in_steps(self, image: ClusterImage, delta: ImageDelta) -> None:
        topics = list(self._begin_change(image, delta))
        for start in range(0, len(topics), TOPICS_PER_STEP):
            self.follow_image(topics[start : start + TOPICS_PER_STEP])
            await asyncio.sleep(0)
        self._end_change(delta)

    def image_changed(self, image: ClusterImage, delta: ImageDelta) -> None:
        """Act on a new image in one step."""
        self.follow_image(self._begin_change(image, delta))
        self._end_change(delta)

    def _begin_change(self, image: ClusterImage, delta: ImageDelta) -> Iterable[str]:
        """The topics whose replicas may have to change."""
        # In an order that does not differ from process to process, as that of a set of names would.
        topics = dict.fromkeys(topic.name for topic in (*delta.topics_created, *delta.topics_deleted))
        topics.update(dict.fromkeys(change.topic for change in delta.partitions))
        topics.update(dict.fromkeys(each.name for each in delta.configs if each.type == ResourceType.TOPIC))
        if any(resource.type == ResourceType.BROKER for resource in delta.configs):
            self.reconfigure()
            self.groups.reconfigure()
            # A broker property is the default of a topic property.
            topics.update(dict.fromkeys(image.topics))
        elif any(resource.type == ResourceType.GROUP for resource in delta.configs):
            self.groups.reconfigure()
        return topics

    def _end_change(self, delta: ImageDelta) -> None:
        if delta.brokers:
            self.replication.in_sync.reconsider(self.replicas)
        if delta.features:
            self.transactions.reconfigure()
        if delta.topics_created or delta.topics_deleted or any(change.before is None for change in delta.partitions):
            self.groups.topics_changed()
        deleted = [TopicPartition(topic.name, number) for topic in delta.topics_deleted for number in topic.partitions]
        if deleted:
            self.groups.partitions_deleted(deleted)

    async def _allocate_producer_ids(self) -> Block:
        request = AllocateProducerIdsRequest(broker_id=self.config.node_id, broker_epoch=self.broker_epoch)
        response = await self.controller.ask(request, AllocateProducerIdsResponse)
        if response.error_code:
            raise ApiError(ErrorCode(response.error_code), "the controller gives out no producer ids")
        return response.producer_id_start, response.producer_id_len
