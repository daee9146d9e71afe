"""Work on the metadata log that waits for a descriptor instead of failing.

A vote that cannot be written is not cast, but neither has the disk failed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tidelog.storage.files.filesystem import TOO_MANY_OPEN_FILES, StorageFailure

logger = logging.getLogger(__name__)

T = TypeVar("T")

SHORTAGE_RETRY_SECONDS = 0.1


async def await_patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do it, and retry as long as the process has no descriptor for it. Raises all other failures."""
    while True:
        try:
            return await work()
        except (StorageFailure, OSError) as failure:
            cause = failure.cause if isinstance(failure, StorageFailure) else failure
            if cause.errno not in TOO_MANY_OPEN_FILES:
                raise
            logger.warning("the metadata log is waiting for a descriptor: %s", failure)
        await asyncio.sleep(SHORTAGE_RETRY_SECONDS)


async def patiently(work: Callable[[], T]) -> T:
    async def once() -> T:
        return work()

    return await await_patiently(once)


async def patiently_in_thread(work: Callable[[], T]) -> T:
    loop = asyncio.get_running_loop()
    return await await_patiently(lambda: loop.run_in_executor(None, work))
