"""Puts the quorum of a node together: log, replica, image, controller, and the way to the active one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.config.broker import BrokerConfig
from tidelog.config.listeners import HostPort
from tidelog.consensus.effects import Leadership
from tidelog.consensus.settings import QuorumSettings
from tidelog.consensus.snapshots import SnapshotRules
from tidelog.consensus.wire import QuorumWire
from tidelog.consensus.wire_answers import Endpoint
from tidelog.model.ids import ZERO_UUID
from tidelog.network.client_connection import ConnectionSettings
from tidelog.server.api.declaration import Api
from tidelog.server.ports import Ports
from tidelog.server.quorum.active_controller import ActiveController
from tidelog.server.quorum.answers import ControllerAnswers
from tidelog.server.quorum.channel import ControllerChannel
from tidelog.server.quorum.leader_watch import LeaderWatch
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.peers import Peers
from tidelog.server.quorum.quorum_log import QuorumLog
from tidelog.server.quorum.runtime import QuorumRuntime
from tidelog.server.quorum.snapshots import SnapshotTaker
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.log.config import LogConfig


class ControlPlane:
    """Every node has one. A node without other voters is its own quorum."""

    def __init__(self, config: BrokerConfig, ports: Ports, directory: LogDirectory, apis: Mapping[int, Api]) -> None:
        assert directory.meta is not None
        voters = {voter.id: HostPort(host=voter.host, port=voter.port) for voter in config.controller_quorum_voters}
        voter_ids = frozenset(voters) or frozenset({config.node_id})
        settings = QuorumSettings(
            node_id=config.node_id,
            voters=voter_ids,
            directory_id=directory.meta.directory_id or ZERO_UUID,
            election_timeout_ms=config.controller_quorum_election_timeout_ms,
            fetch_timeout_ms=config.controller_quorum_fetch_timeout_ms,
            election_backoff_max_ms=config.controller_quorum_election_backoff_max_ms,
            request_timeout_ms=config.controller_quorum_request_timeout_ms,
            retry_backoff_ms=config.controller_quorum_retry_backoff_ms,
            fetch_max_bytes=config.controller_quorum_fetch_max_bytes,
            fetch_snapshot_max_bytes=config.controller_quorum_fetch_snapshot_max_bytes,
        )
        listener = config.controller_listener_names[0] if config.controller_listener_names else "CONTROLLER"
        wire = QuorumWire(
            cluster_id=directory.meta.cluster_id,
            node_id=config.node_id,
            directory_id=settings.directory_id,
            listener_name=listener,
            endpoints={number: Endpoint(at.host, at.port) for number, at in voters.items()},
        )
        connection = ConnectionSettings(
            client_id=f"tidelog-node-{config.node_id}",
            connect_timeout_ms=config.controller_quorum_request_timeout_ms,
            request_timeout_ms=config.controller_quorum_request_timeout_ms,
        )
        log_config = LogConfig(
            segment_bytes=config.metadata_log_segment_bytes,
            segment_ms=config.metadata_log_segment_ms,
            # What is dropped follows from the snapshots.
            retention_ms=-1,
            retention_bytes=-1,
        )
        self.log = QuorumLog.open(directory, ports.filesystem, ports.clock, log_config)
        self.quorum = QuorumRuntime(
            settings=settings,
            log=self.log,
            wire=wire,
            peers=Peers(ports.network, voters.get, connection),
            clock=ports.clock,
            randomness=ports.randomness,
            filesystem=ports.filesystem,
            directory=self.log.directory,
        )
        self.leader_watch = LeaderWatch(self.quorum, ports.clock)
        self.metadata = MetadataFollower(self.log, directory.meta.cluster_id)
        rules = SnapshotRules(
            max_bytes=config.metadata_log_max_record_bytes_between_snapshots,
            interval_ms=config.metadata_log_max_snapshot_interval_ms,
            retention_bytes=config.metadata_max_retention_bytes,
            retention_ms=config.metadata_max_retention_ms,
        )
        self.snapshots = SnapshotTaker(
            log=self.log, metadata=self.metadata, quorum=self.quorum, rules=rules, clock=ports.clock
        )
        self.controller: ActiveController | None = None
        self.answers: ControllerAnswers | None = None
        if settings.is_voter:
            self.controller = ActiveController(
                quorum=self.quorum,
                metadata=self.metadata,
                config=config,
                clock=ports.clock,
                randomness=ports.randomness,
                network=ports.network,
            )
            self.answers = ControllerAnswers(self.controller, apis)
            self.quorum.on_heard = self.controller.absent_brokers.seen
        self._channel_peers = Peers(ports.network, voters.get, connection)
        self._channel_peers.on_lost = self._connection_lost
        self._forwarding_peers = Peers(ports.network, voters.get, connection)
        self.channel = ControllerChannel(
            node_id=config.node_id,
            quorum=self.quorum,
            local=self.answers,
            peers=self._channel_peers,
            forwarding=self._forwarding_peers,
            timeout_seconds=config.controller_socket_timeout_ms / 1000,
        )
        # Told when another node, or this one, has become the controller.
        self.on_controller: Callable[[], None] | None = None
        self.quorum.on_commit = self.metadata.committed
        self.metadata.publisher.on_failure = self.quorum.fail
        self.quorum.on_snapshot = self.metadata.installed
        self.quorum.on_leadership = self._leadership_changed

    def _leadership_changed(self, leadership: Leadership) -> None:
        if self.controller is not None:
            self.controller.leadership_changed(leadership)
        if leadership.leader_id is not None and self.on_controller is not None:
            self.on_controller()

    def _connection_lost(self, node_id: int) -> None:
        """A controller that has lost a broker's connection wonders whether the broker is alive: say so at once."""
        if node_id == self.quorum.leader_id and self.on_controller is not None:
            self.on_controller()

    async def start(self) -> None:
        await self.quorum.start()
        self.leader_watch.start()
        self.snapshots.start()

    async def stop(self) -> None:
        self.leader_watch.stop()
        if self.controller is not None:
            await self.controller.stop()
        await self.snapshots.stop()
        await self.quorum.stop()
        await self.metadata.publisher.stop()
        self._channel_peers.close()
        self._forwarding_peers.close()

    async def abandon(self) -> None:
        self.leader_watch.stop()
        if self.controller is not None:
            await self.controller.stop()
        await self.snapshots.stop()
        await self.quorum.abandon()
        await self.metadata.publisher.stop()
        self._channel_peers.close()
        self._forwarding_peers.close()
