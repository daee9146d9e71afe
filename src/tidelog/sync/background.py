"""The event loop in a background thread, and how calls get there and back.

`blocking` and `on_loop` turn methods of an asynchronous class into methods of its synchronous twin, with the same
parameters, so that type checkers see the real signatures.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

import uvloop

from tidelog.client.errors import ClientError, WrongUse

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Wrapped = TypeVar("Wrapped")
# The methods of a parent are methods of its child: those of Admin come from several classes.
Worker = TypeVar("Worker", covariant=True)


class ForkedClient(ClientError):
    """A client that was made before a fork is used after it: its thread and its connections are the parent's."""


class Background:
    """A thread that runs an event loop until the process ends."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tidelog", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def check_caller(self) -> None:
        if threading.current_thread() is self._thread:
            raise WrongUse("a call that waits cannot be made on the thread that does the work")

    def run(self, coroutine: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        """Wait for the result. When the time is over, or the waiting is interrupted, the coroutine is cancelled."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result(timeout)
        except FutureTimeout:
            if future.done():
                # Not the waiting, but what was waited for has run out of time.
                raise
            future.cancel()
            raise TimeoutError(f"the call did not complete within {timeout:g} s and was cancelled") from None
        except BaseException:
            future.cancel()
            raise


_lock = threading.Lock()
_background: Background | None = None
# Counts the forks that lead to this process: cheaper to ask for than its id, which is a call of the system.
_forks = 0


def background() -> Background:
    """The one of this process."""
    global _background
    with _lock:
        if _background is None:
            _background = Background()
        return _background


def _forget() -> None:
    """A child has no other threads: what the parent's thread held must not be waited for."""
    global _lock, _background, _forks
    _lock = threading.Lock()
    _background = None
    _forks += 1


os.register_at_fork(after_in_child=_forget)


class Client(ABC, Generic[Worker]):
    """What the synchronous classes have in common: the asynchronous one that does the work, and the way to it."""

    _wrapped: Worker

    def __init__(self, make: Callable[[], Worker], call_timeout: float | None) -> None:
        self._call_timeout = call_timeout
        self._process = os.getpid()
        self._forks = _forks
        self._background = background()
        self._wrapped = self._call(make)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def _run(self, call: Callable[[], Coroutine[Any, Any, Result]], timeout: float | None = None) -> Result:
        """The coroutine is made where it runs: one that is made here might never get there."""
        self._check_process()
        self._background.check_caller()
        return self._background.run(self._in_order(call), self._call_timeout if timeout is None else timeout)

    def _call(
        self, function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Call where everything else happens, so that two threads never change the same thing."""

        async def called() -> Result:
            return function(*args, **kwargs)

        return self._run(called)

    def _check_process(self) -> None:
        if _forks != self._forks:
            raise ForkedClient(
                f"this {type(self).__name__} belongs to process {self._process}, and this is its child {os.getpid()}: "
                "create a new one after the fork"
            )

    async def _in_order(self, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """What has to be done before each call, in a subclass."""
        return await call()


def blocking(
    method: Callable[Concatenate[Wrapped, Parameters], Coroutine[Any, Any, Result]],
    *,
    first: Callable[[Any], None] | None = None,
) -> Callable[Concatenate[Client[Wrapped], Parameters], Result]:
    """A method that waits for what the coroutine function gives. `first` is called on the loop before it."""

    def call(self: Client[Wrapped], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if first is not None:
            self._call(first, self)
        return self._run(lambda: method(self._wrapped, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call


def on_loop(
    method: Callable[Concatenate[Wrapped, Parameters], Result], *, first: Callable[[Any], None] | None = None
) -> Callable[Concatenate[Client[Wrapped], Parameters], Result]:
    """A method that is called on the loop, after `first` if there is one."""

    def call(self: Client[Wrapped], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if first is not None:
            self._call(first, self)
        return self._call(method, self._wrapped, *args, **kwargs)

    functools.update_wrapper(call, method)
    return call
