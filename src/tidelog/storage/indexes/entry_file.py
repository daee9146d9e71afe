"""A file of fixed-size entries: what all indexes of a segment are.

Nothing of a closed segment's index stays in memory and no descriptor stays open. Entries that were appended lately wait
in memory and are written in groups; losing them in a crash is harmless, because recovery rebuilds every index above the
recovery point, and `write_pending` comes before the recovery point moves.
"""

from __future__ import annotations

from contextlib import closing
from struct import Struct
from typing import Any, ClassVar

from tidelog.records.batch import Buffer
from tidelog.storage.files.filesystem import FileSystem, is_shortage, read_whole, replace_file


class CorruptIndex(Exception):
    """An index that contradicts itself or its log. It is rebuilt from the log."""


class EntryFile:
    __slots__ = ("_base_offset", "_filesystem", "_pending", "_written", "path")

    entry: ClassVar[Struct]
    _written: int
    _pending: bytearray

    def __init__(self, filesystem: FileSystem, path: str, base_offset: int, *, file_size: int) -> None:
        self.path = path
        self._filesystem = filesystem
        self._base_offset = base_offset
        self._reset(file_size)

    def __len__(self) -> int:
        return self._written + len(self._pending) // self.entry.size

    @property
    def size(self) -> int:
        return len(self) * self.entry.size

    def add(self, *fields: int) -> None:
        self._pending += self.entry.pack(*fields)

    def write_pending(self) -> bool:
        """Whether there was something to write."""
        if not self._pending:
            return False
        with closing(self._filesystem.open(self.path, create=True)) as file:
            file.write(self._written * self.entry.size, self._pending)
        self._written = len(self)
        self._pending = bytearray()
        return True

    def write_if_possible(self) -> None:
        """They can wait for a descriptor or disk space: the batch is written, and must not fail for its index."""
        try:
            self.write_pending()
        except OSError as error:
            if not is_shortage(error):
                raise

    def truncate(self, count: int) -> None:
        """Keep the first `count` entries, on disk too."""
        size = self.entry.size
        if count >= self._written:
            del self._pending[(count - self._written) * size :]
            return
        self._pending = bytearray()
        with closing(self._filesystem.open(self.path)) as file:
            file.truncate(count * size)
        self._written = count

    def replace(self, content: Buffer) -> None:
        """Exchange all entries at once, so that a crash in a rebuild leaves the old index or the new one.

        Synced, because an index below the recovery point is not checked again.
        """
        replace_file(self._filesystem, self.path, content)
        self._reset(len(content))

    def entries(self) -> list[tuple[Any, ...]]:
        """All of them."""
        content = read_whole(self._filesystem, self.path)[: self._written * self.entry.size] if self._written else b""
        return list(self.entry.iter_unpack(content + self._pending))

    def check_size(self, file_size: int) -> None:
        """Raises CorruptIndex."""
        if file_size % self.entry.size:
            raise CorruptIndex(f"{self.path}: {file_size} bytes are not a multiple of {self.entry.size}")

    def _reset(self, file_size: int) -> None:
        # Bytes after the last whole entry are overwritten by the next one.
        self._written = file_size // self.entry.size
        self._pending = bytearray()
