"""Waiting for a partition: producers wait for the high watermark, readers for bytes.

Both kinds end in one of three ways: what they wait for happens, they time out, or the replica changes its role
(deleted, offline, no longer leader) and they look again.

Whoever looks at a partition and then waits for it must be known to the partition before anything else can happen to it,
or it misses what happens in between. So both kinds are registered by the call that looks, not by the one that awaits:
`OffsetWaits.add` returns a future that is already in the heap, and a `FetchWait` is created before the first partition
is read, and watches each one from the moment it is read.
"""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

from tidelog.model.errors import ErrorCode

# Abandoned waits are dropped when there are twice as many waits as after the last time, and at least so many.
_FIRST_PRUNING = 64


class OffsetWaits:
    """Waits until a bound of the log, such as the high watermark, has reached an offset.

    Each receives NONE, or what went wrong.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, asyncio.Future[ErrorCode]]] = []
        self._order = count()
        self._prune_at = _FIRST_PRUNING

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, offset: int) -> asyncio.Future[ErrorCode]:
        """Done when the bound has reached `offset`."""
        waiting: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        if len(self._heap) >= self._prune_at:
            self._prune()
        heapq.heappush(self._heap, (offset, next(self._order), waiting))
        return waiting

    def _prune(self) -> None:
        """As long as the bound does not move, abandoned waits would accumulate."""
        self._heap = [entry for entry in self._heap if not entry[2].done()]
        heapq.heapify(self._heap)
        self._prune_at = max(_FIRST_PRUNING, 2 * len(self._heap))

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


# The waits for one replica. A dictionary, because a set of objects has another order in every process, and what
# the server does must not depend on that.
FetchWaits = dict["FetchWait", None]


class FetchWait:
    """One fetch that waits for bytes in any of its partitions. Created before they are read.

    `watch` each partition right after it was read, then either `begin` to wait or `release`. Once it has begun, it
    releases itself when its future is done: because there are enough bytes, on a timeout, or because the future was
    cancelled when the reader disconnected.
    """

    __slots__ = ("_grown", "_places", "_timer", "_woken", "overdue")

    def __init__(self) -> None:
        self._places: list[FetchWaits] = []
        # Bytes that were added before `begin`, below zero those that are missing after it.
        self._grown = 0
        self._woken: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        # Whether it timed out and nothing at all had happened to the partitions until the answer was built.
        self.overdue = False

    def watch(self, place: FetchWaits) -> None:
        place[self] = None
        self._places.append(place)

    def begin(self, needed: int, timeout_ms: float) -> asyncio.Future[None]:
        """Done when `needed` bytes were added since the partitions were watched, or on a timeout."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        self._woken = woken
        self._grown -= needed
        self._timer = loop.call_later(timeout_ms / 1000, self._expire)
        woken.add_done_callback(self._done)
        if self._grown >= 0:
            self.wake()
        return woken

    def grown(self, readable_bytes: int) -> None:
        """So many more bytes have become readable."""
        self._grown += readable_bytes
        self.overdue = False
        if self._grown >= 0:
            self.wake()

    def wake(self) -> None:
        """Something has happened that the reader must look at."""
        self.overdue = False
        woken = self._woken
        if woken is None:
            self._grown = 1 << 62
        elif not woken.done():
            woken.set_result(None)

    def _expire(self) -> None:
        assert self._woken is not None
        if not self._woken.done():
            self.overdue = True
            self._woken.set_result(None)

    def _done(self, _: asyncio.Future[None]) -> None:
        self.release()

    def release(self) -> None:
        """The partitions forget it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for place in self._places:
            place.pop(self, None)
        self._places.clear()
