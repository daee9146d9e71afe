"""A node's part in the metadata quorum: log, replica, image, controller, and the way to the active one."""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.server.access.access import Access
from tidelog.server.notice import Notice
from tidelog.server.quorum.active_controller import ActiveController
from tidelog.server.quorum.answers import ControllerAnswers
from tidelog.server.quorum.channel import ControllerChannel
from tidelog.server.quorum.leader_watch import LeaderWatch
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.peers import Peers
from tidelog.server.quorum.quorum_log import QuorumLog
from tidelog.server.quorum.runtime import QuorumRuntime
from tidelog.server.quorum.snapshots import SnapshotTaker


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """Every node has one, created in `tidelog.server.composition`; a controller only where the node votes."""

    log: QuorumLog
    quorum: QuorumRuntime
    leader_watch: LeaderWatch
    metadata: MetadataFollower
    access: Access
    snapshots: SnapshotTaker
    controller: ActiveController | None
    # What the controller of this node answers.
    answers: ControllerAnswers | None
    channel: ControllerChannel
    # Connections to other controllers that end with this.
    peers: tuple[Peers, ...]
    # Another node, or this one, has become the controller, or the connection to it was lost.
    controller_changed: Notice[[]]

    async def start(self) -> None:
        await self.quorum.start()
        self.leader_watch.start()
        self.snapshots.start()

    async def stop(self) -> None:
        await self._end_watching()
        await self.quorum.stop()
        await self._end_acting()

    async def abandon(self) -> None:
        await self._end_watching()
        await self.quorum.abandon()
        await self._end_acting()

    async def _end_watching(self) -> None:
        self.leader_watch.stop()
        if self.controller is not None:
            await self.controller.stop()
        await self.snapshots.stop()

    async def _end_acting(self) -> None:
        await self.metadata.publisher.stop()
        for each in self.peers:
            each.close()
