"""Sorted entries that are searched on disk and appended through a small buffer: `offset_index` and `time_index`.

A search costs an open, a few small reads and a close, some tens of microseconds, beside a read of up to a megabyte of
records that follows it.
"""

from __future__ import annotations

from contextlib import closing
from typing import Literal

from tidelog.records.batch import Buffer
from tidelog.storage.files.filesystem import File
from tidelog.storage.indexes.entry_file import CorruptIndex, EntryFile

Entry = tuple[int, int]
Field = Literal[0, 1]

_WRITE_AT_PENDING_ENTRIES = 128
# When only so many entries are left, the search on disk reads all of them at once.
_BLOCK_ENTRIES = 512


class SparseIndex(EntryFile):
    """Entries of two numbers, both of which never fall from one entry to the next."""

    __slots__ = ("_last",)

    _last: Entry | None

    def append(self, first: int, second: int) -> None:
        self.add(first, second)
        self._last = (first, second)
        if len(self._pending) >= _WRITE_AT_PENDING_ENTRIES * self.entry.size:
            self.write_if_possible()

    def last(self) -> Entry | None:
        if self._last is None and len(self):
            self._last = self.entry_at(len(self) - 1)
        return self._last

    def entry_at(self, number: int) -> Entry:
        if number >= self._written:
            first, second = self.entry.unpack_from(self._pending, (number - self._written) * self.entry.size)
            return first, second
        with closing(self._filesystem.open(self.path)) as file:
            return self._read_entry(file, number)

    def floor(self, target: int, *, field: Field = 0) -> Entry | None:
        """The last entry whose `field` is not above `target`."""
        count = self._search(self._pending, target, field)
        if count:
            return self.entry_at(self._written + count - 1)
        if not self._written:
            return None
        with closing(self._filesystem.open(self.path)) as file:
            count = self._search_file(file, target, field)
            return self._read_entry(file, count - 1) if count else None

    def ceiling(self, target: int, *, field: Field) -> Entry | None:
        """The first entry whose `field` is not below `target`."""
        count = self.count_up_to(target - 1, field=field)
        return self.entry_at(count) if count < len(self) else None

    def count_up_to(self, target: int, *, field: Field = 0) -> int:
        """How many entries, from the first on, have a `field` not above `target`."""
        count = self._search(self._pending, target, field)
        if count or not self._written:
            return self._written + count
        with closing(self._filesystem.open(self.path)) as file:
            return self._search_file(file, target, field)

    def truncate(self, count: int) -> None:
        self._last = None
        super().truncate(count)

    def check_ends(self, file_size: int, *, least_growth: int) -> Entry | None:
        """The last entry, whose second field must be above that of the first one by `least_growth`.

        Raises CorruptIndex for what Kafka's sanity checks refuse. A file that Kafka preallocated and could not trim
        before a crash ends in zeroes: then the last entry is not above the first one.
        """
        self.check_size(file_size)
        if not len(self):
            return None
        last = self.entry_at(len(self) - 1)
        if last[0] < 0 or last[1] < 0:
            raise CorruptIndex(f"{self.path}: the last entry {last} is negative")
        first = self.entry_at(0)
        if len(self) > 1 and (last[0] <= first[0] or last[1] < first[1] + least_growth):
            raise CorruptIndex(f"{self.path}: the last entry {last} is not above the first one")
        return last

    def _reset(self, file_size: int) -> None:
        super()._reset(file_size)
        self._last = None

    def _read_entry(self, file: File, number: int) -> Entry:
        content = file.read(number * self.entry.size, self.entry.size)
        if len(content) < self.entry.size:
            raise CorruptIndex(f"{self.path} ends before entry {number}")
        first, second = self.entry.unpack(content)
        return first, second

    def _search_file(self, file: File, target: int, field: Field) -> int:
        low, high = 0, self._written
        while high - low > _BLOCK_ENTRIES:
            middle = (low + high) // 2
            if self._read_entry(file, middle)[field] <= target:
                low = middle + 1
            else:
                high = middle
        size = self.entry.size
        block = file.read(low * size, (high - low) * size)
        if len(block) < (high - low) * size:
            raise CorruptIndex(f"{self.path} ends before entry {high - 1}")
        return low + self._search(block, target, field)

    def _search(self, block: Buffer, target: int, field: Field) -> int:
        """How many of the entries in `block` have a `field` not above `target`."""
        unpack_from = self.entry.unpack_from
        size = self.entry.size
        low, high = 0, len(block) // size
        while low < high:
            middle = (low + high) // 2
            if unpack_from(block, middle * size)[field] <= target:
                low = middle + 1
            else:
                high = middle
        return low
