"""Brings a node to life and ends it: directories, metadata, logs, listeners, registration.

The order matters. Listeners open before the broker registers, since a port of 0 is known only then; requests that
arrive in between wait. At the end leadership is given up last of all, after every request has been answered.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Mapping
from functools import partial

from tidelog.config.broker import BrokerConfig
from tidelog.config.listeners import Listener
from tidelog.metadata.image import ClusterImage, Endpoint
from tidelog.metadata.replay import apply
from tidelog.model.ids import Uuid, format_uuid
from tidelog.network.frame_receiver import StagingArea
from tidelog.network.port import AsyncioNetwork, Listening
from tidelog.network.server_connection import ServerConnection
from tidelog.server.housekeeping import Housekeeping
from tidelog.server.metadata_log import MetadataLog
from tidelog.server.metrics_endpoint import serve_metrics
from tidelog.server.node import Node, Ports
from tidelog.server.registration import register
from tidelog.server.router import Router
from tidelog.server.system import SystemClock, SystemRandomness
from tidelog.storage.local_filesystem import LocalFileSystem, raise_descriptor_limit
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_directory import LogDirectory
from tidelog.storage.meta_properties import MetaProperties
from tidelog.storage.recovery import RecoveryProgress

logger = logging.getLogger(__name__)


class StartFailure(Exception):
    """Why a node cannot start, in words for the person who starts it."""


def system_ports() -> Ports:
    """The real world."""
    return Ports(
        clock=SystemClock(), randomness=SystemRandomness(), filesystem=LocalFileSystem(), network=AsyncioNetwork()
    )


class RunningNode:
    """A node from start to stop."""

    def __init__(self, config: BrokerConfig, ports: Ports | None = None) -> None:
        self._config = config
        self._ports = ports or system_ports()
        self._listening: list[tuple[Listener, Listening]] = []
        self._metrics_listening: Listening | None = None
        self._directories: list[LogDirectory] = []
        self._housekeeping: Housekeeping | None = None
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        assert self._node is not None, "the node has not been started"
        return self._node

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where clients connect to."""
        return [(endpoint.host, endpoint.port) for endpoint in self._endpoints()]

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        listening = self._metrics_listening
        return None if listening is None else (listening.host, listening.port)

    async def start(self) -> None:
        """Raises StartFailure, DirectoryInUse, StorageFailure or OSError; then nothing is left open."""
        try:
            await self._start()
        except BaseException:
            await self._abandon()
            raise

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        config, ports = self._config, self._ports
        for name in config.properties_without_effect:
            logger.warning("%s has no effect here", name)
        self._directories = _open_directories(config, ports)
        metadata_directory = self._metadata_directory()
        metadata_log = MetadataLog.open(metadata_directory, config.node_id, ports.clock)
        image = _read_image(metadata_log, _cluster_id(metadata_directory))
        node = Node(config=config, ports=ports, directories=self._directories, metadata_log=metadata_log, image=image)
        self._node = node
        node.reconfigure()
        await loop.run_in_executor(None, self._load_logs, node)
        node.replicas.set_aside_strays(image)
        await self._listen(node)
        await metadata_log.begin_epoch()
        await register(node, self._endpoints(), [_directory_id(directory) for directory in self._directories])
        node.follow_image(node.image.topics)
        self._housekeeping = Housekeeping(node)
        self._housekeeping.start()
        if config.tidelog_metrics_port >= 0:
            self._metrics_listening = await serve_metrics(
                ports.network, node.metrics, config.tidelog_metrics_host, config.tidelog_metrics_port
            )
        node.ready.set()

    async def stop(self) -> None:
        """End in order: answer what was asked, close the logs, leave the mark of a clean shutdown."""
        for _, listening in self._listening:
            listening.close()
        if self._metrics_listening is not None:
            self._metrics_listening.close()
        node = self.node
        # Readers that wait for data would otherwise hold up the end.
        for replica in node.replicas:
            for waiting in list(replica.fetch_waits):
                waiting.wake()
        # So would members that wait for a rebalance to end.
        node.groups.close()
        node.transactions.close()
        await node.connections.close_all()
        if self._housekeeping is not None:
            await self._housekeeping.stop()
        loop = asyncio.get_running_loop()
        for directory in self._directories:
            await loop.run_in_executor(None, directory.close, self._ports.clock.now_ms(), node.broker_epoch)
        self._directories = []

    async def _abandon(self) -> None:
        for _, listening in self._listening:
            listening.close()
        if self._metrics_listening is not None:
            self._metrics_listening.close()
        if self._housekeeping is not None:
            await self._housekeeping.stop()
        for directory in self._directories:
            directory.abandon()
        self._directories = []

    def _metadata_directory(self) -> LogDirectory:
        for directory in self._directories:
            if directory.path == self._config.metadata_log_dir:
                return directory
        return self._directories[0]

    def _load_logs(self, node: Node) -> None:
        def config_of(topic: str) -> LogConfig:
            return node.settings_of(topic).log

        for directory in self._directories:
            report = directory.load(config_of, self._ports.clock.now_ms(), _tell_progress)
            node.replicas.removals.extend(report.removals)

    async def _listen(self, node: Node) -> None:
        router = Router(node, node.connections, node.metrics)
        staging = StagingArea()
        for listener in self._config.broker_listeners:
            try:
                listening = await self._ports.network.listen(
                    partial(ServerConnection, router, staging, router.frame_limit, listener.name),
                    listener.host,
                    listener.port,
                )
            except OSError as error:
                raise StartFailure(
                    f"cannot listen on {listener.host or '*'}:{listener.port}: {error.strerror or error}; "
                    "is another broker running there? Choose another port with --port or in listeners="
                ) from error
            self._listening.append((listener, listening))

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
            directories.append(LogDirectory.open(path, ports.filesystem, ports.randomness))
        cluster_ids = {directory.meta.cluster_id for directory in directories if directory.meta is not None}
        if len(cluster_ids) > 1:
            raise StartFailure(f"the log directories {', '.join(paths)} belong to different clusters: {cluster_ids}")
        cluster_id = cluster_ids.pop() if cluster_ids else format_uuid(ports.randomness.random_bytes(16))
        for directory in directories:
            if directory.meta is None:
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


def _cluster_id(directory: LogDirectory) -> str:
    assert directory.meta is not None
    return directory.meta.cluster_id


def _directory_id(directory: LogDirectory) -> Uuid:
    assert directory.meta is not None
    return directory.meta.directory_id or Uuid(bytes(16))


def _read_image(log: MetadataLog, cluster_id: str) -> ClusterImage:
    image = ClusterImage(cluster_id=cluster_id)
    for last_offset, records in log.read():
        image, _ = apply(image, records, offset=last_offset)
    return image


def _tell_progress(progress: RecoveryProgress) -> None:
    logger.info("recovering: %s", progress)


async def serve(config: BrokerConfig, announce: Callable[[RunningNode], None]) -> None:
    """Run a node until SIGINT or SIGTERM."""
    running = RunningNode(config)
    await running.start()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    announce(running)
    await stop.wait()
    logger.info("stopping")
    await running.stop()


def run(properties: Mapping[str, str], announce: Callable[[RunningNode], None]) -> None:
    """Like `serve`, for a process of its own: on uvloop, until a signal comes. Raises InvalidConfig as well."""
    import uvloop

    raise_descriptor_limit()
    uvloop.run(serve(BrokerConfig.from_properties(properties), announce))
