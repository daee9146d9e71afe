"""Flushes logs in a thread, so that the event loop never waits for the device."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.server.replicas.replica import Replica
from tidelog.storage.files.filesystem import StorageFailure

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class ReplicaFlusher:
    """One flush per replica at a time; a caller that arrives while one runs waits for it and for one more."""

    clock: Clock
    failed: Callable[[Replica, StorageFailure], None]
    _running: dict[Replica, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _flushing: dict[Replica, asyncio.Task[None]] = field(default_factory=dict, init=False)

    def begin(self, replica: Replica) -> None:
        """Flush what flush.messages asks for, in the background. Whoever waits for the watermark, or in `flush_up_to`,
        is notified."""
        if replica not in self._flushing:
            self._flushing[replica] = asyncio.get_running_loop().create_task(self._flush_all(replica))

    async def _flush_all(self, replica: Replica) -> None:
        try:
            while await self.flush_up_to(replica, replica.log.log_end_offset):
                if replica.log.flushed_end_offset == replica.log.log_end_offset:
                    break
        except StorageFailure as failure:
            self.failed(replica, failure)
        finally:
            del self._flushing[replica]

    async def flush_up_to(self, replica: Replica, end_offset: int) -> bool:
        """Returns when nothing below `end_offset` has to wait for a flush; False if that will not happen, because the
        replica is offline or gone. Raises StorageFailure."""
        log = replica.log
        while log.flushed_end_offset < min(end_offset, log.log_end_offset):
            if log.closed or replica.offline:
                return False
            await self.flush(replica)
        return True

    async def flush(self, replica: Replica, *, everything: bool = True) -> None:
        """Flush what is in the log now. Raises StorageFailure."""
        under_way = self._running.get(replica)
        if under_way is not None:
            await asyncio.shield(under_way)
        under_way = self._running.get(replica)
        if under_way is None:
            under_way = asyncio.ensure_future(self._flush(replica, everything))
            self._running[replica] = under_way
        # Shielded: a producer that disconnects must not leave a log with a flush that never finishes.
        await asyncio.shield(under_way)

    async def _flush(self, replica: Replica, everything: bool) -> None:
        log = replica.log
        try:
            # It may have been deleted while this waited for its turn.
            flush = None if log.closed else log.start_flush(self.clock.now_ms(), everything=everything)
            if flush is not None:
                await asyncio.get_running_loop().run_in_executor(None, flush.run)
                log.finish_flush(flush)
                replica.flushed()
        except StorageFailure as failure:
            if failure.is_shortage:
                log.flusher.disregard_running()
            raise
        finally:
            # Before waiting callers continue: they may want another one.
            del self._running[replica]

    async def flush_due_ones(self, replicas: Iterable[Replica]) -> None:
        """Those whose flush.ms has passed, whose segment was sealed, or whose epochs have changed."""
        now_ms = self.clock.now_ms()
        for replica in list(replicas):
            if replica.offline or not replica.log.flush_due(now_ms):
                continue
            try:
                await self.flush(replica, everything=False)
            except StorageFailure as failure:
                self.failed(replica, failure)
