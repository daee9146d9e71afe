"""Simulated processes: what belongs together when something is paused or killed.

All processes share one event loop. Which of them a callback belongs to is kept in a context variable: tasks, timers and
callbacks inherit it from where they were made, so the code that runs in a process need not know of it.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable, Coroutine
from dataclasses import field
from enum import Enum, auto
from typing import Any

from tidelog.model.lazy_dataclasses import dataclass

CURRENT: contextvars.ContextVar[Process | None] = contextvars.ContextVar("tidelog_simulated_process", default=None)

# Done tasks are dropped from a process's list when it has grown to twice the size it had after the last time.
_FIRST_PRUNING = 64
_CLOSING_TRIES = 200


class State(Enum):
    RUNNING = auto()
    PAUSED = auto()
    DEAD = auto()


class ProcessKilled(BaseException):
    """The process ended at this call. Not an Exception: no code of the process may carry on after it."""


def os_error(number: int, path: str | None = None) -> OSError:
    """What a system call raises, with the subclass that belongs to the number."""
    return OSError(number, os.strerror(number), path)


@dataclass(slots=True, eq=False, repr=False)
class Process:
    """One run of a program on a host. A restart is a new process."""

    name: str
    host: str
    # Called after each event of the process; what it raises ends the run.
    after_event: Callable[[], None] | None = None
    state: State = field(init=False, default=State.RUNNING)
    # Whether the state is anything else than running; looked at for every event.
    halted: bool = field(init=False, default=False)
    # Events that came due while the process was paused.
    deferred: list[Any] = field(init=False, default_factory=list)
    tasks: list[asyncio.Task[Any]] = field(init=False, default_factory=list)
    _prune_at: int = field(init=False, default=_FIRST_PRUNING)
    # What the device took since a job in the executor began; virtual time cannot pass in the middle of one.
    elapsed_seconds: float = field(init=False, default=0.0)
    context: contextvars.Context = field(init=False, default_factory=contextvars.copy_context)

    def __post_init__(self) -> None:
        self.context.run(CURRENT.set, self)

    def __repr__(self) -> str:
        return f"<{self.name} {self.state.name.lower()}>"

    @property
    def alive(self) -> bool:
        return self.state is not State.DEAD

    def check_alive(self) -> None:
        """For the ports: a dead process has no effect on anything any more."""
        if self.state is State.DEAD:
            raise ProcessKilled(self.name)

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """Remember a task, so that a kill can keep its coroutine from running its `finally` blocks."""
        tasks = self.tasks
        tasks.append(task)
        if len(tasks) >= self._prune_at:
            self.tasks = [each for each in tasks if not each.done()]
            self._prune_at = max(_FIRST_PRUNING, 2 * len(self.tasks))

    def kill(self) -> None:
        """Nothing of the process runs again. Its tasks are kept as they are until `bury`."""
        self.state = State.DEAD
        self.halted = True
        self.deferred.clear()

    def bury(self) -> None:
        """Let go of what a dead process holds, when the simulation is over and nobody can notice."""
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            if task.done():
                if not task.cancelled():
                    # Looked at, so that asyncio does not complain about it.
                    task.exception()
                continue
            # Else asyncio complains about each task that is still pending when it is collected.
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            _close(task.get_coro())


def _close(coroutine: Any) -> None:
    """Cleaning up in a dead process fails in every thinkable way, which means nothing. Each try gets past one await.

    Whatever is awaited is closed first: should it await something else in its cleaning up, it would otherwise be left
    behind by those who await it. A compiled coroutine does not say what it awaits, and closes it itself.
    """
    for _ in range(_CLOSING_TRIES):
        chain = [coroutine]
        while isinstance(awaited := getattr(chain[-1], "cr_await", None), Coroutine):
            chain.append(awaited)
        try:
            for each in reversed(chain):
                each.close()
        except (Exception, ProcessKilled):
            continue
        return
