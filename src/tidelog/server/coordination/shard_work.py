"""What the shards of both coordinators have in common: a timer for the next deadline, and tasks that end with them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

from tidelog.model.errors import ApiError
from tidelog.model.ports import Clock
from tidelog.protocol.codec import ProtocolError
from tidelog.records.batch import CorruptBatch
from tidelog.server.coordination.port import CoordinatorLog

logger = logging.getLogger(__name__)


class ShardTimer:
    """Calls back when the earliest deadline of a shard has come."""

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

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._tasks: dict[asyncio.Task[None], None] = {}

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._finished)
        return task

    def cancel(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            return
        error = task.exception()
        # Those who wait for a task are told of an ApiError themselves.
        if error is not None and not isinstance(error, ApiError):
            logger.error("a task of %s failed", self._whose, exc_info=error)


def log_failed_load(whose: str, problem: Exception) -> None:
    """With a traceback only if it is not one of the problems that a log can have."""
    expected = isinstance(problem, ApiError | CorruptBatch | ProtocolError)
    logger.error("%s cannot be loaded: %s", whose, problem, exc_info=not expected)


def written_end(log: CoordinatorLog, partition: int) -> int | None:
    """Where the log ends; None if this broker does not lead it, so that nothing can be written either."""
    try:
        return log.end_offset(partition)
    except ApiError:
        return None


def log_failed_decision(whose: str, asked: str) -> None:
    """Called while the exception is handled. It cost one request, or one timer, and nothing else."""
    logger.exception("%s: %s failed and has changed nothing", whose, asked)
