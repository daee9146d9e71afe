"""Waiting, with a bound, for what a cluster does after it has answered: brokers learn of changes a moment later."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from support.processes import HANG_SECONDS

from tidelog.model.errors import ApiError, ErrorCode

# A broker that has not heard of a topic yet says so.
_NOT_HEARD_YET = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


async def eventually(check: Callable[[], Awaitable[None]], *, within_seconds: float = HANG_SECONDS) -> None:
    """Repeat `check` until nothing is asserted in vain and no topic is missing; in the end the last error is raised."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_seconds
    while True:
        try:
            await check()
        except (AssertionError, ApiError) as error:
            may_come = not isinstance(error, ApiError) or error.code in _NOT_HEARD_YET
            if not may_come or loop.time() > deadline:
                raise
            await asyncio.sleep(0.05)
        else:
            return
