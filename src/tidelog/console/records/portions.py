"""A portion of several logs in the order of time, of which a filter may leave some.

What is read for one portion is bounded by records, bytes and time. A portion that ends at such a bound says where, and
the next one goes on from there.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from enum import StrEnum

from tidelog.client.browsing import PAGE_UNPACKED_BYTES, LogBrowser, RecordEntry, Unreadable
from tidelog.console.findings.record_filter import MessageFilter
from tidelog.console.records.directed_logs import DirectedLog, NewerLog, OlderLog, last_offset_of, size_of
from tidelog.console.records.filtering import PlacedEntry, RecordTester
from tidelog.console.records.patterns import PatternTooSlow
from tidelog.console.records.places import ReadPlace
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

MOST_ROWS = 500
# Of one read of all partitions, and of one of them; as compressed as they are.
_PAGE_BYTES = 1 << 18
_LEAST_PAGE_BYTES = 1 << 15
# And decompressed: all partitions hold what was read and not taken yet.
_LEAST_UNPACKED_BYTES = 1 << 20
# Entries that are tested together.
_TESTED = 500
_TESTED_BYTES = 4 << 20
_EVERYTHING = sys.maxsize
# Logs that are read at the same time.
_AT_ONCE = 10


class PortionEnd(StrEnum):
    """Why a portion has no more."""

    # There are as many as were wanted.
    ROWS = "rows"
    # Nothing more is there.
    LOG = "log"
    RECORDS = "records"
    BYTES = "bytes"
    TIME = "time"
    PATTERN = "pattern"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBounds:
    """Of all that is read for one portion, whatever the filter leaves of it."""

    records: int = 50_000
    bytes: int = 32 << 20
    seconds: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """`rows` in the order of the log, whichever way it was read. What is older ends at `before`, what is newer begins
    at `after`. `scanned` counts records."""

    rows: tuple[PlacedEntry, ...]
    before: Mapping[int, int]
    after: Mapping[int, int]
    scanned: int
    scanned_bytes: int
    ended: PortionEnd


async def read_newer(
    browser: LogBrowser,
    place: ReadPlace,
    positions: Mapping[int, int],
    *,
    rows: int,
    wanted: MessageFilter,
    bounds: ReadBounds | None = None,
) -> Portion:
    """From the positions on. Raises ApiError, and ConsoleRefusal for a wrong regular expression."""
    reading = newer_reading(browser, place, positions, wanted, bounds or ReadBounds())
    async with reading:
        found = await reading.next_rows(rows)
    return Portion(
        rows=tuple(found),
        before=positions,
        after=reading.positions,
        scanned=reading.scanned,
        scanned_bytes=reading.read_bytes,
        ended=reading.ended or PortionEnd.ROWS,
    )


async def read_older(
    browser: LogBrowser,
    place: ReadPlace,
    positions: Mapping[int, int],
    *,
    rows: int,
    wanted: MessageFilter,
    bounds: ReadBounds | None = None,
) -> Portion:
    """What is before the positions, the newest first. Raises as `read_newer` does."""
    logs = [
        OlderLog(
            browser,
            TopicPartition(place.topic, each),
            position,
            _page_bytes(place),
            start=place.starts[each],
            unpacked_bytes=_unpacked_bytes(place),
        )
        for each, position in positions.items()
    ]
    reading = PortionReading(logs, place.topic, positions, wanted, bounds or ReadBounds(), newest_first=True)
    async with reading:
        found = await reading.next_rows(rows)
    return Portion(
        rows=tuple(reversed(found)),
        before=reading.positions,
        after=positions,
        scanned=reading.scanned,
        scanned_bytes=reading.read_bytes,
        ended=reading.ended or PortionEnd.ROWS,
    )


def newer_reading(
    browser: LogBrowser, place: ReadPlace, positions: Mapping[int, int], wanted: MessageFilter, bounds: ReadBounds
) -> PortionReading:
    logs = [
        NewerLog(
            browser,
            TopicPartition(place.topic, each),
            position,
            _page_bytes(place),
            unpacked_bytes=_unpacked_bytes(place),
        )
        for each, position in positions.items()
    ]
    return PortionReading(logs, place.topic, positions, wanted, bounds)


class PortionReading:
    """`positions` are where reading goes on: behind (or before) the last entry of each partition that was looked at.
    `scanned` counts records, `unreadable` what could not be read."""

    def __init__(
        self,
        logs: Sequence[DirectedLog],
        topic: str,
        positions: Mapping[int, int],
        wanted: MessageFilter,
        bounds: ReadBounds,
        *,
        newest_first: bool = False,
    ) -> None:
        self.positions = dict(positions)
        self.scanned = 0
        self.unreadable = 0
        # Entries with their verdicts that are still to be looked at, and why no more of them come.
        self._tested: deque[tuple[PlacedEntry, bool]] = deque()
        self._last: PortionEnd | None = None
        self._logs = logs
        self._wanted = wanted
        self._bounds = bounds
        self._newest_first = newest_first
        self._deadline = time.monotonic() + bounds.seconds
        self._ready: list[tuple[int, int, DirectedLog]] = []
        self._waiting: list[DirectedLog] = list(logs)
        self._tester = RecordTester(topic, wanted)

    async def __aenter__(self) -> PortionReading:
        await self._tester.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tester.__aexit__()

    @property
    def read_bytes(self) -> int:
        return sum(log.read_bytes for log in self._logs)

    @property
    def ended(self) -> PortionEnd | None:
        """Why nothing comes any more; None while there may be more."""
        return None if self._tested else self._last

    async def next_rows(self, most: int) -> list[PlacedEntry]:
        """Fewer if there is an end, which `ended` tells."""
        found: list[PlacedEntry] = []
        while len(found) < most and self.ended is None:
            found += await self.next_part(most - len(found))
        return found

    async def next_part(self, most: int, most_bytes: int = _EVERYTHING) -> list[PlacedEntry]:
        """What the filter leaves of the next entries, which may be nothing. An entry is larger than `most_bytes` only
        if it is the last one of the part."""
        if self.ended is None and not self._tested:
            await self._test_more(most if self._wanted.is_empty else _TESTED)
        found: list[PlacedEntry] = []
        size = 0
        while self._tested and len(found) < most and size < most_bytes:
            placed, verdict = self._tested.popleft()
            self._look_at(placed)
            if verdict:
                found.append(placed)
                size += size_of(placed.entry)
        return found

    async def _test_more(self, most: int) -> None:
        batch = await self._next_entries(most)
        try:
            self._tested.extend(zip(batch, await self._tester.verdicts(batch), strict=True))
        except PatternTooSlow:
            self._last = PortionEnd.PATTERN

    def _look_at(self, placed: PlacedEntry) -> None:
        entry = placed.entry
        self.positions[placed.partition] = entry.offset if self._newest_first else last_offset_of(entry) + 1
        self.scanned += isinstance(entry, RecordEntry)
        self.unreadable += isinstance(entry, Unreadable)

    async def _next_entries(self, most: int) -> list[PlacedEntry]:
        """The next entries of all logs in the order of time. Notes if nothing comes behind them."""
        batch: list[PlacedEntry] = []
        size = 0
        while len(batch) < most and size < _TESTED_BYTES:
            if self.scanned + len(batch) >= self._bounds.records:
                self._last = PortionEnd.RECORDS
                return batch
            if self._waiting:
                self._last = self._spent()
                if self._last is not None:
                    return batch
                await self._fill()
            if not self._ready:
                self._last = PortionEnd.LOG
                return batch
            _, _, log = heapq.heappop(self._ready)
            entry = log.entries.popleft()
            batch.append(PlacedEntry(log.number, entry))
            size += size_of(entry)
            self._put_back(log)
        return batch

    async def _fill(self) -> None:
        """All logs whose next entry is not known: without it there is no order."""
        waiting, self._waiting = self._waiting, []
        for first in range(0, len(waiting), _AT_ONCE):
            await asyncio.gather(*(log.fill() for log in waiting[first : first + _AT_ONCE]))
        for log in waiting:
            self._put_back(log)

    def _put_back(self, log: DirectedLog) -> None:
        if log.entries:
            at = log.head_time()
            # What is as old as each other has the same order both ways.
            sign = -1 if self._newest_first else 1
            heapq.heappush(self._ready, (sign * at, sign * log.number, log))
        elif not log.is_done:
            self._waiting.append(log)

    def _spent(self) -> PortionEnd | None:
        """The first part of each log is read in any case, so that there is progress."""
        if self.read_bytes == 0:
            return None
        if self.read_bytes >= self._bounds.bytes:
            return PortionEnd.BYTES
        return PortionEnd.TIME if time.monotonic() >= self._deadline else None


def _page_bytes(place: ReadPlace) -> int:
    return max(_LEAST_PAGE_BYTES, _PAGE_BYTES // max(len(place.ends), 1))


def _unpacked_bytes(place: ReadPlace) -> int:
    return max(_LEAST_UNPACKED_BYTES, PAGE_UNPACKED_BYTES // max(len(place.ends), 1))
