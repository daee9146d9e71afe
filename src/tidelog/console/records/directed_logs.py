"""The log of one partition, entry by entry, towards newer or towards older ones.

Both kinds read in parts of about `page_bytes`, whatever the size of records. A log can only be read from an offset on,
so the way back is made of windows of offsets, the next one as large as the records of the last one allow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import replace

from tidelog.client.browsing import (
    PAGE_UNPACKED_BYTES,
    ControlEntry,
    Entry,
    Gap,
    LogBrowser,
    LogPage,
    RecordEntry,
    Unreadable,
)
from tidelog.model.ids import TopicPartition

# Entries of one read. Batches are decoded as a whole, so what a read does not take of them is decoded in vain.
_MOST_ENTRIES = 20_000
# The first read of a log is smaller: a page of rows mostly has enough with it.
_FIRST_PART = 4
# Offsets of one window.
_FIRST_WINDOW = 8
_LARGEST_WINDOW = 10_000
_GROWTH = 8
# A gap may be as long as the log: what is only a gap costs nothing to pass.
_LARGEST_GAP_WINDOW = 1 << 40
# Bytes of the records of a window, in reads: they are packed in a read, and mostly pack well.
_READS_OF_WINDOW = 8
# Of a record and of a header, apart from what is in them.
_RECORD_BYTES = 20
_HEADER_BYTES = 64


def last_offset_of(entry: Entry) -> int:
    return entry.last_offset if isinstance(entry, Gap | Unreadable) else entry.offset


def size_of(entry: Entry) -> int:
    """About the bytes of it, unpacked."""
    if not isinstance(entry, RecordEntry):
        return _RECORD_BYTES
    headers = sum(_HEADER_BYTES + len(name) + len(value or b"") for name, value in entry.headers)
    return _RECORD_BYTES + len(entry.key or b"") + len(entry.value or b"") + headers


class DirectedLog(ABC):
    """`entries` are what was read and not taken yet, in the order in which they are to be taken."""

    def __init__(
        self,
        browser: LogBrowser,
        partition: TopicPartition,
        position: int,
        page_bytes: int,
        *,
        unpacked_bytes: int = PAGE_UNPACKED_BYTES,
    ) -> None:
        """`page_bytes` are fetched at once; what they unpack to is held until it is taken."""
        self.number = partition.partition
        self.entries: deque[Entry] = deque()
        # Nothing more comes behind the entries.
        self.is_done = False
        self.read_bytes = 0
        self._browser = browser
        self._partition = partition
        self._position = position
        self._page_bytes = page_bytes
        self._unpacked_bytes = unpacked_bytes
        self._time: int | None = None

    @property
    def _came_from_newer(self) -> bool:
        """Whether what is behind the next entry in the log is known already."""
        return False

    @abstractmethod
    async def fill(self) -> None:
        """Read on: afterwards there are entries, or it is done."""

    def head_time(self) -> int:
        """When the next entry was written. What has no time of its own has that of what is behind it in the log."""
        for entry in self.entries:
            if self._came_from_newer and not isinstance(entry, RecordEntry | ControlEntry):
                break
            if isinstance(entry, RecordEntry | ControlEntry):
                self._time = entry.timestamp_ms
                break
        return self._time if self._time is not None else 0

    async def _page(self, offset: int, max_entries: int, max_bytes: int) -> LogPage:
        page = await self._browser.page(
            self._partition,
            offset,
            max_entries=max_entries,
            max_bytes=max_bytes,
            max_unpacked_bytes=self._unpacked_bytes,
        )
        self.read_bytes += sum(map(size_of, page.entries))
        return page


class NewerLog(DirectedLog):
    """From a position on."""

    async def fill(self) -> None:
        size = self._page_bytes if self.read_bytes else self._page_bytes // _FIRST_PART
        page = await self._page(self._position, _MOST_ENTRIES, size)
        self.entries.extend(page.entries)
        self.is_done = page.next_offset <= self._position or page.next_offset >= page.high_watermark
        self._position = page.next_offset


class OlderLog(DirectedLog):
    """From the entry before a position back to the first one."""

    def __init__(
        self,
        browser: LogBrowser,
        partition: TopicPartition,
        position: int,
        page_bytes: int,
        *,
        start: int,
        unpacked_bytes: int = PAGE_UNPACKED_BYTES,
    ) -> None:
        super().__init__(browser, partition, position, page_bytes, unpacked_bytes=unpacked_bytes)
        self._start = start
        self._window = _FIRST_WINDOW
        # A larger window before this position holds too much.
        self._largest = _LARGEST_GAP_WINDOW
        self.is_done = position <= start

    @property
    def _came_from_newer(self) -> bool:
        return self._time is not None

    async def fill(self) -> None:
        while not self.entries and not self.is_done:
            first = max(self._start, self._position - self._window)
            found, size = await self._read_window(first)
            if found is None:
                # Records here are larger than those that the window was made for.
                self._largest = max(1, (self._position - first) // 2)
                self._window = max(1, (self._position - first) // _GROWTH)
                continue
            if first > self._start and found and isinstance(found[0], Gap) and self._can_see_more(found):
                # Where the gap begins is further back: it is read again together with what is before it.
                if len(found) > 1:
                    self._move_to(found[0].last_offset + 1)
                self._window = min(_GROWTH * self._window, self._largest)
                found = found[1:]
            else:
                window = self._next_window(size, self._position - first)
                # A batch that cannot be read may begin before the window.
                begin = max(self._start, min(first, found[0].offset)) if found else first
                self._move_to(begin)
                self._window = window
                self.is_done = begin <= self._start
            self.entries.extend(reversed(found))

    def _can_see_more(self, found: list[Entry]) -> bool:
        """Beside a gap that begins before the window: with others behind it, or in a larger window."""
        return len(found) > 1 or self._window < self._largest

    def _move_to(self, position: int) -> None:
        self._position = position
        self._largest = _LARGEST_GAP_WINDOW

    async def _read_window(self, first: int) -> tuple[list[Entry] | None, int]:
        """The entries from `first` to the position, and about their size; no entries if that would be far too much."""
        found: list[Entry] = []
        size = 0
        at = first
        while at < self._position:
            page = await self._page(at, min(_MOST_ENTRIES, self._position - at), self._page_bytes)
            size += sum(map(size_of, page.entries))
            found += [self._cut(entry) for entry in page.entries if entry.offset < self._position]
            if page.next_offset <= at:
                break
            at = page.next_offset
            if (
                size > _GROWTH * _READS_OF_WINDOW * self._page_bytes
                and at < self._position
                and self._position - first > 1
            ):
                return None, size
        return found, size

    def _cut(self, entry: Entry) -> Entry:
        if isinstance(entry, Gap | Unreadable) and entry.last_offset >= self._position:
            return replace(entry, last_offset=self._position - 1)
        return entry

    def _next_window(self, size: int, offsets: int) -> int:
        fitting = _READS_OF_WINDOW * self._page_bytes * offsets // max(size, 1)
        return max(1, min(fitting, _GROWTH * offsets, _LARGEST_WINDOW))
