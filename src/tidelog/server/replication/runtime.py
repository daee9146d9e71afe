"""The replication of one broker put together: what the node starts, tells and stops."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tidelog.config.catalogue.cluster import RACK_AWARE_SELECTOR
from tidelog.metadata.image import ClusterImage
from tidelog.server.fetching.nearby import THE_LEADER, nearby_replica
from tidelog.server.replicas.replica import Replica
from tidelog.server.replication.authority import InSyncAuthority
from tidelog.server.replication.directories import DirectoryAssignments
from tidelog.server.replication.fetchers import Fetchers
from tidelog.server.replication.in_sync import InSyncSets
from tidelog.server.replication.throttles import ReplicationThrottles

if TYPE_CHECKING:
    from tidelog.server.node import Node

logger = logging.getLogger(__name__)


class Replication:
    """Follows leaders, and leads followers."""

    def __init__(self, node: Node, authority: InSyncAuthority) -> None:
        self._node = node
        self.fetchers = Fetchers(node)
        self.in_sync = InSyncSets(broker_id=node.broker_id, broker_epoch=lambda: node.broker_epoch, authority=authority)
        self.throttles = ReplicationThrottles(broker_id=node.broker_id, clock=node.clock, config=node.config)
        self.directories = DirectoryAssignments(
            broker_id=node.broker_id,
            broker_epoch=lambda: node.broker_epoch,
            replicas=node.replicas,
            channel=node.control.channel,
        )
        self._tasks: list[asyncio.Task[None]] = []
        node.replicas.eligible = self._eligible
        node.replicas.role_changed.append(self.fetchers.role_changed)
        self._register_gauges()

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self.fetchers.start()
        self._tasks = [
            loop.create_task(self.in_sync.run(), name="in-sync sets"),
            loop.create_task(self._drop_lagging(), name="lagging followers"),
            loop.create_task(self.directories.run(), name="directories of replicas"),
        ]

    async def stop(self) -> None:
        """Nothing is fetched and nothing is proposed afterwards. Whoever still waits for a commit goes on waiting."""
        for task in self._tasks:
            task.cancel()
        await self.fetchers.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def _drop_lagging(self) -> None:
        while True:
            # Twice as often as a follower may lag, as Kafka looks.
            await asyncio.sleep(max(self._node.config.replica_lag_time_max_ms, 2) / 2000)
            try:
                self.in_sync.drop_lagging(self._node.replicas)
            except Exception:
                # The next round may do better; without any, a dead follower would hold up its partitions for ever.
                logger.exception("looking for lagging followers failed")

    # -- the leader's side of a fetch ----------------------------------------------------------------------------

    def is_broker(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether the process that says so is this broker, as far as we have heard of it."""
        return registered_epoch(self._node.image, broker_id) == broker_epoch

    def preferred_replica(self, replica: Replica, reader_rack: str, fetch_offset: int) -> int:
        """The broker that a consumer should rather read from, or -1."""
        progress = replica.progress
        if progress is None or self._node.config.replica_selector_class != RACK_AWARE_SELECTOR:
            return THE_LEADER
        return nearby_replica(
            progress,
            leader_rack=self._node.config.broker_rack,
            reader_rack=reader_rack,
            fetch_offset=fetch_offset,
            broker=self._node.image.brokers.get,
        )

    def _eligible(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether the controller would let it into an in-sync set."""
        broker = self._node.image.brokers.get(broker_id)
        return broker is not None and broker.active and broker.epoch == broker_epoch

    # -- what operators look at ----------------------------------------------------------------------------------

    def _register_gauges(self) -> None:
        gauge = self._node.metrics.gauge
        replicas = self._node.replicas
        gauge("tidelog_leaders", "Partitions that this broker leads", lambda: sum(r.is_leader for r in replicas))
        gauge(
            "tidelog_under_replicated_partitions",
            "Led partitions of which not all replicas are in sync",
            lambda: sum(
                r.progress is not None and len(r.progress.in_sync) < len(r.progress.replicas) for r in replicas
            ),
        )
        gauge(
            "tidelog_under_min_isr_partitions",
            "Led partitions with fewer in-sync replicas than min.insync.replicas",
            lambda: sum(r.progress is not None and not r.progress.has_enough_in_sync for r in replicas),
        )
        gauge("tidelog_offline_replicas", "Replicas on failed disks", lambda: sum(r.offline for r in replicas))


def registered_epoch(image: ClusterImage, broker_id: int) -> int | None:
    broker = image.brokers.get(broker_id)
    return None if broker is None else broker.epoch
