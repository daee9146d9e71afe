"""Waiting, with a bound, for what a cluster does after it has answered: brokers learn of changes a moment later."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def eventually(check: Callable[[], Awaitable[None]], *, within_seconds: float = 20) -> None:
    """Repeat `check` until it raises no AssertionError any more; then the last one is raised."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_seconds
    while True:
        try:
            await check()
        except AssertionError:
            if loop.time() > deadline:
                raise
            await asyncio.sleep(0.05)
        else:
            return
