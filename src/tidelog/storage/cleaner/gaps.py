"""`.tidelog-gaps` in a partition's directory: below which offset a segment may end before the next one begins.

Where compaction removes the last batches of a segment, a gap is left in front of the next segment, as in Apache Kafka.
After a crash such a gap could also mean that the end of a segment was lost. So the cleaner records how far gaps may
reach before it puts a segment in place; everything below is synced by then. A truncation lowers the offset again.

    5d0c7f2a                      CRC-32 of the rest, in hexadecimal
    4711                          the offset

Apache Kafka does not know the file and leaves it alone.
"""

from __future__ import annotations

import logging
import zlib

from tidelog.storage.files.file_names import GAPS_FILE
from tidelog.storage.files.filesystem import FileSystem, read_whole, replace_file
from tidelog.storage.log.config import MAX_LONG

logger = logging.getLogger(__name__)


class KnownGaps:
    """Of one log. Changed by its compaction, and by its owner when no compaction is under way."""

    __slots__ = ("_filesystem", "_path", "end_offset")

    def __init__(self, filesystem: FileSystem, directory: str) -> None:
        self._filesystem = filesystem
        self._path = f"{directory}/{GAPS_FILE}"
        # Segments that begin at or below it may have a gap before them.
        self.end_offset = self._read()

    def _read(self) -> int:
        """If the file is damaged, every gap counts as the cleaner's: taking it for a loss would truncate the log."""
        try:
            checksum, _, text = read_whole(self._filesystem, self._path).partition(b"\n")
            if int(checksum, 16) != zlib.crc32(text):
                raise ValueError("its checksum does not match")
            return int(text)
        except FileNotFoundError:
            return 0
        except ValueError as problem:
            logger.warning("ignoring %s: %s", self._path, problem)
            return MAX_LONG

    def allow_below(self, offset: int) -> None:
        """Durable when this returns. Raises OSError."""
        if offset > self.end_offset:
            self._write(offset)

    def limit_to(self, offset: int) -> None:
        """The log was truncated at `offset`: what is written from there on has no gaps. Raises OSError."""
        if offset < self.end_offset:
            self._write(offset)

    def _write(self, offset: int) -> None:
        text = b"%d\n" % offset
        replace_file(self._filesystem, self._path, b"%08x\n%s" % (zlib.crc32(text), text))
        self.end_offset = offset
