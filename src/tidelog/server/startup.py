"""Starts and stops a node: directories, metadata, logs, listeners, registration.

The order matters. Listeners open before the broker registers, since a port of 0 is known only then; requests that
arrive in between wait. When the node stops, leadership is given up last of all, after every request has been answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig
from tidelog.consensus.transitions import QuorumInvariantBroken
from tidelog.controller.bootstrap import fresh_uuid
from tidelog.metadata.draft import BrokenMetadata
from tidelog.metadata.snapshot_file import CorruptSnapshot
from tidelog.model.errors import ApiError
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.network.port import AsyncioNetwork, Listening
from tidelog.network.request_memory import RequestMemory
from tidelog.network.system import SystemClock, SystemRandomness
from tidelog.records.batch import CorruptBatch
from tidelog.security.scram import ScramCredential, ScramMechanism
from tidelog.server.composition import compose_broker, compose_control
from tidelog.server.failures import NodeFailure, StartFailure
from tidelog.server.listening.listeners import Listeners
from tidelog.server.listening.security_sources import SecuritySources
from tidelog.server.loading import LogLoading
from tidelog.server.node import Node
from tidelog.server.observability.metrics import Metrics
from tidelog.server.opening import (
    directory_ids,
    metadata_directory,
    open_directories,
    previous_epoch,
    require_metadata,
)
from tidelog.server.ports import Ports
from tidelog.server.quorum.control_plane import ControlPlane
from tidelog.server.quorum.election_memory import DamagedQuorumState
from tidelog.server.replicas.strays import set_aside_duplicates, set_aside_strays
from tidelog.server.routing.router import Router
from tidelog.server.signals import asked_to_stop
from tidelog.server.wiring import broker_router, controller_router
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.local_filesystem import LocalFileSystem, raise_descriptor_limit, share_descriptors
from tidelog.storage.recovery.damage import DamagedLog, remedy_for
from tidelog.storage.segments.batch_scan import UnsupportedFormat

logger = logging.getLogger(__name__)

HAND_OVER_SECONDS = 30.0
# What the requests on a controller's listener may take together: brokers and voters are few and ask for little.
CONTROLLER_REQUEST_BYTES = 64 << 20


def system_ports() -> Ports:
    """The real world."""
    shares = share_descriptors()
    return Ports(
        clock=SystemClock(),
        randomness=SystemRandomness(),
        filesystem=LocalFileSystem(shares.files),
        network=AsyncioNetwork(),
        most_connections=shares.connections,
    )


class RunningNode:
    """A node from start to stop.

    `broker_gone` is called with the number and epoch of each broker that this node fences because its process is gone,
    while it is the active controller.
    """

    def __init__(
        self,
        config: BrokerConfig,
        ports: Ports | None = None,
        broker_gone: Callable[[int, int], None] = lambda broker_id, epoch: None,
    ) -> None:
        self._config = config
        self._ports = ports or system_ports()
        self._broker_gone = broker_gone
        self._listeners = Listeners(self._ports.network, config.socket_send_buffer_bytes)
        self._controller_listeners = Listeners(self._ports.network, config.socket_send_buffer_bytes)
        self._metrics_listening: Listening | None = None
        self._directories: list[LogDirectory] = []
        self._node: Node | None = None
        self._control: ControlPlane | None = None
        self._metrics = Metrics()
        self._controller_router: Router | None = None
        # Of a node that is not a broker: its dynamic properties, and its configuration with them.
        self._dynamic: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
        self._altered = config
        # Set when the node cannot continue, and why. Its owner should stop it then.
        self.failed = asyncio.Event()
        self.failure: BaseException | None = None

    @property
    def node(self) -> Node:
        assert self._node is not None, "the node has not been started"
        return self._node

    @property
    def is_broker(self) -> bool:
        return self._config.is_broker

    @property
    def broker_epoch(self) -> int:
        """Of this incarnation; -1 until it is registered."""
        return -1 if self._node is None else self._node.broker_epoch

    @property
    def is_active_controller(self) -> bool:
        """Whether this node decides for the cluster now."""
        return self._control is not None and self._control.controller is not None and self._control.controller.is_active

    @property
    def knows_its_past(self) -> bool:
        """Whether this node votes: not while its disk is new and it has not caught up with the other controllers."""
        return self._control is not None and not self._control.quorum.replica.is_forgetful

    @property
    def metadata_progress(self) -> tuple[int, int]:
        """The end of its metadata log, and how much of that is committed and part of its image."""
        return (0, 0) if self._control is None else self._control.quorum.progress

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where clients connect to."""
        return [(endpoint.host, endpoint.port) for endpoint in self._listeners.endpoints(self._config)]

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        listening = self._metrics_listening
        return None if listening is None else (listening.host, listening.port)

    # -- beginning -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Raises StartFailure, DirectoryInUse, StorageFailure or OSError; then nothing is left open.

        A cancelled start ends cleanly, however far it has come.
        """
        try:
            await self._start()
        except asyncio.CancelledError:
            await self.stop()
            raise
        except Exception:
            # Not for what ends the whole process at once, where nothing can be closed cleanly.
            await self.abandon()
            raise

    async def _start(self) -> None:
        config = self._config
        for name in config.properties_without_effect:
            logger.warning("%s has no effect: %s", name, BROKER_DEFINITIONS[name].ignored_because)
        self._directories = open_directories(config, self._ports)
        control = self._control = self._open_control()
        await self._listen_for_controllers(control)
        await control.start()
        if config.is_broker:
            await self._start_broker(control)
        if config.tidelog_metrics_port >= 0:
            from tidelog.server.observability.metrics_endpoint import serve_metrics

            self._metrics_listening = await serve_metrics(
                self._ports.network, self._metrics, config.tidelog_metrics_host, config.tidelog_metrics_port
            )
        if self._node is not None:
            self._node.ready.set()

    async def _start_broker(self, control: ControlPlane) -> None:
        config = self._config
        node = self._node = compose_broker(config, self._ports, self._directories, control, self._metrics)
        sources = self._security_sources(control, node.ready)
        await self._listeners.open(config.broker_listeners, broker_router(node), node.request_memory, sources)
        await self._register(node)
        await self._load(node)
        await node.lifecycle.unfence()
        node.lifecycle.start_heartbeats()
        node.housekeeping.start()

    def _open_control(self) -> ControlPlane:
        config = self._config
        directory = metadata_directory(config, self._directories)
        try:
            require_metadata(config, self._directories)
            return compose_control(
                config, self._ports, directory, failed=self._metadata_failed, broker_gone=self._broker_gone
            )
        except (
            CorruptSnapshot,
            CorruptBatch,
            CorruptCheckpoint,
            BrokenMetadata,
            DamagedLog,
            DamagedQuorumState,
            QuorumInvariantBroken,
            UnsupportedFormat,
        ) as problem:
            remedy = remedy_for(CLUSTER_METADATA_TOPIC, voters=len(config.controller_quorum_voters))
            raise StartFailure(f"the cluster's metadata in {directory.path} cannot be used: {problem}; {remedy}") from (
                problem
            )

    async def _listen_for_controllers(self, control: ControlPlane) -> None:
        if control.controller is None:
            return
        router = self._controller_router = controller_router(self._config, self._ports, control, self._metrics)
        memory = RequestMemory(CONTROLLER_REQUEST_BYTES)
        sources = self._security_sources(control, None)
        await self._controller_listeners.open(self._config.controller_listeners, router, memory, sources)

    def _security_sources(self, control: ControlPlane, ready: asyncio.Event | None) -> SecuritySources:
        def credential(mechanism: ScramMechanism, user: str) -> ScramCredential | None:
            return control.metadata.image.scram_credentials.get((mechanism, user))

        return SecuritySources(
            config=self._current_config,
            credentials=credential,
            clock=self._ports.clock,
            randomness=self._ports.randomness,
            metrics=self._metrics,
            ready=ready,
        )

    def _current_config(self) -> BrokerConfig:
        """The same object until something changes."""
        if self._node is not None:
            return self._node.live.config
        image = None if self._control is None else self._control.metadata.image
        if image is not None:
            cluster, own = image.cluster_config(), image.broker_config(self._config.node_id)
            if (cluster, own) != self._dynamic:
                self._dynamic = (cluster, own)
                self._altered = self._config.with_dynamic(cluster=cluster, broker=own)
        return self._altered

    async def _register(self, node: Node) -> None:
        """Afterwards the image holds everything up to this broker's own registration: enough to open its logs with."""
        try:
            await node.lifecycle.register(
                fresh_uuid(self._ports.randomness.random_bytes(16)),
                self._listeners.endpoints(self._config),
                directory_ids(self._directories),
                previous_epoch(self._directories),
            )
        except ApiError as refusal:
            raise StartFailure(f"the controller refused this broker: {refusal}") from refusal

    async def _load(self, node: Node) -> None:
        """Open the logs, and follow the image from then on."""
        follower, replicas = node.image_follower, node.replicas
        follower.reconfigure()
        follower.follow_quotas()
        loading = LogLoading(
            replicas=replicas,
            live=node.live,
            image=lambda: node.image,
            clock=self._ports.clock,
            metadata_directory=metadata_directory(self._config, self._directories),
        )
        interrupted_moves = await loading.load()
        set_aside_strays(replicas, node.image)
        set_aside_duplicates(replicas, node.image)
        node.control.metadata.publisher.begin(follower)
        follower.follow_topics(node.image.topics)
        node.replication.start()
        for moving, directory in interrupted_moves:
            replica = replicas.get(*moving)
            if replica is not None and not replica.offline and directory.failure is None:
                node.moves.begin(replica, directory)

    def _metadata_failed(self, failure: BaseException) -> None:
        """A node that can no longer follow the cluster must not pretend to belong to it: its heartbeats end, so that
        others take over, and its owner is notified."""
        if self._node is not None:
            self._node.lifecycle.end_heartbeats()
        self.failure = failure
        self.failed.set()

    # -- ending --------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Stop cleanly: hand over, answer pending requests, close the logs, leave the mark of a clean shutdown.

        Whatever a cancelled start has not reached is left out.
        """
        broker_epoch = -1
        if self._node is not None:
            await self._stop_broker(self._node)
            broker_epoch = self._node.broker_epoch
        if self._metrics_listening is not None:
            self._metrics_listening.close()
        if self._control is not None:
            await self._control.stop()
        self._close_controller_listeners()
        loop = asyncio.get_running_loop()
        for directory in self._directories:
            closing = partial(directory.close, self._ports.clock.now_ms(), broker_epoch=broker_epoch)
            await loop.run_in_executor(None, closing)
        self._directories = []

    async def _stop_broker(self, node: Node) -> None:
        if node.lifecycle.registered:
            await node.lifecycle.hand_over(HAND_OVER_SECONDS)
            await node.lifecycle.stop()
        self._listeners.close()
        # Readers that wait for data would otherwise delay the shutdown.
        for replica in node.replicas:
            replica.wake_readers()
        # So would members that wait for a rebalance to end.
        _close_coordinators(node)
        if node.ready.is_set():
            await node.connections.close_all()
        else:
            # Nothing has been answered, and nothing will be.
            node.connections.drop_all()
        await node.moves.stop()
        await node.replication.stop()
        await node.housekeeping.stop()

    async def abandon(self) -> None:
        """Release everything at once, as a crash would: nothing is flushed, nobody is notified."""
        self._close_controller_listeners()
        self._listeners.close()
        if self._metrics_listening is not None:
            self._metrics_listening.close()
        node = self._node
        if node is not None:
            node.connections.drop_all()
            await node.lifecycle.stop()
            _close_coordinators(node)
            await node.moves.stop()
            await node.replication.stop()
        if self._control is not None:
            await self._control.abandon()
        if node is not None:
            await node.housekeeping.stop()
        for directory in self._directories:
            directory.abandon()
        self._directories = []

    def _close_controller_listeners(self) -> None:
        if self._controller_router is not None:
            self._controller_router.connections.drop_all()
        self._controller_listeners.close()


def _close_coordinators(node: Node) -> None:
    node.groups.close()
    node.transactions.close()
    node.topics_on_demand.close()


async def serve(config: BrokerConfig, announce: Callable[[RunningNode], None], *, lifeline: int | None = None) -> None:
    """Run a node until SIGINT, SIGTERM or the end of the lifeline. Raises NodeFailure if it fails before that."""
    # Before anything is opened: whatever is open is then closed cleanly.
    with asked_to_stop(lifeline) as stop:
        running = RunningNode(config)
        if not await start_unless(stop, running):
            logger.info("stopped before the start was complete")
            return
        announce(running)
        await until_its_end(stop, running)
        if running.failure is not None:
            await running.abandon()
            raise NodeFailure(f"the node cannot follow the cluster's metadata: {running.failure}") from running.failure
        await running.stop()
        logger.info("stopped")


async def start_unless(stop: asyncio.Event, running: RunningNode) -> bool:
    """Start; False if `stop` is set before that is done, and then everything has been closed cleanly.

    Raises what `RunningNode.start` raises.
    """
    starting = asyncio.create_task(running.start())
    if not await _comes_first(stop, starting):
        await starting
        return True
    starting.cancel()
    # It may have failed, or even have finished, in this very moment.
    with contextlib.suppress(asyncio.CancelledError):
        await starting
        await running.stop()
    return False


async def until_its_end(stop: asyncio.Event, running: RunningNode) -> None:
    """Wait until it is stopped or has failed."""
    failing = asyncio.create_task(running.failed.wait())
    await _comes_first(stop, failing)
    failing.cancel()


async def _comes_first(stop: asyncio.Event, other: asyncio.Task[Any]) -> bool:
    """Wait for either; whether the other one is not done yet."""
    asked = asyncio.create_task(stop.wait())
    await asyncio.wait([asked, other], return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    return not other.done()


def run(properties: Mapping[str, str], announce: Callable[[RunningNode], None], *, lifeline: int | None = None) -> None:
    """Like `serve`, for a process of its own: on uvloop, until a signal arrives. Raises InvalidConfig as well."""
    import uvloop

    raise_descriptor_limit()
    uvloop.run(serve(BrokerConfig.from_properties(properties), announce, lifeline=lifeline))
