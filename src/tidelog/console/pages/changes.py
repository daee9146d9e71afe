"""What pages that change something have in common: who has changed something wants to see it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tidelog.console.replies import EXPECTED_FAILURES

# A broker knows of a change that the controller has stored when it has read the metadata log so far.
_SEEN_SECONDS = 2.0
_LOOK_EACH_SECONDS = 0.05


async def until_seen(is_seen: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a broker shows a change, but not for long: whoever looks again later will see it. The change has been
    made, whether or not somebody may look at it."""
    with suppress(TimeoutError, *EXPECTED_FAILURES):
        async with asyncio.timeout(_SEEN_SECONDS):
            while True:
                if await is_seen():
                    return
                await asyncio.sleep(_LOOK_EACH_SECONDS)
