"""`.snapshot`: what a partition knew of its producers when its log ended at the offset in the file's name.

version i16 = 1, crc u32 (CRC-32C over all that follows), count i32, and per producer:
producerId i64, epoch i16, lastSequence i32, lastOffset i64, offsetDelta i32, timestamp i64,
coordinatorEpoch i32, currentTxnFirstOffset i64
"""

from __future__ import annotations

import logging
from bisect import bisect_right, insort
from collections.abc import Iterable
from struct import Struct

from tidelog.partition.producer_entry import SnapshotEntry
from tidelog.records.checksum import crc32c
from tidelog.storage.files.file_names import SNAPSHOT_SUFFIX, segment_prefix
from tidelog.storage.files.filesystem import FileSystem, read_whole, replace_file

logger = logging.getLogger(__name__)

_VERSION = 1
_VERSION_AND_CRC = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")


class CorruptProducerSnapshot(Exception):
    """A snapshot that cannot be trusted. The state it held is rebuilt from the log."""


def encode_snapshot(entries: Iterable[SnapshotEntry]) -> bytes:
    packed = [_ENTRY.pack(*entry) for entry in entries]
    body = _COUNT.pack(len(packed)) + b"".join(packed)
    return _VERSION_AND_CRC.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(content: bytes) -> list[SnapshotEntry]:
    """Raises CorruptProducerSnapshot."""
    body_at = _VERSION_AND_CRC.size
    if len(content) < body_at + _COUNT.size:
        raise CorruptProducerSnapshot(f"{len(content)} bytes are too few")
    version, crc = _VERSION_AND_CRC.unpack_from(content)
    if version != _VERSION:
        raise CorruptProducerSnapshot(f"version {version} is unknown")
    body = memoryview(content)[body_at:]
    if crc32c(body) != crc:
        raise CorruptProducerSnapshot("its checksum does not match")
    (count,) = _COUNT.unpack_from(body)
    if len(body) != _COUNT.size + count * _ENTRY.size:
        raise CorruptProducerSnapshot(f"{count} entries do not fill {len(body)} bytes")
    return [SnapshotEntry._make(fields) for fields in _ENTRY.iter_unpack(body[_COUNT.size :])]


def read_snapshot(filesystem: FileSystem, path: str) -> list[SnapshotEntry]:
    """Raises CorruptProducerSnapshot."""
    return decode_snapshot(read_whole(filesystem, path))


class ProducerSnapshotFiles:
    """The snapshots of one log: one at the first offset of each segment, and one where the log last ended."""

    __slots__ = ("_directory", "_filesystem", "_offsets")

    def __init__(self, filesystem: FileSystem, directory: str, offsets: Iterable[int] = ()) -> None:
        self._filesystem = filesystem
        self._directory = directory
        self._offsets = sorted(offsets)

    @property
    def offsets(self) -> list[int]:
        return list(self._offsets)

    def path(self, offset: int) -> str:
        return f"{self._directory}/{segment_prefix(offset)}{SNAPSHOT_SUFFIX}"

    def write(self, offset: int, entries: Iterable[SnapshotEntry], *, sync: bool) -> None:
        replace_file(self._filesystem, self.path(offset), encode_snapshot(entries), sync=sync)
        if offset not in self._offsets:
            insort(self._offsets, offset)

    def newest(self, at_or_before: int, *, above: int = -1) -> tuple[int, list[SnapshotEntry]] | None:
        """(offset, entries) of the newest readable snapshot within the bounds. Unreadable ones are removed."""
        while True:
            count = bisect_right(self._offsets, at_or_before)
            if count == 0 or self._offsets[count - 1] <= above:
                return None
            offset = self._offsets[count - 1]
            try:
                return offset, read_snapshot(self._filesystem, self.path(offset))
            except (CorruptProducerSnapshot, FileNotFoundError) as problem:
                logger.warning("%s cannot be used and is removed: %s", self.path(offset), problem)
                self.remove(offset)

    def remove(self, offset: int) -> None:
        if offset in self._offsets:
            self._filesystem.remove(self.path(offset))
            self._offsets.remove(offset)

    def remove_above(self, offset: int) -> None:
        """Those that know of more than a log that was truncated at `offset`."""
        for stale in self._offsets[bisect_right(self._offsets, offset) :]:
            self.remove(stale)

    def remove_all(self) -> None:
        for offset in self.offsets:
            self.remove(offset)

    def remove_strays(self, segment_offsets: Iterable[int]) -> None:
        """Keep those of the segments, and the newest of the others if it is above all segments."""
        kept = set(segment_offsets)
        newest = self._offsets[-1] if self._offsets else -1
        for offset in self.offsets:
            if offset not in kept and not (offset == newest and offset > max(kept, default=-1)):
                self.remove(offset)
