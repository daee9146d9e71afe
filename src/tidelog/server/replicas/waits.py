"""Waiting for a partition: producers wait for the high watermark, readers for bytes.

Both kinds end in one of three ways: what they wait for happens, their time is up, or the replica stops being what it
was (deleted, offline, no longer leader) and they look again.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable
from itertools import count
from typing import Protocol


class CommitWaits:
    """Producers with acks=all, ordered by the offset that has to be committed."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()

    def add(self, offset: int) -> asyncio.Future[None]:
        """Done when the high watermark has reached `offset`."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._heap, (offset, next(self._order), waiting))
        return waiting

    def advanced(self, high_watermark: int) -> None:
        while self._heap and self._heap[0][0] <= high_watermark:
            waiting = heapq.heappop(self._heap)[2]
            if not waiting.done():
                waiting.set_result(None)

    def fail(self, error: Exception) -> None:
        for _, _, waiting in self._heap:
            if not waiting.done():
                waiting.set_exception(error)
        self._heap.clear()


class Watched(Protocol):
    """What a fetch can wait for."""

    fetch_waits: set[FetchWait]


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

    async def wait(self, replicas: Iterable[Watched], timeout_ms: float) -> None:
        """Until enough has grown or the time is up."""
        watched = list(replicas)
        for replica in watched:
            replica.fetch_waits.add(self)
        timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, self.wake)
        try:
            await self._woken
        finally:
            timer.cancel()
            for replica in watched:
                replica.fetch_waits.discard(self)
