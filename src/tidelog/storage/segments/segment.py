"""One segment of a log: the file of batches and its indexes.

A segment is *active*, the last of its log and the only one that grows, or *sealed*. An active segment keeps its log
file open; a sealed one opens what it needs when it is read, so that memory and descriptors do not grow with the
amount of stored data. Which segment is asked is decided in `tidelog.storage.log`; rebuilding a segment after a
crash is in `tidelog.storage.recovery.segment_recovery`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from typing import NamedTuple, Self

from tidelog.model.invariants import require
from tidelog.model.unread import UnreadBytes
from tidelog.records.batch import NO_TIMESTAMP, BatchHeader, Buffer, CorruptBatch
from tidelog.storage.files.file_names import (
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_prefix,
)
from tidelog.storage.files.filesystem import File, FileSystem, means_full, sync_file
from tidelog.storage.files.slices import SliceableFile
from tidelog.storage.indexes.entry_file import CorruptIndex
from tidelog.storage.indexes.offset_index import OffsetIndex
from tidelog.storage.indexes.time_index import TimeIndex
from tidelog.storage.indexes.transaction_index import TransactionIndex
from tidelog.storage.log.config import LogConfig
from tidelog.storage.segments.batch_scan import BatchPosition, find_batch, scan_headers

# Offsets in the indexes are relative to the segment's first one, in 31 bits.
MAX_RELATIVE_OFFSET = (1 << 31) - 1
_WRITTEN_AT_A_TIME = 1 << 20
_UNKNOWN = -2
# Positions of the latest batches, remembered so that readers at the end of the log need no index.
_RECENT_BATCHES = 64


class AppendedBatch(NamedTuple):
    """What the segment needs to know of an appended batch."""

    base_offset: int
    last_offset: int
    size: int
    max_timestamp: int


class Segment:
    """Not thread-safe, unless it is sealed."""

    __slots__ = (
        "_bytes_since_index_entry",
        "_checked_to",
        "_ending",
        "_file",
        "_filesystem",
        "_first_timestamp",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_prefix",
        "_recent",
        "_recent_after",
        "_recent_last_offsets",
        "_written_from",
        "base_offset",
        "created_ms",
        "jitter_ms",
        "offset_index",
        "size",
        "time_index",
        "transaction_index",
    )

    # The batches behind the one that ends at `_recent_after`; parallel to their last offsets, for bisection.
    _recent: list[BatchPosition]
    _recent_last_offsets: list[int]
    _recent_after: int

    def __init__(
        self,
        filesystem: FileSystem,
        directory: str,
        base_offset: int,
        sizes: Sequence[int] = (0, 0, 0, 0),
        *,
        created_ms: int,
        jitter_ms: int = 0,
        ending: str = "",
    ) -> None:
        """`sizes` are those of the files, in the order of SEGMENT_SUFFIXES; a missing file has size 0.

        `ending` is appended to the names of the files: what the cleaner writes is not part of the log yet.
        """
        self._filesystem = filesystem
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.jitter_ms = jitter_ms
        self._prefix = f"{directory}/{segment_prefix(base_offset)}"
        self._ending = ending
        self.size = sizes[0]
        self.offset_index = OffsetIndex(filesystem, self._path(OFFSET_INDEX_SUFFIX), base_offset, file_size=sizes[1])
        self.time_index = TimeIndex(filesystem, self._path(TIME_INDEX_SUFFIX), base_offset, file_size=sizes[2])
        self.transaction_index = TransactionIndex(
            filesystem, self._path(TRANSACTION_INDEX_SUFFIX), base_offset, file_size=sizes[3]
        )
        self._file: File | None = None
        self._bytes_since_index_entry = 0
        # Of the first batch; time-based rolling counts from it. -1 in an empty segment.
        self._first_timestamp = _UNKNOWN if self.size else NO_TIMESTAMP
        # The time index knows the largest timestamp of a segment that was closed.
        self._max_timestamp = _UNKNOWN if self.size else NO_TIMESTAMP
        self._max_timestamp_offset = base_offset
        self._forget_recent()
        # Batches before the first position have been checked since the start, those from the second on were written
        # by this process. What is between is checked when it is read.
        self._checked_to = 0
        self._written_from = self.size

    def create(self) -> Self:
        """Create the files of a new, empty segment. Files of the same name are leftovers and are replaced."""
        self._filesystem.remove(self._path(TRANSACTION_INDEX_SUFFIX))
        # The log comes last: without it, indexes are orphans that loading removes.
        for suffix in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, LOG_SUFFIX):
            file = self._filesystem.open(self._path(suffix), create=True)
            if file.size():
                file.truncate(0)
            if suffix == LOG_SUFFIX:
                self._file = file
            else:
                file.close()
        return self

    def __repr__(self) -> str:
        return f"Segment(base_offset={self.base_offset}, size={self.size})"

    @property
    def log_path(self) -> str:
        return self._path(LOG_SUFFIX)

    @property
    def paths(self) -> list[str]:
        """All files that the segment may have."""
        return [self._path(suffix) for suffix in SEGMENT_SUFFIXES]

    @property
    def index_sizes(self) -> tuple[int, int]:
        """Bytes of the offset index and of the time index."""
        return self.offset_index.size, self.time_index.size

    def _path(self, suffix: str) -> str:
        return f"{self._prefix}{suffix}{self._ending}"

    # Writing

    def append(self, data: Buffer, batches: Sequence[AppendedBatch], config: LogConfig) -> None:
        """Write whole batches after the last one. If that fails nothing has changed but bytes beyond the end."""
        position = self.size
        self.open_log().write(position, data)
        if self._max_timestamp == _UNKNOWN:
            self._load_max_timestamp()
        if position == 0:
            self._first_timestamp = batches[0].max_timestamp
        if self._recent_after == _UNKNOWN:
            self._recent_after = batches[0].base_offset - 1
        for base_offset, last_offset, size, max_timestamp in batches:
            if max_timestamp > self._max_timestamp:
                self._max_timestamp = max_timestamp
                self._max_timestamp_offset = last_offset
            if self._bytes_since_index_entry > config.index_interval_bytes:
                self.offset_index.append_offset(last_offset, position=position)
                self.time_index.append_timestamp(self._max_timestamp, offset=self._max_timestamp_offset)
                self._bytes_since_index_entry = 0
            self._bytes_since_index_entry += size
            self._recent.append(BatchPosition(position, size, base_offset, last_offset))
            self._recent_last_offsets.append(last_offset)
            position += size
        self.size = position
        if len(self._recent) > 2 * _RECENT_BATCHES:
            self._recent_after = self._recent_last_offsets[-_RECENT_BATCHES - 1]
            del self._recent[:-_RECENT_BATCHES]
            del self._recent_last_offsets[:-_RECENT_BATCHES]

    def undo_write(self) -> None:
        """After a failed append: remove what was written of it."""
        if self._file is None:
            return
        try:
            self._file.truncate(self.size)
        except OSError as error:
            # The next append overwrites it, and until then nobody reads beyond the end.
            if not means_full(error):
                raise

    def should_roll(self, config: LogConfig, size: int, *, last_offset: int, max_timestamp: int, now_ms: int) -> bool:
        """Whether `size` more bytes, ending with `last_offset`, belong in a new segment."""
        if self.size > config.segment_bytes - size or last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if self.size and self._time_waited(max_timestamp, now_ms=now_ms) > config.segment_ms - self.jitter_ms:
            return True
        limit = config.segment_index_bytes
        return self.offset_index.is_full(limit) or self.time_index.is_full(limit)

    def seal(self) -> bool:
        """No more is appended: complete the indexes. Whether there was something to write.

        The log file stays open until the flush has synced it: as long as somebody holds it, the kernel cannot forget
        that writing it back has failed.
        """
        if self._max_timestamp != _UNKNOWN and self._max_timestamp >= 0:
            self.time_index.append_timestamp(self._max_timestamp, offset=self._max_timestamp_offset)
        self._forget_recent()
        return self.write_pending()

    def write_pending(self) -> bool:
        self.transaction_index.write_pending()
        wrote_offsets = self.offset_index.write_pending()
        wrote_times = self.time_index.write_pending()
        return wrote_offsets or wrote_times

    def truncate_to(self, offset: int, *, created_ms: int) -> int:
        """Cut off the batch that holds `offset` and all after it. Returns the number of bytes cut."""
        with self._reading() as file:
            found = self._find(file, offset)
            # Indexes first: entries that point beyond the end of the log are the worse half of this change.
            self.offset_index.truncate_to_offset(offset)
            self.time_index.truncate_to_offset(offset)
            self.transaction_index.truncate_to_offset(offset)
            cut = 0
            if found is not None:
                cut = self.size - found.position
                file.truncate(found.position)
                # Otherwise a power failure could bring records back after those that are appended now.
                sync_file(file)
                self.size = found.position
                self._checked_to = min(self._checked_to, self.size)
                self._written_from = min(self._written_from, self.size)
        if self.size == 0:
            self.created_ms = created_ms
            self._first_timestamp = NO_TIMESTAMP
        self._bytes_since_index_entry = 0
        self._forget_recent()
        self._scan_max_timestamp()
        return cut

    # Reading

    def locate(self, offset: int) -> BatchPosition | None:
        """The first batch whose last offset is not below `offset`; None after the last batch. Raises CorruptIndex."""
        if self._recent and offset > self._recent_after:
            number = bisect_left(self._recent_last_offsets, offset)
            return self._recent[number] if number < len(self._recent) else None
        with self._reading() as file:
            return self._find(file, offset)

    def read(self, position: int, size: int) -> bytes:
        if self._file is not None:
            return self._file.read(position, size)
        with self._reading() as file:
            return file.read(position, size)

    def slice(self, position: int, size: int) -> UnreadBytes | None:
        """The same bytes, unread; None where they have to be read, which then also finds out whether they are there."""
        with self._reading() as file:
            return file.slice(position, size) if isinstance(file, SliceableFile) else None

    def is_checked(self, position: int, end: int) -> bool:
        """Whether this process has seen that the batches there are good."""
        return end <= self._checked_to or position >= self._written_from

    def checked_up_to(self, position: int, *, start: int = 0) -> None:
        """The batches from `start` to `position` are good."""
        if start <= self._checked_to < position:
            self._checked_to = position

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of the batches from `position` on."""
        with self._reading() as file:
            yield from scan_headers(file, position, self.size)

    def next_offset(self) -> int:
        """The offset after the last batch; found by scanning from the last index entry."""
        if self._recent:
            return self._recent_last_offsets[-1] + 1
        _, position = self.offset_index.last_entry()
        next_offset = self.base_offset
        for _, header in self.headers(position):
            next_offset = header.next_offset
        return next_offset

    def boundary_before(self, offset: int) -> int:
        """Where the batch that holds `offset` begins, in a log without gaps.

        Raises CorruptBatch if offsets are missing between the last index entry before it and that batch.
        """
        indexed_offset, start = self.offset_index.position_before(offset)
        expected = self.base_offset
        for position, header in self.headers(start):
            is_expected = header.base_offset == expected
            if position == start > 0:
                is_expected = header.last_offset == indexed_offset
            if not is_expected:
                raise CorruptBatch(position, f"{self.log_path}: offset {header.base_offset} is out of place")
            expected = header.next_offset
            if expected > offset:
                return header.base_offset
        raise CorruptBatch(self.size, f"{self.log_path}: offset {offset} is missing")

    @property
    def max_timestamp(self) -> int:
        """-1 if no batch has a timestamp."""
        if self._max_timestamp == _UNKNOWN:
            self._load_max_timestamp()
        return self._max_timestamp

    @property
    def max_timestamp_offset(self) -> int:
        """The last offset of the batch that holds the largest timestamp."""
        if self._max_timestamp == _UNKNOWN:
            self._load_max_timestamp()
        return self._max_timestamp_offset

    def first_timestamp(self) -> int:
        """The largest one of the first batch; -1 if it has none."""
        if self._first_timestamp == _UNKNOWN:
            self._first_timestamp = next((header.max_timestamp for _, header in self.headers()), NO_TIMESTAMP)
        return self._first_timestamp

    def largest_timestamp(self) -> int:
        """What retention goes by: records without a timestamp are as old as their file."""
        timestamp = self.max_timestamp
        return timestamp if timestamp >= 0 else self._filesystem.modified_ms(self.log_path)

    def forget_timestamps(self) -> None:
        """The time index was rewritten and must be read again."""
        self._max_timestamp = _UNKNOWN if self.size else NO_TIMESTAMP

    def cut(self, size: int) -> None:
        """Truncate the log file, whose indexes are already rebuilt; for recovery."""
        file = self.open_log()
        file.truncate(size)
        sync_file(file)
        self.size = size
        self._checked_to = min(self._checked_to, size)
        self._written_from = size
        self.forget_timestamps()
        self._forget_recent()
        if size == 0:
            self._first_timestamp = NO_TIMESTAMP

    def write_again_from(self, position: int) -> None:
        """Write what lies there once more, so that the next sync has something to sync; for recovery."""
        file = self.open_log()
        while position < self.size:
            data = file.read(position, min(_WRITTEN_AT_A_TIME, self.size - position))
            if not data:
                break
            file.write(position, data)
            position += len(data)

    # Lifetime

    def open_log(self) -> File:
        """The log file, which stays open until `release`."""
        if self._file is None:
            self._file = self._filesystem.open(self.log_path)
        return self._file

    def release(self) -> None:
        """Close the log file; it is reopened when needed."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def rename_files(self, suffix: str) -> list[str]:
        """Append `suffix` to the names of all files, the log first: without it the rest is an orphan."""
        self.release()
        renamed = []
        for path in self.paths:
            if self._filesystem.exists(path):
                self._filesystem.rename(path, path + suffix)
                renamed.append(path + suffix)
        return renamed

    def change_ending(self, ending: str) -> None:
        """Give the files another ending and continue with them; the log last, because without it they are orphans."""
        self.release()
        for suffix in (*INDEX_SUFFIXES, LOG_SUFFIX):
            path = self._path(suffix)
            if self._filesystem.exists(path):
                self._filesystem.rename(path, f"{self._prefix}{suffix}{ending}")
        self._ending = ending
        self.offset_index.path = self._path(OFFSET_INDEX_SUFFIX)
        self.time_index.path = self._path(TIME_INDEX_SUFFIX)
        self.transaction_index.path = self._path(TRANSACTION_INDEX_SUFFIX)

    def check_invariants(self, end_offset: int) -> None:
        """Checks what is in memory; opens no files."""
        self.offset_index.check_invariants(end_offset, log_size=self.size)
        require(0 <= self._checked_to <= self.size, self, "only what is there was checked", checked_to=self._checked_to)
        if self._recent:
            last = self._recent[-1]
            require(last.position + last.size == self.size, self, "the last batch ends the segment", last=last)
            require(last.last_offset < end_offset, self, "the last batch is below the next segment", last=last)

    def _find(self, file: File, offset: int) -> BatchPosition | None:
        indexed_offset, position = self.offset_index.position_before(offset)
        if position:
            # A wrong entry must not send the reader into the middle of a batch.
            try:
                found = find_batch(file, position, self.size, self.base_offset)
            except CorruptBatch:
                found = None
            if found is None or not self.base_offset <= found.base_offset <= indexed_offset:
                raise CorruptIndex(f"{self.offset_index.path}: the entry for offset {indexed_offset} is wrong")
            if found.last_offset >= offset:
                return found
        return find_batch(file, position, self.size, offset)

    def _forget_recent(self) -> None:
        self._recent = []
        self._recent_last_offsets = []
        self._recent_after = _UNKNOWN if self.size else self.base_offset - 1

    def _time_waited(self, max_timestamp: int, *, now_ms: int) -> int:
        first_timestamp = self.first_timestamp()
        return max_timestamp - first_timestamp if first_timestamp >= 0 else now_ms - self.created_ms

    def _load_max_timestamp(self) -> None:
        self._max_timestamp, self._max_timestamp_offset = self.time_index.last_entry()

    def _scan_max_timestamp(self) -> None:
        """After a truncation the time index may know of less than is there."""
        timestamp, timestamp_offset = self.time_index.last_entry()
        _, position = self.offset_index.position_before(timestamp_offset)
        for _, header in self.headers(position):
            if header.max_timestamp > timestamp:
                timestamp, timestamp_offset = header.max_timestamp, header.last_offset
        self._max_timestamp, self._max_timestamp_offset = timestamp, timestamp_offset

    def _reading(self) -> AbstractContextManager[File]:
        """The log file; if it is not open, only for the time it is needed."""
        if self._file is not None:
            return nullcontext(self._file)
        return closing(self._filesystem.open(self.log_path))
