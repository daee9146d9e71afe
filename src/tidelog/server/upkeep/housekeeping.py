"""What a broker does at intervals: checkpoints, flushes, retention, removal of files, expiry of producers
and of what was counted for quotas.

Compaction, which takes longer, is in `tidelog.server.upkeep.cleaning`; it starts and stops with these.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.replicas.flusher import ReplicaFlusher
from tidelog.server.replicas.registry import Replicas
from tidelog.server.routing.connections import Connections
from tidelog.server.routing.throttling import ClientThrottling
from tidelog.server.upkeep.cleaning import Cleaning
from tidelog.server.upkeep.old_segments import delete_old_segments
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.filesystem import FileSystem, StorageFailure

logger = logging.getLogger(__name__)

FLUSH_CHECK_MS = 1000
REMOVAL_CHECK_MS = 1000
POSTPONED_CHECK_MS = 1000
QUOTA_EXPIRY_MS = 30_000
# After so many logs a pass yields to requests.
LOGS_PER_STEP = 50


@dataclass(slots=True, kw_only=True, eq=False)
class Housekeeping:
    """Starts its loops in `start` and ends them in `stop`."""

    live: LiveConfig
    replicas: Replicas
    flusher: ReplicaFlusher
    cleaning: Cleaning
    connections: Connections
    throttling: ClientThrottling
    # Opens replicas that could not be opened for lack of descriptors.
    follow_postponed: Callable[[], None]
    filesystem: FileSystem
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    def start(self) -> None:
        config = self.live.config
        self._every(config.replica_high_watermark_checkpoint_interval_ms, self._checkpoint_high_watermarks)
        self._every(config.log_flush_offset_checkpoint_interval_ms, self._checkpoint_recovery_points)
        self._every(config.log_flush_start_offset_checkpoint_interval_ms, self._checkpoint_log_starts)
        self._every(config.log_retention_check_interval_ms, self.apply_retention)
        self._every(config.producer_id_expiration_check_interval_ms, self._expire_producers)
        self._every(FLUSH_CHECK_MS, self._flush)
        self._every(REMOVAL_CHECK_MS, self._remove_files)
        self._every(POSTPONED_CHECK_MS, self._open_postponed)
        self._every(QUOTA_EXPIRY_MS, self._expire_quotas)
        self._tasks.append(asyncio.create_task(self.connections.close_idle_ones()))
        self.cleaning.start()

    async def stop(self) -> None:
        await self.cleaning.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _every(self, interval_ms: int, work: Callable[[], Awaitable[None]]) -> None:
        self._tasks.append(asyncio.create_task(self._repeat(interval_ms, work)))

    async def _repeat(self, interval_ms: int, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(interval_ms / 1000)
            try:
                await work()
            except Exception:
                # The next round may succeed, and the other loops must continue.
                logger.exception("housekeeping failed: %s", work.__name__)

    # -- checkpoints ---------------------------------------------------------------------------------------------

    async def _checkpoint_high_watermarks(self) -> None:
        await self._for_each_directory(lambda directory: directory.checkpoints.write_high_watermarks())

    async def _checkpoint_recovery_points(self) -> None:
        await self._for_each_directory(lambda directory: directory.checkpoints.write_recovery_points())
        await self._for_each_directory(lambda directory: directory.checkpoints.write_cleaned())

    async def _checkpoint_log_starts(self) -> None:
        await self._for_each_directory(lambda directory: directory.checkpoints.write_log_starts())

    async def _for_each_directory(self, write: Callable[[LogDirectory], None]) -> None:
        for directory in self.replicas.directories:
            if directory.failure is not None:
                continue
            try:
                await asyncio.get_running_loop().run_in_executor(None, write, directory)
            except StorageFailure as failure:
                self.replicas.directory_failed(directory, failure)

    # -- logs ----------------------------------------------------------------------------------------------------

    async def _flush(self) -> None:
        await self.flusher.flush_due_ones(self.replicas)

    async def apply_retention(self) -> None:
        """Delete segments that are too old, or that make their partition too large, or that lie before its start."""
        for number, replica in enumerate(self.replicas):
            if number % LOGS_PER_STEP == LOGS_PER_STEP - 1:
                await asyncio.sleep(0)
            if replica.offline:
                continue
            delete_old_segments(self.replicas, replica, self.replicas.clock.now_ms())

    async def _open_postponed(self) -> None:
        self.follow_postponed()

    async def _remove_files(self) -> None:
        for removal in self.replicas.take_removals(self.replicas.clock.now_ms()):
            try:
                await asyncio.get_running_loop().run_in_executor(None, removal.run, self.filesystem)
            except OSError as error:
                logger.warning("unused files could not be removed: %s", error)

    async def _expire_producers(self) -> None:
        now_ms = self.replicas.clock.now_ms()
        for number, replica in enumerate(self.replicas):
            if number % LOGS_PER_STEP == LOGS_PER_STEP - 1:
                await asyncio.sleep(0)
            replica.log.producer_states.expire(now_ms)

    async def _expire_quotas(self) -> None:
        """Those of clients and addresses that have not been seen for long."""
        self.throttling.expire()
        self.connections.expire()
