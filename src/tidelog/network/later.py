"""A future result, owned from the moment it is promised.

A coroutine object that is passed on has no owner until somebody awaits it. If that caller is cancelled before its first
step, because the connection broke in the same turn of the loop, the coroutine never runs: not even its `finally` blocks
are executed, and Python warns that it was never awaited. So code that cannot answer at once returns a `Later`: a
future, or a coroutine that became a task at once, and what to do with its result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar, cast

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
S = TypeVar("S")


class Later(Generic[T_co]):
    """Await it, or take the result once it is done. Functions given to `then` and `otherwise` run when it is taken."""

    __slots__ = ("_finish", "future")

    def __init__(
        self, future: asyncio.Future[Any], finish: Callable[[asyncio.Future[Any]], T_co] | None = None
    ) -> None:
        self.future = future
        self._finish = finish

    @staticmethod
    def run(work: Coroutine[Any, Any, S]) -> Later[S]:
        """The coroutine runs, whether or not anybody waits for it."""
        return Later(asyncio.get_running_loop().create_task(work))

    def then(self, make: Callable[[T_co], S]) -> Later[S]:
        """The same with a function applied to its result, without another task."""
        return Later(self.future, lambda future: make(self._result(future)))

    def otherwise(self: Later[T], make: Callable[[Exception], T]) -> Later[T]:
        """The same with a function applied to an exception, while it is being handled. A cancellation stays one."""

        def finish(future: asyncio.Future[Any]) -> T:
            try:
                return self._result(future)
            except Exception as error:
                return make(error)

        return Later(self.future, finish)

    def take(self) -> T_co:
        """The result, once it is done. Raises what it has raised."""
        return self._result(self.future)

    def __await__(self) -> Generator[Any, None, T_co]:
        with suppress(Exception):
            yield from self.future.__await__()
        return self._result(self.future)

    def _result(self, future: asyncio.Future[Any]) -> T_co:
        return cast(T_co, future.result()) if self._finish is None else self._finish(future)
