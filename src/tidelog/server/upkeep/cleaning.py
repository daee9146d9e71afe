"""Compacts the logs of compacted topics, the dirtiest first, without keeping the broker's clients waiting.

Part of the work is Python code, which cannot run beside the event loop's own: so it goes to a thread in slices of half
a millisecond. A request waits for one slice at most, and the loop always comes first. What is done to a log, and which
records stay, is in `tidelog.storage.cleaner`; segments are exchanged here, on the loop, between two reads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from typing import ParamSpec, TypeVar

from tidelog.config.broker import BrokerConfig
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.records.batch import CorruptBatch
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.upkeep.old_segments import delete_old_segments
from tidelog.storage.cleaner.compaction import (
    Compaction,
    CompactionLimits,
    CompactionRevoked,
    DamagedSegment,
    Work,
)
from tidelog.storage.cleaner.selection import CleanableRange
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.compacting import plan_compaction, start_compaction
from tidelog.storage.log.log import Log

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

SLICE_MS = 0.5
# After so many logs the search for the dirtiest one yields to requests.
LOGS_PER_STEP = 50


class Throttle:
    """How long to wait after some bytes, so that on average there are no more per second than allowed."""

    def __init__(self) -> None:
        self._free_at_ms = 0.0

    def pause_ms(self, moved_bytes: int, bytes_per_second: float, now_ms: float) -> float:
        # Unused time is not saved up.
        self._free_at_ms = max(self._free_at_ms, now_ms) + moved_bytes / bytes_per_second * 1000
        return self._free_at_ms - now_ms


@dataclass(slots=True, kw_only=True, eq=False)
class Cleaning:
    """As many compactions at a time as log.cleaner.threads says. Runs from `start` to `stop`."""

    live: LiveConfig
    replicas: Replicas
    # Of the log that is compacted next.
    dirtiest_ratio: float = field(default=0.0, init=False)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)
    _throttle: Throttle = field(default_factory=Throttle, init=False)
    _busy: set[Log] = field(default_factory=set, init=False)
    # A log that cannot be compacted is left alone until the next start.
    _uncleanable: set[Log] = field(default_factory=set, init=False)
    # One whose disk is full waits until the others have had their turn: as the dirtiest it would always be next.
    _postponed: set[Log] = field(default_factory=set, init=False)

    @property
    def uncleanable_count(self) -> int:
        """How many logs are damaged and no longer compacted."""
        return len(self._uncleanable)

    def is_compacted(self, log: Log) -> bool:
        """Whether a compaction of this log is running."""
        return log in self._busy

    def start(self) -> None:
        if self.live.config.log_cleaner_enable:
            self._tasks.append(asyncio.create_task(self._run(0)))

    async def stop(self) -> None:
        """Gives up running compactions; the next start starts them over."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, number: int) -> None:
        """Cleaners are numbered from 0. The first starts the others: log.cleaner.threads may grow at any time."""
        while True:
            config = self.live.config
            for another in range(len(self._tasks), config.log_cleaner_threads if number == 0 else 0):
                self._tasks.append(asyncio.create_task(self._run(another)))
            if number >= config.log_cleaner_threads:
                await asyncio.sleep(config.log_cleaner_backoff_ms / 1000)
                continue
            try:
                cleaned = await self.clean_dirtiest()
                await self._apply_retention()
            except Exception:
                # Whatever it was, the other logs must still be compacted.
                logger.exception("the cleaner failed")
                cleaned = False
            if not cleaned:
                await asyncio.sleep(self.live.config.log_cleaner_backoff_ms / 1000)

    async def clean_dirtiest(self) -> bool:
        """Compact the dirtiest log; whether there was one."""
        found = await self._find_dirtiest()
        if found is None:
            return False
        replica, planned = found
        log = replica.log
        self._busy.add(log)
        try:
            await self._clean(replica, planned)
        except CompactionRevoked:
            logger.info("the log of %s changed while it was being compacted; starting over", log.topic_partition)
        except StorageFailure as failure:
            self.replicas.storage_failed(replica, failure)
            self._postponed.add(log)
            return False
        except DamagedSegment as damage:
            logger.error("%s is no longer compacted: %s", log.topic_partition, damage)
            self._uncleanable.add(log)
        except Exception:
            self._uncleanable.add(log)
            raise
        finally:
            self._busy.discard(log)
        return True

    async def _apply_retention(self) -> None:
        """Of compacted topics that delete, too, as Kafka does: after each round, which is far more often than
        log.retention.check.interval.ms. A log that is being compacted has its turn later."""
        for number, replica in enumerate(self.replicas, 1):
            if number % LOGS_PER_STEP == 0:
                await asyncio.sleep(0)
            log = replica.log
            if log.config.compact and log.config.delete and not replica.offline and log not in self._busy:
                delete_old_segments(self.replicas, replica, self.replicas.clock.now_ms())

    async def _find_dirtiest(self) -> tuple[Replica, CleanableRange] | None:
        now_ms = self.replicas.clock.now_ms()
        self._uncleanable = {log for log in self._uncleanable if not log.closed}
        candidates: list[tuple[float, Replica, CleanableRange]] = []
        for number, replica in enumerate(self.replicas, 1):
            if number % LOGS_PER_STEP == 0:
                await asyncio.sleep(0)
            log = replica.log
            if replica.offline or not log.config.compact or log in self._busy or log in self._uncleanable:
                continue
            try:
                planned = plan_compaction(log, now_ms)
            except StorageFailure as failure:
                self.replicas.storage_failed(replica, failure)
                continue
            except CorruptBatch as damage:
                logger.error("%s is no longer compacted: %s", log.topic_partition, damage)
                self._uncleanable.add(log)
                continue
            if log not in self._postponed and planned.is_worth_it(log.config):
                candidates.append((planned.dirty_ratio, replica, planned))
        if not candidates:
            self._postponed.clear()
            self.dirtiest_ratio = 0.0
            return None
        self.dirtiest_ratio, replica, planned = max(candidates, key=lambda candidate: candidate[0])
        return replica, planned

    async def _clean(self, replica: Replica, planned: CleanableRange) -> None:
        log = replica.log
        started_ms = self.replicas.clock.monotonic_ms()
        size_before = log.size
        compaction = start_compaction(log, planned, compaction_limits(self.live.config), self.replicas.clock.now_ms())
        complete = False
        try:
            await self._drive(compaction.map_keys())
            for group in compaction.groups():
                await self._drive(compaction.write_group(group))
                await self._swap_in(log, compaction)
            complete = True
        finally:
            log.end_compaction(compaction, complete=complete)
        logger.info(
            "compacted %s from offset %d to %d in %.1f s: %d of %d records remain, %d bytes instead of %d",
            log.topic_partition,
            planned.first_dirty_offset,
            compaction.cleaned_up_to,
            (self.replicas.clock.monotonic_ms() - started_ms) / 1000,
            compaction.records_kept,
            compaction.records_read,
            log.size,
            size_before,
        )
        for directory in self.replicas.directories:
            if directory.logs.get(log.topic_partition) is log:
                await _in_thread(directory.checkpoints.write_cleaned)

    async def _swap_in(self, log: Log, compaction: Compaction) -> None:
        segment, removal = log.exchange.swap_in(compaction, self.replicas.clock.now_ms())
        self.replicas.removals.append(removal)
        await _in_thread(log.exchange.sync_names, compaction)
        log.exchange.finish(segment)

    async def _drive(self, work: Work) -> None:
        """Run the work to its end, slice by slice."""
        clock = self.replicas.clock
        try:
            while True:
                moved_bytes, is_done = await _in_thread(_run_slice, work, clock)
                if is_done:
                    return
                limit = self.live.config.log_cleaner_io_max_bytes_per_second
                pause_ms = self._throttle.pause_ms(moved_bytes, limit, clock.monotonic_ms())
                if pause_ms >= 1:
                    await asyncio.sleep(pause_ms / 1000)
        finally:
            work.close()


def compaction_limits(config: BrokerConfig) -> CompactionLimits:
    """The memory of all compactions, divided among those that run at the same time."""
    cleaners = max(1, config.log_cleaner_threads)
    return CompactionLimits(
        dedupe_buffer_bytes=config.log_cleaner_dedupe_buffer_size // cleaners,
        load_factor=config.log_cleaner_io_buffer_load_factor,
        io_buffer_bytes=config.log_cleaner_io_buffer_size // cleaners // 2,
    )


def _run_slice(work: Work, clock: Clock) -> tuple[int, bool]:
    """(bytes moved, whether the work is done)."""
    until_ms = clock.monotonic_ms() + SLICE_MS
    moved_bytes = 0
    for moved in work:
        moved_bytes += moved
        if clock.monotonic_ms() >= until_ms:
            return moved_bytes, False
    return moved_bytes, True


async def _in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run it in a thread. A cancelled caller waits for it: nobody may write to a log that is closed."""
    running = asyncio.get_running_loop().run_in_executor(None, lambda: function(*args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        with suppress(Exception):
            await running
        raise
