"""What else every shard needs: a timer for the next deadline, and tasks that end with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

from tidelog.model.ports import Clock

logger = logging.getLogger(__name__)


class ShardTimer:
    """Calls back at the earliest deadline of a shard."""

    def __init__(self, clock: Clock, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None
        self._at_ms = 0.0

    def set(self, deadline_ms: float) -> None:
        if self._handle is not None:
            # One that fires too early finds nothing to do and is set again; that is cheaper than moving it with
            # each heartbeat.
            if self._at_ms <= deadline_ms:
                return
            self._handle.cancel()
        self._at_ms = deadline_ms
        delay_ms = max(deadline_ms - self._clock.monotonic_ms(), 0.0)
        self._handle = asyncio.get_running_loop().call_later(delay_ms / 1000, self._fire)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self) -> None:
        self._handle = None
        self._callback()


class ShardTasks:
    """Tasks of a shard, in the order in which they were begun: a simulation must cancel them in the same order."""

    def __init__(self, shard: str) -> None:
        self._shard = shard
        self._tasks: dict[asyncio.Task[None], None] = {}

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._ended)

    def cancel(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a task of the coordinator of %s failed", self._shard, exc_info=error)
