"""The replication of one broker put together: what the node starts, notifies and stops."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import field

from tidelog.config.catalogue.cluster import RACK_AWARE_SELECTOR
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.fetching.nearby import THE_LEADER, nearby_replica
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.replication.directories import DirectoryAssignments
from tidelog.server.replication.fetchers import Fetchers
from tidelog.server.replication.in_sync import InSyncSets
from tidelog.server.replication.throttles import ReplicationThrottles

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class Replication:
    """Follows leaders, and leads followers."""

    live: LiveConfig
    replicas: Replicas
    fetchers: Fetchers
    in_sync: InSyncSets
    directories: DirectoryAssignments
    throttles: ReplicationThrottles
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.replicas.role_changed.listen(self.fetchers.role_changed)

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self.fetchers.start()
        self._tasks = [
            loop.create_task(self.in_sync.run(), name="in-sync sets"),
            loop.create_task(self._drop_lagging(), name="lagging followers"),
            loop.create_task(self.directories.run(), name="directories of replicas"),
        ]

    async def stop(self) -> None:
        """Nothing is fetched and nothing is proposed afterwards. Waits for commits continue."""
        for task in self._tasks:
            task.cancel()
        await self.fetchers.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def _drop_lagging(self) -> None:
        while True:
            # Twice per replica.lag.time.max.ms, as in Kafka.
            await asyncio.sleep(max(self.live.config.replica_lag_time_max_ms, 2) / 2000)
            try:
                self.in_sync.drop_lagging(self.replicas)
            except Exception:
                # The next round may succeed; without any, a dead follower would hold up its partitions for ever.
                logger.exception("looking for lagging followers failed")

    # -- the leader's side of a fetch ----------------------------------------------------------------------------

    def is_broker(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether the process that claims to be this broker is, as far as we know."""
        broker = self.replicas.image().brokers.get(broker_id)
        return broker is not None and broker.epoch == broker_epoch

    def preferred_replica(self, replica: Replica, reader_rack: str, fetch_offset: int) -> int:
        """The broker that a consumer should rather read from, or -1."""
        progress = replica.progress
        if progress is None or self.live.config.replica_selector_class != RACK_AWARE_SELECTOR:
            return THE_LEADER
        return nearby_replica(
            progress,
            leader_rack=self.live.config.broker_rack,
            reader_rack=reader_rack,
            fetch_offset=fetch_offset,
            broker=self.replicas.image().brokers.get,
        )
