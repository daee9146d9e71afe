"""Descriptors of files, used sparingly: a file that is idle gives its descriptor to one that needs it.

A log with ten thousand partitions has ten thousand active segments, and a process may have 256 descriptors. So an open
file is a promise, and its descriptor is closed when others need one, the least recently used first, and reopened with
the next use. An open file still is more than its path: its holder can continue reading it after it was renamed or
removed. A file that was written to is synced before its descriptor is closed, because once nobody holds the
file, the kernel may forget that writing it back has failed.

A part of a file that is being sent to a reader does not hold its file: if the file is cut or removed, the reader is
refused the rest. Otherwise readers that are slow could use up the descriptors with files that nobody else needs.

Some descriptors are kept in reserve. When the system has none left and no file is idle, one of those lets a checkpoint
be written or an index be read; it goes back into the reserve when that file is closed.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import field
from typing import TypeVar

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.unread import BytesChanged
from tidelog.storage.files.filesystem import TOO_MANY_OPEN_FILES

T = TypeVar("T")

# At most this many are closed at once when the system refuses another descriptor.
_CLOSED_AT_ONCE = 8
SPARE_DESCRIPTORS = 8


@dataclass(slots=True, eq=False)
class OpenFile:
    """One file that somebody holds open, with or without a descriptor."""

    path: str
    descriptor: int
    users: int = 0
    is_dirty: bool = False
    # Whether its path no longer leads to it, so that it could not be reopened.
    is_pinned: bool = False
    # Whether its holder has closed it: then only the slices are left, of which these are so many.
    is_closed: bool = False
    slices: int = 0
    # The sizes that it was cut to since the first of its slices was made.
    cuts: list[int] = field(default_factory=list)


class OpenFiles:
    """All open files of a process. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.RLock()
        # Those with a descriptor, the least recently used first; and all of them by their paths.
        self._with_descriptor: OrderedDict[OpenFile, None] = OrderedDict()
        self._by_path: dict[str, dict[OpenFile, None]] = {}
        # Why the sync before a descriptor was taken has failed, by path: raised to whoever syncs that file.
        self._failures: dict[str, OSError] = {}
        self._spares: list[int] = []
        self._fill_reserve()

    def __del__(self) -> None:
        for spare in self._spares:
            os.close(spare)

    @property
    def descriptor_count(self) -> int:
        return len(self._with_descriptor)

    def open(self, path: str, flags: int) -> OpenFile:
        with self._lock:
            self._make_room()
            opened = OpenFile(path, self.descriptor_of(path, flags))
            self._with_descriptor[opened] = None
            self._by_path.setdefault(path, {})[opened] = None
            return opened

    def descriptor_of(self, path: str, flags: int) -> int:
        """A plain descriptor; if the system has none left, those of idle files are closed first. Raises OSError."""
        try:
            return os.open(path, flags | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if error.errno not in TOO_MANY_OPEN_FILES:
                raise
            with self._lock:
                closed = self._close_idle(_CLOSED_AT_ONCE)
                # Also if idle files were closed: a reserve that was not full has taken their descriptors.
                if self._spares:
                    os.close(self._spares.pop())
                elif not closed:
                    raise
                try:
                    return os.open(path, flags | os.O_CLOEXEC, 0o644)
                finally:
                    self._fill_reserve()

    def close_descriptor(self, descriptor: int) -> None:
        """One that `descriptor_of` returned."""
        os.close(descriptor)
        self._fill_reserve()

    def _fill_reserve(self) -> None:
        if len(self._spares) == SPARE_DESCRIPTORS:
            return
        with self._lock, contextlib.suppress(OSError):
            while len(self._spares) < SPARE_DESCRIPTORS:
                self._spares.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    def use(self, file: OpenFile, work: Callable[[int], T]) -> T:
        """Work with the descriptor, which stays open meanwhile."""
        with self._lock:
            if file.descriptor < 0:
                if file.is_pinned:
                    raise BytesChanged(f"{file.path} has been removed")
                self._make_room()
                file.descriptor = self.descriptor_of(file.path, os.O_RDWR)
                self._with_descriptor[file] = None
            else:
                self._with_descriptor.move_to_end(file)
            file.users += 1
        try:
            return work(file.descriptor)
        finally:
            with self._lock:
                file.users -= 1

    def sync(self, file: OpenFile) -> None:
        with self._lock:
            if file.path in self._failures:
                raise self._failures[file.path]
            # Before the sync: what is written meanwhile may not be part of it.
            for same in (file, *self._by_path.get(file.path, ())):
                same.is_dirty = False
        try:
            self.use(file, os.fsync)
        except OSError:
            file.is_dirty = True
            raise

    def truncate(self, file: OpenFile, size: int) -> None:
        with self._lock:
            # Before the file is cut: what is appended afterwards may lie where a slice is.
            for same in (file, *self._by_path.get(file.path, ())):
                if same.slices:
                    same.cuts.append(size)
        self.use(file, lambda descriptor: os.ftruncate(descriptor, size))

    def close(self, file: OpenFile) -> None:
        with self._lock:
            file.is_closed = True
            if not file.slices:
                self._forget(file)
            elif file.is_pinned and not file.users:
                self._close_descriptor(file)

    def add_slice(self, file: OpenFile, end: int) -> int:
        """How often the file was cut before; -1 if it is shorter than to `end`, and there is no slice."""
        with self._lock:
            if self.use(file, os.fstat).st_size < end:
                return -1
            file.slices += 1
            return len(file.cuts)

    def drop_slice(self, file: OpenFile) -> None:
        with self._lock:
            file.slices -= 1
            if not file.slices:
                file.cuts.clear()
                if file.is_closed:
                    self._forget(file)

    def _forget(self, file: OpenFile) -> None:
        same_path = self._by_path.get(file.path)
        if same_path is not None:
            same_path.pop(file, None)
            if not same_path:
                del self._by_path[file.path]
        self._close_descriptor(file)

    # -- names that change ---------------------------------------------------------------------------------------

    def rename(self, source: str, target: str) -> None:
        with self._lock:
            self._pin(target)
            os.rename(source, target)
            below = source + "/"
            for path in [path for path in list(self._by_path) if path == source or path.startswith(below)]:
                moved = target + path[len(source) :]
                files = self._by_path.pop(path)
                for file in files:
                    file.path = moved
                self._by_path.setdefault(moved, {}).update(files)

    def remove(self, path: str) -> None:
        with self._lock:
            self._pin(path)
            os.unlink(path)

    def _pin(self, path: str) -> None:
        """Whoever holds the file at `path` keeps it, whatever comes to that path."""
        for file in self._by_path.pop(path, {}):
            if file.is_closed:
                # Only slices are left, which hold nothing.
                if not file.users:
                    self._close_descriptor(file)
            elif file.descriptor < 0:
                file.descriptor = self.descriptor_of(path, os.O_RDWR)
                self._with_descriptor[file] = None
            file.is_pinned = True

    # -- room ----------------------------------------------------------------------------------------------------

    def _make_room(self) -> None:
        excess = len(self._with_descriptor) - self._most + 1
        if excess > 0:
            self._close_idle(excess)

    def _close_idle(self, count: int) -> int:
        """How many were closed. Files that need no sync come first."""
        # A copy: the collector may close files of others in between.
        idle = [file for file in list(self._with_descriptor) if not file.users and not file.is_pinned]
        clean = [file for file in idle if not file.is_dirty]
        closing = clean[:count] or idle[:1]
        for file in closing:
            if file.is_dirty:
                try:
                    os.fsync(file.descriptor)
                except OSError as error:
                    self._failures[file.path] = error
                file.is_dirty = False
            self._close_descriptor(file)
        return len(closing)

    def _close_descriptor(self, file: OpenFile) -> None:
        if file.descriptor >= 0:
            self._with_descriptor.pop(file, None)
            descriptor, file.descriptor = file.descriptor, -1
            self.close_descriptor(descriptor)
