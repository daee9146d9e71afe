"""`.index`: where in the log some of the offsets are. Entries: offset relative to the segment's i32, position i32.

An entry names the last offset of a batch and the position where that batch begins.
"""

from __future__ import annotations

from struct import Struct

from tidelog.model.invariants import require
from tidelog.records.batch import HEADER_SIZE
from tidelog.storage.indexes.entry_file import CorruptIndex
from tidelog.storage.indexes.sparse_index import SparseIndex

OFFSET_ENTRY = Struct(">ii")


class OffsetIndex(SparseIndex):
    __slots__ = ()

    entry = OFFSET_ENTRY

    def append_offset(self, offset: int, *, position: int) -> None:
        self.append(offset - self._base_offset, position)

    def position_before(self, offset: int) -> tuple[int, int]:
        """(offset, position) of the last entry that is not above `offset`, or the beginning of the segment."""
        relative_offset, position = self.floor(offset - self._base_offset) or (0, 0)
        return self._base_offset + relative_offset, position

    def offset_at_or_after_position(self, position: int) -> int | None:
        entry = self.ceiling(position, field=1)
        return None if entry is None else self._base_offset + entry[0]

    def last_entry(self) -> tuple[int, int]:
        """(offset, position) of the last entry, or the beginning of the segment."""
        relative_offset, position = self.last() or (0, 0)
        return self._base_offset + relative_offset, position

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
        """Raises CorruptIndex for what Kafka's sanity checks refuse, and for positions behind the log's end."""
        last = self.check_ends(file_size, least_growth=1)
        if last is not None and last[1] >= log_size:
            raise CorruptIndex(f"{self.path}: the last entry {last} lies outside of the log")
