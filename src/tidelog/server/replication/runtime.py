"""The replication of one broker put together: what the node starts, tells and stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tidelog.config.catalogue.cluster import RACK_AWARE_SELECTOR
from tidelog.metadata.image import ClusterImage
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.fetching.nearby import THE_LEADER, nearby_replica
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.replication.directories import DirectoryAssignments
from tidelog.server.replication.fetchers import Fetchers
from tidelog.server.replication.in_sync import InSyncSets
from tidelog.server.replication.throttles import ReplicationThrottles

logger = logging.getLogger(__name__)


class Replication:
    """Follows leaders, and leads followers."""

    def __init__(
        self,
        *,
        live: LiveConfig,
        image: Callable[[], ClusterImage],
        replicas: Replicas,
        fetchers: Fetchers,
        in_sync: InSyncSets,
        directories: DirectoryAssignments,
        throttles: ReplicationThrottles,
    ) -> None:
        self._live = live
        self._image = image
        self._replicas = replicas
        self.fetchers = fetchers
        self.in_sync = in_sync
        self.directories = directories
        self.throttles = throttles
        self._tasks: list[asyncio.Task[None]] = []
        replicas.role_changed.listen(fetchers.role_changed)

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
            await asyncio.sleep(max(self._live.config.replica_lag_time_max_ms, 2) / 2000)
            try:
                self.in_sync.drop_lagging(self._replicas)
            except Exception:
                # The next round may do better; without any, a dead follower would hold up its partitions for ever.
                logger.exception("looking for lagging followers failed")

    # -- the leader's side of a fetch ----------------------------------------------------------------------------

    def is_broker(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether the process that says so is this broker, as far as we know."""
        return registered_epoch(self._image(), broker_id) == broker_epoch

    def preferred_replica(self, replica: Replica, reader_rack: str, fetch_offset: int) -> int:
        """The broker that a consumer should rather read from, or -1."""
        progress = replica.progress
        if progress is None or self._live.config.replica_selector_class != RACK_AWARE_SELECTOR:
            return THE_LEADER
        return nearby_replica(
            progress,
            leader_rack=self._live.config.broker_rack,
            reader_rack=reader_rack,
            fetch_offset=fetch_offset,
            broker=self._image().brokers.get,
        )


def registered_epoch(image: ClusterImage, broker_id: int) -> int | None:
    broker = image.brokers.get(broker_id)
    return None if broker is None else broker.epoch
