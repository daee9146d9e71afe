"""A file of sorted fixed-size entries that is searched on disk and appended through a small buffer.

The common ground of `offset_index` and `time_index`. Nothing of a closed segment's index stays in memory and no
descriptor stays open: a search costs an open, a few small reads and a close, some tens of microseconds, beside a
read of up to a megabyte of records that follows it. Entries that were appended lately wait in memory and are
written in groups; losing them in a crash is harmless, because recovery rebuilds every index above the recovery
point, and `write_pending` comes before the recovery point moves.
"""

from __future__ import annotations

from struct import Struct
from typing import Literal

from tidelog.records.batch import Buffer
from tidelog.storage.files.filesystem import TOO_MANY_OPEN_FILES, File, FileSystem, means_full, read_whole, replace_file

Entry = tuple[int, int]
Field = Literal[0, 1]

_WRITE_AT_PENDING_ENTRIES = 128
# From so many entries on, the search on disk goes over to one read of all of them.
_BLOCK_ENTRIES = 512


class CorruptIndex(Exception):
    """An index that contradicts itself or its log. It is rebuilt from the log."""


class SparseIndex:
    """Entries of two numbers, both of which never fall from one entry to the next."""

    __slots__ = ("_entry", "_filesystem", "_last", "_pending", "_written", "path")

    def __init__(self, filesystem: FileSystem, path: str, entry: Struct, file_size: int) -> None:
        self.path = path
        self._filesystem = filesystem
        self._entry = entry
        # Bytes behind the last whole entry are overwritten by the next one.
        self._written = file_size // entry.size
        self._pending = bytearray()
        self._last: Entry | None = None

    def __len__(self) -> int:
        return self._written + len(self._pending) // self._entry.size

    def append(self, first: int, second: int) -> None:
        self._pending += self._entry.pack(first, second)
        self._last = (first, second)
        if len(self._pending) >= _WRITE_AT_PENDING_ENTRIES * self._entry.size:
            try:
                self.write_pending()
            except OSError as error:
                # They can wait for a descriptor or for room: the batch is written, and must not fail because of its
                # index.
                if error.errno not in TOO_MANY_OPEN_FILES and not means_full(error):
                    raise

    def write_pending(self) -> bool:
        """Whether there was something to write."""
        if not self._pending:
            return False
        file = self._filesystem.open(self.path, create=True)
        try:
            file.write(self._written * self._entry.size, self._pending)
        finally:
            file.close()
        self._written = len(self)
        self._pending = bytearray()
        return True

    def last(self) -> Entry | None:
        if self._last is None and len(self):
            self._last = self.entry(len(self) - 1)
        return self._last

    def entry(self, number: int) -> Entry:
        size = self._entry.size
        if number >= self._written:
            first, second = self._entry.unpack_from(self._pending, (number - self._written) * size)
            return first, second
        file = self._filesystem.open(self.path)
        try:
            return self._read_entry(file, number)
        finally:
            file.close()

    def floor(self, target: int, *, field: Field = 0) -> Entry | None:
        """The last entry whose `field` is not above `target`."""
        count = self.count_up_to(target, field=field)
        return self.entry(count - 1) if count else None

    def ceiling(self, target: int, *, field: Field) -> Entry | None:
        """The first entry whose `field` is not below `target`."""
        count = self.count_up_to(target - 1, field=field)
        return self.entry(count) if count < len(self) else None

    def count_up_to(self, target: int, *, field: Field = 0) -> int:
        """How many entries, from the first on, have a `field` not above `target`."""
        pending = self._pending
        if pending and self._entry.unpack_from(pending)[field] <= target:
            return self._written + self._search(pending, 0, len(pending) // self._entry.size, target, field)
        if self._written == 0:
            return 0
        file = self._filesystem.open(self.path)
        try:
            return self._search_file(file, target, field)
        finally:
            file.close()

    def truncate(self, count: int) -> None:
        """Keep the first `count` entries, on disk too."""
        self._last = None
        size = self._entry.size
        if count >= self._written:
            del self._pending[(count - self._written) * size :]
            return
        self._pending = bytearray()
        file = self._filesystem.open(self.path)
        try:
            file.truncate(count * size)
        finally:
            file.close()
        self._written = count

    def replace(self, content: Buffer) -> None:
        """Exchange all entries at once, so that a crash in a rebuild leaves the old index or the new one.

        Synced, because an index below the recovery point is not looked at again.
        """
        replace_file(self._filesystem, self.path, content)
        self._written = len(content) // self._entry.size
        self._pending = bytearray()
        self._last = None

    def entries(self) -> list[Entry]:
        """All of them, for checks and dumps."""
        content = bytearray(read_whole(self._filesystem, self.path)[: self._written * self._entry.size])
        content += self._pending
        return [(first, second) for first, second in self._entry.iter_unpack(content)]

    def _read_entry(self, file: File, number: int) -> Entry:
        content = file.read(number * self._entry.size, self._entry.size)
        if len(content) < self._entry.size:
            raise CorruptIndex(f"{self.path} ends before entry {number}")
        first, second = self._entry.unpack(content)
        return first, second

    def _search_file(self, file: File, target: int, field: Field) -> int:
        low, high = 0, self._written
        while high - low > _BLOCK_ENTRIES:
            middle = (low + high) // 2
            if self._read_entry(file, middle)[field] <= target:
                low = middle + 1
            else:
                high = middle
        size = self._entry.size
        block = file.read(low * size, (high - low) * size)
        if len(block) < (high - low) * size:
            raise CorruptIndex(f"{self.path} ends before entry {high - 1}")
        return low + self._search(block, 0, high - low, target, field)

    def _search(self, block: Buffer, low: int, high: int, target: int, field: Field) -> int:
        unpack_from = self._entry.unpack_from
        size = self._entry.size
        while low < high:
            middle = (low + high) // 2
            if unpack_from(block, middle * size)[field] <= target:
                low = middle + 1
            else:
                high = middle
        return low
