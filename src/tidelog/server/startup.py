"""Brings a node to life and ends it: directories, metadata, logs, listeners, registration.

The order matters. Listeners open before the broker registers, since a port of 0 is known only then; requests that
arrive in between wait. At the end leadership is given up last of all, after every request has been answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig
from tidelog.config.listeners import Listener
from tidelog.consensus.transitions import QuorumInvariantBroken
from tidelog.controller.bootstrap import fresh_uuid
from tidelog.metadata.draft import BrokenMetadata
from tidelog.metadata.image import Endpoint
from tidelog.metadata.snapshot_file import CorruptSnapshot
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition, Uuid, format_uuid
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.network.frame_receiver import StagingArea
from tidelog.network.port import AsyncioNetwork, Listening
from tidelog.network.request_memory import RequestMemory
from tidelog.network.server_connection import ServerConnection
from tidelog.records.batch import CorruptBatch
from tidelog.server.api.catalogue import BY_KEY
from tidelog.server.node import Node
from tidelog.server.observability.metrics import Metrics
from tidelog.server.observability.metrics_endpoint import serve_metrics
from tidelog.server.ports import Ports
from tidelog.server.quorum.control_plane import ControlPlane
from tidelog.server.quorum.lifecycle import BrokerLifecycle
from tidelog.server.quorum.quorum_log import METADATA_PARTITION
from tidelog.server.quorum.runtime import DamagedQuorumState
from tidelog.server.routing.router import Router
from tidelog.server.signals import asked_to_stop
from tidelog.server.system import SystemClock, SystemRandomness
from tidelog.server.upkeep.housekeeping import Housekeeping
from tidelog.server.wiring import broker_router, controller_router
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.directories.log_directory import LoadReport, LogDirectory
from tidelog.storage.directories.meta_properties import MetaProperties
from tidelog.storage.files.file_names import META_PROPERTIES, partition_directory
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.files.local_filesystem import LocalFileSystem, raise_descriptor_limit, share_descriptors
from tidelog.storage.log.config import LogConfig
from tidelog.storage.recovery.damage import DamagedLog, remedy_for
from tidelog.storage.recovery.load_request import RecoveryProgress
from tidelog.storage.segments.batch_scan import UnsupportedFormat

logger = logging.getLogger(__name__)

HAND_OVER_SECONDS = 30.0
# What the requests on a controller's listener may take together: brokers and voters are few and ask for little.
CONTROLLER_REQUEST_BYTES = 64 << 20


class StartFailure(Exception):
    """Why a node cannot start, in words for the person who starts it."""


class NodeFailure(Exception):
    """Why a node that was running cannot go on."""


class _NotWanted(Exception):
    """The start was cancelled while its logs are being loaded."""


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
    """A node from start to stop."""

    def __init__(self, config: BrokerConfig, ports: Ports | None = None) -> None:
        self._config = config
        self._ports = ports or system_ports()
        self._listening: list[tuple[Listener, Listening]] = []
        self._metrics_listening: Listening | None = None
        self._directories: list[LogDirectory] = []
        # What was being moved where when the last run ended.
        self._interrupted_moves: list[tuple[TopicPartition, LogDirectory]] = []
        self._housekeeping: Housekeeping | None = None
        self._node: Node | None = None
        self._control: ControlPlane | None = None
        self._metrics = Metrics()
        self._controller_router: Router | None = None
        self._controller_listening: list[Listening] = []
        self._unwanted = threading.Event()
        # Told of each broker, by number and epoch, that this node fences as gone while it is the active controller.
        self.on_broker_gone: Callable[[int, int], None] = lambda broker_id, epoch: None
        # Set when the node cannot go on, and why. Somebody should stop it then.
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
        """Of this incarnation; -1 as long as it is not registered."""
        return -1 if self._node is None else self._node.broker_epoch

    @property
    def is_active_controller(self) -> bool:
        """Whether this node decides for the cluster now."""
        return self._control is not None and self._control.controller is not None and self._control.controller.is_active

    @property
    def knows_its_past(self) -> bool:
        """Whether this node votes: not while its disk is new and it has not caught up with the other controllers."""
        return self._control is not None and not self._control.quorum.is_forgetful

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where clients connect to."""
        return [(endpoint.host, endpoint.port) for endpoint in self._endpoints()]

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        listening = self._metrics_listening
        return None if listening is None else (listening.host, listening.port)

    async def start(self) -> None:
        """Raises StartFailure, DirectoryInUse, StorageFailure or OSError; then nothing is left open.

        A start that is cancelled ends in order, however far it has come.
        """
        try:
            await self._start()
        except asyncio.CancelledError:
            await self.stop()
            raise
        except Exception:
            # Not for what ends the whole process at once, where nothing is left to be closed in order.
            await self.abandon()
            raise

    async def _start(self) -> None:
        config, ports = self._config, self._ports
        for name in config.properties_without_effect:
            logger.warning("%s has no effect: %s", name, BROKER_DEFINITIONS[name].ignored_because)
        self._directories = _open_directories(config, ports)
        metadata_directory = self._metadata_directory()
        control = self._control_plane(metadata_directory)
        self._control = control
        control.quorum.on_failure = self._metadata_failed
        if control.controller is not None:
            control.controller.absent_brokers.on_gone = self.on_broker_gone
        await self._listen_for_controllers(control)
        await control.start()
        if not config.is_broker:
            return
        node = Node(config=config, ports=ports, directories=self._directories, control=control, metrics=self._metrics)
        self._node = node
        await self._listen(node)
        lifecycle = BrokerLifecycle(
            config=config,
            channel=control.channel,
            metadata=control.metadata,
            incarnation_id=fresh_uuid(ports.randomness.random_bytes(16)),
            features=node.supported_features(),
            offline_directories=lambda: _directory_ids(
                directory for directory in self._directories if directory.failure is not None
            ),
        )
        try:
            await lifecycle.register(self._endpoints(), _directory_ids(self._directories), self._previous_epoch())
        except ApiError as refusal:
            raise StartFailure(f"the controller refuses this broker: {refusal}") from refusal
        node.lifecycle = lifecycle
        # The image now holds everything up to this broker's own registration: enough to open its logs with.
        node.reconfigure()
        await self._load(node)
        node.replicas.set_aside_strays(node.image)
        node.replicas.set_aside_duplicates(node.image)
        control.metadata.publisher.prepare = node.prepare
        control.metadata.publisher.publish = node.follow
        node.follow_image(node.image.topics)
        node.replication.start()
        for moving, directory in self._interrupted_moves:
            replica = node.replicas.get(*moving)
            if replica is not None and not replica.offline and directory.failure is None:
                node.moves.begin(replica, directory)
        await lifecycle.unfence()
        lifecycle.start_heartbeats()
        control.on_controller = lifecycle.beat_now
        self._housekeeping = Housekeeping(node)
        self._housekeeping.start()
        if config.tidelog_metrics_port >= 0:
            self._metrics_listening = await serve_metrics(
                ports.network, node.metrics, config.tidelog_metrics_host, config.tidelog_metrics_port
            )
        node.ready.set()

    async def stop(self) -> None:
        """End in order: hand over, answer what was asked, close the logs, leave the mark of a clean shutdown.

        Whatever a cancelled start has not come to is left out.
        """
        if self._node is None:
            await self._end_control()
            await self._close_directories(-1)
            return
        lifecycle = self._node.lifecycle
        if lifecycle is not None:
            await lifecycle.hand_over(HAND_OVER_SECONDS)
            await lifecycle.stop()
        for _, listening in self._listening:
            listening.close()
        if self._metrics_listening is not None:
            self._metrics_listening.close()
        node = self.node
        # Readers that wait for data would otherwise hold up the end.
        for replica in node.replicas:
            replica.wake_readers()
        # So would members that wait for a rebalance to end.
        node.groups.close()
        node.transactions.close()
        node.topics_on_demand.close()
        if node.ready.is_set():
            await node.connections.close_all()
        else:
            # Nothing has been answered, and nothing will be.
            node.connections.drop_all()
        await node.moves.stop()
        await node.replication.stop()
        if self._housekeeping is not None:
            await self._housekeeping.stop()
        broker_epoch = node.broker_epoch
        await self._end_control()
        await self._close_directories(broker_epoch)

    async def _close_directories(self, broker_epoch: int) -> None:
        loop = asyncio.get_running_loop()
        for directory in self._directories:
            await loop.run_in_executor(
                None, partial(directory.close, self._ports.clock.now_ms(), broker_epoch=broker_epoch)
            )
        self._directories = []

    async def _end_control(self) -> None:
        if self._control is not None:
            await self._control.stop()
        if self._controller_router is not None:
            self._controller_router.connections.drop_all()
        for listening in self._controller_listening:
            listening.close()

    async def abandon(self) -> None:
        """Let go of everything at once, as a crash would: nothing is flushed, nobody is told."""
        for listening in (*self._controller_listening, *(each for _, each in self._listening)):
            listening.close()
        if self._controller_router is not None:
            self._controller_router.connections.drop_all()
        if self._node is not None:
            self._node.connections.drop_all()
            if self._node.lifecycle is not None:
                await self._node.lifecycle.stop()
            self._node.groups.close()
            self._node.transactions.close()
            self._node.topics_on_demand.close()
            await self._node.moves.stop()
            await self._node.replication.stop()
        if self._control is not None:
            await self._control.abandon()
        if self._metrics_listening is not None:
            self._metrics_listening.close()
        if self._housekeeping is not None:
            await self._housekeeping.stop()
        for directory in self._directories:
            directory.abandon()
        self._directories = []

    def _control_plane(self, directory: LogDirectory) -> ControlPlane:
        try:
            self._require_metadata(directory)
            return ControlPlane(self._config, self._ports, directory, BY_KEY)
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
            remedy = remedy_for(CLUSTER_METADATA_TOPIC, voters=len(self._config.controller_quorum_voters))
            raise StartFailure(f"the cluster's metadata in {directory.path} cannot be used: {problem}; {remedy}") from (
                problem
            )

    def _require_metadata(self, metadata_directory: LogDirectory) -> None:
        """A lone controller that has lost its metadata would take all partitions for strays. Raises DamagedLog."""
        if len(self._config.controller_quorum_voters) > 1:
            return
        for directory in self._directories:
            if directory.failure is None and directory.holds_topics and not metadata_directory.holds_metadata:
                path = f"{metadata_directory.path}/{partition_directory(METADATA_PARTITION)}"
                raise DamagedLog(path, f"it is missing, but {directory.path} holds the partitions of topics")

    def _metadata_failed(self, failure: BaseException) -> None:
        """A node that hears nothing of the cluster must not pretend to belong to it: its heartbeats end, so that others
        take over, and whoever runs it is told."""
        if self._node is not None and self._node.lifecycle is not None:
            self._node.lifecycle.end_heartbeats()
        self.failure = failure
        self.failed.set()

    def _previous_epoch(self) -> int:
        """The broker's epoch in the last run, if that has closed all logs in order; else -1."""
        epochs = {directory.clean_broker_epoch for directory in self._directories}
        (epoch,) = epochs if len(epochs) == 1 else (None,)
        return -1 if epoch is None else epoch

    def _metadata_directory(self) -> LogDirectory:
        for directory in self._directories:
            if directory.path == self._config.metadata_log_dir:
                return directory
        return self._directories[0]

    async def _load(self, node: Node) -> None:
        loading = asyncio.get_running_loop().run_in_executor(None, self._load_logs, node)
        try:
            await asyncio.shield(loading)
        except asyncio.CancelledError:
            # The thread does not notice, and nobody must close the directories while it works there.
            self._unwanted.set()
            await asyncio.gather(loading, return_exceptions=True)
            raise

    def _load_logs(self, node: Node) -> None:
        def config_of(topic: str) -> LogConfig:
            self._check_wanted()
            return node.settings_of(topic).log

        def tell(progress: RecoveryProgress) -> None:
            self._check_wanted()
            logger.info("recovering: %s", progress)

        reports: dict[LogDirectory, LoadReport] = {}
        for directory in self._directories:
            if directory.failure is not None:
                continue
            try:
                report = directory.load(config_of, self._ports.clock.now_ms(), tell)
            except StorageFailure as failure:
                if directory is self._metadata_directory():
                    raise
                logger.error("going on without the log directory %s: %s", directory.path, failure)
                continue
            node.replicas.removals.extend(report.removals)
            reports[directory] = report
            self._interrupted_moves.extend((each, directory) for each in report.moving)
        now_ms = self._ports.clock.now_ms()
        for topic_partition, topic_id in node.replicas.damage.settle(node.image, reports, config_of, now_ms).items():
            node.replicas.set_unusable(topic_partition, topic_id)

    def _check_wanted(self) -> None:
        """Between two logs, and now and then in a long recovery: the next start goes on where this one stops."""
        if self._unwanted.is_set():
            raise _NotWanted

    async def _listen_for_controllers(self, control: ControlPlane) -> None:
        if control.controller is None or control.answers is None:
            return
        router = controller_router(
            config=self._config,
            ports=self._ports,
            quorum=control.quorum,
            metadata=control.metadata,
            controller=control.controller,
            answers=control.answers,
            metrics=self._metrics,
        )
        self._controller_router = router
        staging, memory = StagingArea(), RequestMemory(CONTROLLER_REQUEST_BYTES)
        for listener in self._config.controller_listeners:
            factory = partial(ServerConnection, router, staging, memory, router.frame_limit, listener.name)
            self._controller_listening.append(await self._open(factory, listener))

    async def _open(self, factory: Callable[[], ServerConnection], listener: Listener) -> Listening:
        try:
            return await self._ports.network.listen(factory, listener.host, listener.port)
        except OSError as error:
            raise StartFailure(
                f"cannot listen on {listener.host or '*'}:{listener.port}: {_reason(error)}; "
                "is another broker running there? Choose another port with --port or in listeners="
            ) from error

    async def _listen(self, node: Node) -> None:
        router = broker_router(node)
        staging = StagingArea()
        for listener in self._config.broker_listeners:
            factory = partial(ServerConnection, router, staging, node.request_memory, router.frame_limit, listener.name)
            self._listening.append((listener, await self._open(factory, listener)))

    def _endpoints(self) -> list[Endpoint]:
        """The advertised addresses; a port of 0 becomes the one that the system chose."""
        chosen = {listener.name: listening for listener, listening in self._listening}
        endpoints = []
        for advertised in self._config.advertised_listeners:
            listening = chosen.get(advertised.name)
            port = listening.port if listening is not None and advertised.port == 0 else advertised.port
            host = advertised.host or (listening.host if listening is not None else "localhost")
            endpoints.append(
                Endpoint(listener=advertised.name, host=host, port=port, security_protocol=advertised.protocol)
            )
        return endpoints


def _open_directories(config: BrokerConfig, ports: Ports) -> list[LogDirectory]:
    """Lock all directories and see that they belong to this node and to one cluster; format those that are new."""
    directories: list[LogDirectory] = []
    paths = list(dict.fromkeys([*config.log_dirs, config.metadata_log_dir]))
    try:
        for path in paths:
            directories.append(_open_directory(path, ports, required=path == config.metadata_log_dir))
        cluster_ids = {directory.meta.cluster_id for directory in directories if directory.meta is not None}
        if len(cluster_ids) > 1:
            raise StartFailure(f"the log directories {', '.join(paths)} belong to different clusters: {cluster_ids}")
        if not cluster_ids and len(config.controller_quorum_voters) > 1:
            # Each node would make up a cluster id of its own, and then refuse to talk to the others.
            raise StartFailure(
                f"{', '.join(paths)} is not formatted, and controller.quorum.voters names several nodes, which must "
                "agree on a cluster id; run `tidelog format --config FILE --cluster-id ID` with the same id for each"
            )
        cluster_id = cluster_ids.pop() if cluster_ids else format_uuid(fresh_uuid(ports.randomness.random_bytes(16)))
        for directory in directories:
            if directory.failure is not None:
                continue
            if directory.meta is None:
                if directory.holds_topics or directory.holds_metadata:
                    raise StartFailure(
                        f"{directory.path}/{META_PROPERTIES} is missing, but the directory holds partitions; restore "
                        "the file from a copy, or run `tidelog format` with the cluster id and node.id that it had"
                    )
                directory.format(
                    MetaProperties(
                        cluster_id=cluster_id,
                        node_id=config.node_id,
                        directory_id=Uuid(ports.randomness.random_bytes(16)),
                    )
                )
            elif directory.meta.node_id != config.node_id:
                raise StartFailure(
                    f"{directory.path} belongs to node {directory.meta.node_id}, but node.id={config.node_id}; "
                    "use the node.id it was made with, or another directory"
                )
    except BaseException:
        for directory in directories:
            directory.abandon()
        raise
    return directories


def _open_directory(path: str, ports: Ports, *, required: bool) -> LogDirectory:
    """A directory that cannot be opened is offline, as if it failed later; but nothing works without the metadata."""
    try:
        return LogDirectory.open(path, ports.filesystem, ports.randomness)
    except CorruptCheckpoint as problem:
        raise StartFailure(f"the log directory {path} cannot be used: {problem}") from problem
    except OSError as error:
        if required:
            raise StartFailure(f"cannot use the log directory {path}: {_reason(error)}") from error
        logger.error("going on without the log directory %s: %s", path, _reason(error))
        return LogDirectory.offline(path, ports.filesystem, ports.randomness, error)


def _directory_ids(directories: Iterable[LogDirectory]) -> list[Uuid]:
    """Of those that have one; it is in a file that an offline directory may not give away."""
    return [directory.meta.directory_id or Uuid(bytes(16)) for directory in directories if directory.meta is not None]


async def serve(config: BrokerConfig, announce: Callable[[RunningNode], None]) -> None:
    """Run a node until SIGINT or SIGTERM. Raises NodeFailure if it cannot go on before that."""
    # Before anything is opened: whatever is open is closed in order.
    with asked_to_stop() as stop:
        running = RunningNode(config)
        if not await start_unless(stop, running):
            logger.info("stopped before the start was complete")
            return
        announce(running)
        failing = asyncio.create_task(running.failed.wait())
        await _comes_first(stop, failing)
        failing.cancel()
        if running.failure is not None:
            await running.abandon()
            raise NodeFailure(f"the node cannot follow the cluster's metadata: {running.failure}") from running.failure
        await running.stop()
        logger.info("stopped")


async def start_unless(stop: asyncio.Event, running: RunningNode) -> bool:
    """Start; False if `stop` comes before that is done, and then everything has been closed in order.

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


async def _comes_first(stop: asyncio.Event, other: asyncio.Task[Any]) -> bool:
    """Wait for either; whether the other one is not done yet."""
    asked = asyncio.create_task(stop.wait())
    await asyncio.wait([asked, other], return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    return not other.done()


def run(properties: Mapping[str, str], announce: Callable[[RunningNode], None]) -> None:
    """Like `serve`, for a process of its own: on uvloop, until a signal comes. Raises InvalidConfig as well."""
    import uvloop

    raise_descriptor_limit()
    uvloop.run(serve(BrokerConfig.from_properties(properties), announce))


def _reason(error: OSError) -> str:
    """Event loops put sentences of their own into the text; the system's is shorter and known to everybody."""
    return os.strerror(error.errno) if error.errno else str(error)
