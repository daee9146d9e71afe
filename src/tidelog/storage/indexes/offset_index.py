"""`.index`: where in the log some of the offsets are. Entries: offset relative to the segment's i32, position i32.

An entry names the last offset of a batch and the position where that batch begins.
"""

from __future__ import annotations

from struct import Struct

from tidelog.model.invariants import require
from tidelog.records.batch import HEADER_SIZE
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.indexes.sparse_index import CorruptIndex, SparseIndex

OFFSET_ENTRY = Struct(">ii")


class OffsetIndex(SparseIndex):
    __slots__ = ("_base_offset",)

    def __init__(self, filesystem: FileSystem, path: str, base_offset: int, *, file_size: int) -> None:
        super().__init__(filesystem, path, OFFSET_ENTRY, file_size)
        self._base_offset = base_offset

    def append_offset(self, offset: int, *, position: int) -> None:
        self.append(offset - self._base_offset, position)

    def position_before(self, offset: int) -> tuple[int, int]:
        """(offset, position) of the last entry that is not above `offset`, or the beginning of the segment."""
        entry = self.floor(offset - self._base_offset)
        if entry is None:
            return self._base_offset, 0
        return self._base_offset + entry[0], entry[1]

    def offset_at_or_after_position(self, position: int) -> int | None:
        entry = self.ceiling(position, field=1)
        return None if entry is None else self._base_offset + entry[0]

    def last_entry(self) -> tuple[int, int]:
        """(offset, position) of the last entry, or the beginning of the segment."""
        entry = self.last()
        if entry is None:
            return self._base_offset, 0
        return self._base_offset + entry[0], entry[1]

    def truncate_to_offset(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        self.truncate(self.count_up_to(offset - self._base_offset - 1))

    def is_full(self, limit_bytes: int) -> bool:
        return len(self) >= limit_bytes // OFFSET_ENTRY.size

    def check_invariants(self, end_offset: int, *, log_size: int) -> None:
        """Of the last entry, if this process has just written it: one that is read from the disk may be damaged."""
        require(len(self) * HEADER_SIZE <= log_size, self.path, "a batch has at most one entry", count=len(self))
        if self._pending:
            offset, position = self.last_entry()
            inside = offset < end_offset and position < log_size
            require(inside, self.path, "the last entry points into the log", entry=(offset, position), size=log_size)

    def check(self, file_size: int, *, log_size: int) -> None:
        """Raises CorruptIndex for what Kafka's sanity checks refuse, and for positions behind the log's end.

        A file that Kafka preallocated and could not trim before a crash ends in zeroes, and is found here because
        its last entry is not above its first one.
        """
        if file_size % OFFSET_ENTRY.size:
            raise CorruptIndex(f"{self.path}: {file_size} bytes are not a multiple of {OFFSET_ENTRY.size}")
        if not len(self):
            return
        offset, position = self.entry(len(self) - 1)
        if offset < 0 or position < 0 or position >= log_size:
            raise CorruptIndex(f"{self.path}: the last entry ({offset}, {position}) lies outside of the log")
        first_offset, first_position = self.entry(0)
        if len(self) > 1 and (offset <= first_offset or position <= first_position):
            raise CorruptIndex(f"{self.path}: the last entry ({offset}, {position}) is not above the first one")
