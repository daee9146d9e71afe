"""`.timeindex`: where some of the timestamps are. Entries: timestamp i64, offset relative to the segment's i32.

An entry says that no record up to the offset has a larger timestamp. The offset is the last one of the batch that
holds the largest timestamp. The last entry of a closed segment covers all of it.
"""

from __future__ import annotations

from struct import Struct

from tidelog.records.batch import NO_TIMESTAMP
from tidelog.storage.indexes.sparse_index import SparseIndex

TIME_ENTRY = Struct(">qi")


class TimeIndex(SparseIndex):
    __slots__ = ()

    entry = TIME_ENTRY

    def append_timestamp(self, timestamp: int, *, offset: int) -> None:
        """Note the largest timestamp so far and its offset; does nothing if the index already has it."""
        if timestamp > self.last_entry()[0]:
            self.append(timestamp, offset - self._base_offset)

    def offset_before(self, timestamp: int) -> int:
        """The offset of the last entry that is not above `timestamp`, or the first offset of the segment."""
        _, relative_offset = self.floor(timestamp) or (NO_TIMESTAMP, 0)
        return self._base_offset + relative_offset

    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; the timestamp is -1 if there is none."""
        timestamp, relative_offset = self.last() or (NO_TIMESTAMP, 0)
        return timestamp, self._base_offset + relative_offset

    def truncate_to_offset(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        self.truncate(self.count_up_to(offset - self._base_offset - 1, field=1))

    def is_full(self, limit_bytes: int) -> bool:
        """One place is reserved for the entry that closing the segment adds."""
        return len(self) >= limit_bytes // TIME_ENTRY.size - 1

    def check(self, file_size: int) -> None:
        """Raises CorruptIndex for what Kafka's sanity checks refuse."""
        self.check_ends(file_size, least_growth=0)
