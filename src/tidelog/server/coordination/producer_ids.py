"""Producer ids for this broker, taken from the controller in blocks so that each one is given out once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

# (first id, how many)
Block = tuple[int, int]


class ProducerIds:
    def __init__(self, allocate: Callable[[], Awaitable[Block]]) -> None:
        self._allocate = allocate
        self._next = 0
        self._end = 0
        self._lock = asyncio.Lock()

    async def next(self) -> int:
        """Raises ApiError if the controller cannot be asked."""
        async with self._lock:
            if self._next >= self._end:
                first, count = await self._allocate()
                self._next, self._end = first, first + count
            given = self._next
            self._next += 1
            return given
