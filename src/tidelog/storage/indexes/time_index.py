"""`.timeindex`: from when on the log is. Entries: timestamp i64, offset relative to the segment's i32.

An entry says that no record up to the offset has a larger timestamp. The offset is the last one of the batch that
holds the largest timestamp. The last entry of a closed segment covers all of it.
"""

from __future__ import annotations

from struct import Struct

from tidelog.records.batch import NO_TIMESTAMP
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.indexes.sparse_index import CorruptIndex, SparseIndex

TIME_ENTRY = Struct(">qi")


class TimeIndex(SparseIndex):
    __slots__ = ("_base_offset",)

    def __init__(self, filesystem: FileSystem, path: str, base_offset: int, *, file_size: int) -> None:
        super().__init__(filesystem, path, TIME_ENTRY, file_size)
        self._base_offset = base_offset

    def append_timestamp(self, timestamp: int, *, offset: int) -> None:
        """Note the largest timestamp so far and its offset; says nothing if the index says so already."""
        last = self.last()
        if timestamp > (NO_TIMESTAMP if last is None else last[0]):
            self.append(timestamp, offset - self._base_offset)

    def offset_before(self, timestamp: int) -> int:
        """The offset of the last entry that is not above `timestamp`, or the first offset of the segment."""
        entry = self.floor(timestamp)
        return self._base_offset if entry is None else self._base_offset + entry[1]

    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; the timestamp is -1 if there is none."""
        entry = self.last()
        if entry is None:
            return NO_TIMESTAMP, self._base_offset
        return entry[0], self._base_offset + entry[1]

    def truncate_to_offset(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        self.truncate(self.count_up_to(offset - self._base_offset - 1, field=1))

    def is_full(self, limit_bytes: int) -> bool:
        """One place is kept for the entry that closing the segment adds."""
        return len(self) >= limit_bytes // TIME_ENTRY.size - 1

    def check(self, file_size: int) -> None:
        """Raises CorruptIndex for what Kafka's sanity checks refuse."""
        if file_size % TIME_ENTRY.size:
            raise CorruptIndex(f"{self.path}: {file_size} bytes are not a multiple of {TIME_ENTRY.size}")
        if not len(self):
            return
        timestamp, offset = self.entry(len(self) - 1)
        first_timestamp, first_offset = self.entry(0)
        if offset < 0 or timestamp < 0:
            raise CorruptIndex(f"{self.path}: the last entry ({timestamp}, {offset}) is negative")
        if len(self) > 1 and (timestamp <= first_timestamp or offset < first_offset):
            raise CorruptIndex(f"{self.path}: the last entry ({timestamp}, {offset}) is not above the first one")
