"""Waiting for a partition: producers wait for the high watermark, readers for bytes.

Both kinds end in one of three ways: what they wait for happens, their time is up, or the replica stops being what it
was (deleted, offline, no longer leader) and they look again.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable
from itertools import count

from tidelog.model.errors import ErrorCode


class OffsetWaits:
    """Those who wait until a bound of the log, such as the high watermark, has reached an offset.

    Each is told NONE, or what went wrong.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, asyncio.Future[ErrorCode]]] = []
        self._order = count()

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, offset: int) -> asyncio.Future[ErrorCode]:
        """Done when the bound has reached `offset`."""
        waiting: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._heap, (offset, next(self._order), waiting))
        return waiting

    def advanced(self, bound: int) -> None:
        while self._heap and self._heap[0][0] <= bound:
            waiting = heapq.heappop(self._heap)[2]
            if not waiting.done():
                waiting.set_result(ErrorCode.NONE)

    def fail(self, code: ErrorCode) -> None:
        for _, _, waiting in self._heap:
            if not waiting.done():
                waiting.set_result(code)
        self._heap.clear()


# Those who wait for one replica. A dictionary, because a set of objects has another order in every process, and what
# the server does must not depend on that.
FetchWaits = dict["FetchWait", None]


class FetchWait:
    """One fetch that waits for `needed` more bytes in any of its partitions."""

    __slots__ = ("_needed", "_woken")

    def __init__(self, needed: int) -> None:
        self._needed = needed
        self._woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def grown(self, readable_bytes: int) -> None:
        """So many bytes more have become readable."""
        self._needed -= readable_bytes
        if self._needed <= 0:
            self.wake()

    def wake(self) -> None:
        if not self._woken.done():
            self._woken.set_result(None)

    async def wait(self, watched: Iterable[FetchWaits], timeout_ms: float) -> None:
        """Until enough has grown or the time is up. `watched` are the waits of the replicas that are read."""
        places = list(watched)
        for place in places:
            place[self] = None
        timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, self.wake)
        try:
            await self._woken
        finally:
            timer.cancel()
            for place in places:
                place.pop(self, None)
