"""An event loop without a selector: virtual time that jumps to the next timer, and one order of events.

Callbacks run in the order in which they were scheduled, as asyncio promises; timers with the same time in the order in
which they were made. Tasks are another matter: nobody promises how soon one begins that was just made, or goes on whose
future is done, and on a busy machine much happens in between. With `lateness` such steps come late at random, so that
code which counts on their being prompt shows: what it read before the step is old by then.

Each event belongs to a process (`tidelog.simulation.machines.process`): those of a paused one are put aside until it
goes on, those of a dead one are dropped.

Jobs for the executor run on the loop, after a delay, in one piece.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import heapq
import random
from asyncio import events
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from math import ceil
from typing import Any, TypeVar, TypeVarTuple, cast

from tidelog.simulation.machines.process import CURRENT, Process, ProcessKilled, State

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

TICKS_PER_SECOND = 1_000_000
# More events than this without time going on is a loop that never ends.
MAX_EVENTS_PER_INSTANT = 200_000
# Garbage is collected after so many events, and not when Python likes to: the moment must not depend on the machine.
EVENTS_PER_COLLECTION = 20_000
# Of the steps of tasks, so many come late, and at most so many ticks: about as long as a message takes.
LATE_STEPS = 0.2
LATEST_STEP = 2_000


class SimulationStuck(Exception):
    """Nothing is left that could happen, or the same moment never ends."""


class Event(asyncio.TimerHandle):
    """A callback that waits for its turn."""

    __slots__ = ("action", "arguments", "belongs_to")

    def __init__(
        self, when: float, action: Callable[..., object], arguments: tuple[Any, ...], context: contextvars.Context
    ) -> None:
        # Not asyncio's constructor: it looks for a debug mode that there is not, for every event.
        self._when = when
        self._cancelled = False
        self.action: Callable[..., object] | None = action
        self.arguments = arguments
        self.belongs_to = context

    def cancel(self) -> None:
        self._cancelled = True
        self.action = None
        self.arguments = ()

    def __repr__(self) -> str:
        return f"<Event at {self._when:.6f}: {self.action}>"

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class SimulatedLoop(asyncio.AbstractEventLoop):
    """Runs until the main coroutine is done. `failures` has what went wrong outside of it."""

    def __init__(self) -> None:
        # Whole microseconds: sums of small fractions would make timers come a hair too early, again and again.
        self._now = 0
        self._ready: deque[Event] = deque()
        self._timers: list[tuple[int, int, Event]] = []
        self._order = 0
        self._closed = False
        # Seconds before a job of the executor begins, by process; drawn by whoever knows the machine.
        self.executor_delay: Callable[[Process | None], float] = lambda _: 0.0
        # Draws which steps of tasks come late; None if all come in their turn.
        self.lateness: random.Random | None = None
        self.failures: list[tuple[float, Process | None, str, BaseException | None]] = []
        self.events_run = 0
        self._others = Process("outside", "outside")

    # -- running -------------------------------------------------------------------------------------------------

    def run_until_complete(self, future: Generator[Any, None, T] | Awaitable[T]) -> T:
        events._set_running_loop(self)
        collecting = gc.isenabled()
        gc.disable()
        try:
            main: asyncio.Future[T] = asyncio.ensure_future(cast(Awaitable[T], future), loop=self)
            self._run(main)
            return main.result()
        finally:
            events._set_running_loop(None)
            if collecting:
                gc.enable()

    def _run(self, main: asyncio.Future[Any]) -> None:
        ready, timers, lateness = self._ready, self._timers, self.lateness
        at_this_instant = 0
        until_collection = EVENTS_PER_COLLECTION
        while not main.done():
            if ready:
                event = ready.popleft()
                if lateness is not None and _is_step(event) and lateness.random() < LATE_STEPS:
                    self._order += 1
                    ticks = self._now + lateness.randint(1, LATEST_STEP)
                    heapq.heappush(timers, (ticks, self._order, event))
                    continue
            else:
                if not timers:
                    raise SimulationStuck("nothing is scheduled, and the main task still waits")
                when, _, event = heapq.heappop(timers)
                if event._cancelled:
                    continue
                if when > self._now:
                    self._now = when
                    at_this_instant = 0
            action = event.action
            if action is None:
                continue
            context = event.belongs_to
            process = context.get(CURRENT)
            if process is not None and process.halted:
                if process.state is State.PAUSED:
                    process.deferred.append(event)
                continue
            at_this_instant += 1
            if at_this_instant > MAX_EVENTS_PER_INSTANT:
                raise SimulationStuck(
                    f"more than {MAX_EVENTS_PER_INSTANT} events at {self.time():.6f}; the last: {event}"
                )
            self.events_run += 1
            try:
                context.run(action, *event.arguments)
            except (SystemExit, KeyboardInterrupt):
                raise
            except ProcessKilled:
                pass
            except BaseException as error:
                self.failures.append((self.time(), process, f"a callback failed: {action}", error))
            if process is not None and process.after_event is not None and process.alive:
                process.after_event()
            until_collection -= 1
            if not until_collection:
                until_collection = EVENTS_PER_COLLECTION
                gc.collect(1)

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        self._ready.clear()
        self._timers.clear()
        self._others.bury()

    # -- scheduling ----------------------------------------------------------------------------------------------

    @property
    def now_ms(self) -> float:
        """As exact as a float can be, which a thousand times the seconds would not be."""
        return self._now / 1000

    def time(self) -> float:
        return self._now / TICKS_PER_SECOND

    def call_soon(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: contextvars.Context | None = None,
    ) -> Event:
        event = Event(0.0, callback, args, contextvars.copy_context() if context is None else context)
        self._ready.append(event)
        return event

    # There is one thread.
    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: contextvars.Context | None = None,
    ) -> Event:
        return self._schedule(self._now + ceil(delay * TICKS_PER_SECOND), callback, args, context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: contextvars.Context | None = None,
    ) -> Event:
        return self._schedule(ceil(when * TICKS_PER_SECOND), callback, args, context)

    def _schedule(
        self,
        ticks: int,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
    ) -> Event:
        # No timer is early, and each takes some time, as it does on a real machine: code that sets itself a timer for
        # now until something is due would else never get there.
        ticks = max(ticks, self._now + 1)
        event = Event(
            ticks / TICKS_PER_SECOND, callback, args, contextvars.copy_context() if context is None else context
        )
        self._order += 1
        heapq.heappush(self._timers, (ticks, self._order, event))
        return event

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
        **options: Any,
    ) -> asyncio.Task[T]:
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, name=name, context=context)
        process = CURRENT.get() if context is None else context.get(CURRENT)
        (process or self._others).adopt(task)
        return task

    # -- processes -----------------------------------------------------------------------------------------------

    def pause(self, process: Process) -> None:
        """As SIGSTOP: nothing of the process runs, the world goes on."""
        if process.state is State.RUNNING:
            process.state = State.PAUSED
            process.halted = True

    def resume(self, process: Process) -> None:
        """As SIGCONT: everything that came due runs now, in its order."""
        if process.state is State.PAUSED:
            process.state = State.RUNNING
            process.halted = False
            self._ready.extend(process.deferred)
            process.deferred.clear()

    # -- threads -------------------------------------------------------------------------------------------------

    def run_in_executor(self, executor: Any, func: Callable[[*Arguments], T], *args: *Arguments) -> asyncio.Future[T]:
        """The job begins after a delay; its result is known when the device has done its part."""
        future: asyncio.Future[T] = self.create_future()
        process = CURRENT.get()

        def job() -> None:
            if process is not None:
                process.elapsed_seconds = 0.0
            result: Any = None
            failure: BaseException | None = None
            try:
                result = func(*args)
            except (SystemExit, KeyboardInterrupt, ProcessKilled):
                raise
            except BaseException as error:
                failure = error
            taken = 0.0 if process is None else process.elapsed_seconds
            self.call_later(taken, finish, result, failure)

        def finish(result: Any, failure: BaseException | None) -> None:
            if future.done():
                return
            if failure is None:
                future.set_result(result)
            else:
                future.set_exception(failure)

        self.call_later(self.executor_delay(process), job)
        return future

    # -- failures ------------------------------------------------------------------------------------------------

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep it for the end of the run: what nobody handles is a mistake in the code under test."""
        error = context.get("exception")
        process = CURRENT.get()
        if isinstance(error, ProcessKilled) or self._closed or (process is not None and not process.alive):
            return
        self.failures.append((self.time(), process, str(context.get("message", "")), error))


def _is_step(event: Event) -> bool:
    """Whether a task begins with it or goes on. All else keeps its order: bytes that arrive, callbacks of futures."""
    return isinstance(getattr(event.action, "__self__", None), asyncio.Task)


def new_loop() -> SimulatedLoop:
    """The methods for sockets, signals and child processes are missing on purpose: a call raises."""
    return SimulatedLoop()  # type: ignore[abstract]
