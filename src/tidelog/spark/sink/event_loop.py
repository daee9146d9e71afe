"""Coroutines for code that runs on no event loop, and many of them some at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")

_AT_ONCE = 16


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)


async def do_each(things: Iterable[T], do: Callable[[T], Awaitable[None]]) -> None:
    """Some at a time. The first failure is raised after all of them have been tried."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def do_one(thing: T) -> None:
        async with turns:
            await do(thing)

    for outcome in await asyncio.gather(*map(do_one, things), return_exceptions=True):
        if outcome is not None:
            raise outcome
