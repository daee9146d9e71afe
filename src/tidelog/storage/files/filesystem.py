"""The port through which all file work goes, and the failure that file work ends in.

Small on purpose: a simulated disk that forgets what was not synced, or a file system that fails at the n-th call,
has these methods to write and no others. Everything is synchronous; the server decides what runs in a thread.
The real implementation is `tidelog.storage.files.local_filesystem`.
"""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Protocol

from tidelog.records.batch import Buffer

TOO_MANY_OPEN_FILES = (errno.EMFILE, errno.ENFILE)


class Readable(Protocol):
    """What code that only reads needs."""

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of the file."""
        ...


class File(Readable, Protocol):
    """An open file that is read and written at given positions, so that it has no position of its own to protect."""

    def write(self, position: int, data: Buffer) -> None:
        """All of `data`, or OSError after any part of it was written."""
        ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Content and size are on the device when this returns. Must not be tried again after it has failed: the
        kernel may have dropped the pages that it could not write, and the next call would report success."""
        ...

    def size(self) -> int: ...

    def close(self) -> None: ...


class Lock(Protocol):
    """Held until released or until the process ends."""

    def release(self) -> None: ...


class FileSystem(Protocol):
    """Paths are absolute or relative to the working directory, with '/' between the parts. Failures are OSError."""

    def open(self, path: str, *, create: bool = False) -> File:
        """For reading and writing. Without `create` the file must exist; with it an existing file is kept as it is."""
        ...

    def exists(self, path: str) -> bool: ...

    def is_directory(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def modified_ms(self, path: str) -> int: ...

    def list_names(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces `target` if it is a file."""
        ...

    def remove(self, path: str) -> None:
        """Removes a file. Not an error if it does not exist."""
        ...

    def make_directory(self, path: str) -> None:
        """With its parents. Not an error if it exists."""
        ...

    def remove_directory(self, path: str) -> None:
        """Removes an empty directory. Not an error if it does not exist."""
        ...

    def sync_directory(self, path: str) -> None:
        """The names in the directory are on the device when this returns."""
        ...

    def capacity(self, path: str) -> tuple[int, int] | None:
        """(all bytes, usable bytes) of the disk under a directory; None where that is unknown."""
        ...

    def boot_id(self) -> str:
        """The same as long as the machine keeps what was written but not synced; empty where that is unknown."""
        ...

    def lock(self, path: str) -> Lock | None:
        """Keeps other processes out; None if one of them has the lock."""
        ...


class StorageFailure(Exception):
    """The disk refused. The replica that hits this goes offline, and the log directory with it, unless it is only a
    shortage of descriptors.

    Nothing is retried: after a failed write or sync it is unknown what the disk holds, and only recovery at the
    next start, which reads everything again, finds out.
    """

    def __init__(self, action: str, cause: OSError) -> None:
        super().__init__(f"{action}: {cause.strerror or cause} (errno {cause.errno})")
        self.action = action
        self.cause = cause

    @property
    def is_shortage(self) -> bool:
        """Whether the process has run out of descriptors, or the disk out of space: that is temporary."""
        return self.cause.errno in TOO_MANY_OPEN_FILES


@contextmanager
def failing_as(action: str) -> Iterator[None]:
    """An OSError becomes a StorageFailure."""
    try:
        yield
    except OSError as error:
        raise StorageFailure(action, error) from error


class DiskFull(StorageFailure):
    """The disk is full, and nothing was changed. What is stored can be read, and writing continues when there is free
    space again."""

    @property
    def is_shortage(self) -> bool:
        return True


class SyncFailed(OSError):
    """A sync has failed, whatever the reason: it must not be tried again."""


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def means_full(error: BaseException | None) -> bool:
    """Whether a call was refused because the disk is full; after a failed sync nothing is certain any more."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM and not isinstance(error, SyncFailed)


def is_shortage(error: OSError) -> bool:
    """Whether a call was refused for lack of a descriptor or of disk space: that is temporary."""
    return error.errno in TOO_MANY_OPEN_FILES or means_full(error)


def sync_file(file: File) -> None:
    """Raises SyncFailed."""
    try:
        file.sync()
    except OSError as error:
        raise SyncFailed(error.errno, error.strerror) from error


def read_whole(filesystem: FileSystem, path: str) -> bytes:
    with closing(filesystem.open(path)) as file:
        return file.read(0, file.size())


def sync_path(filesystem: FileSystem, path: str) -> None:
    """Sync a file that nobody holds open, or that somebody else does."""
    with closing(filesystem.open(path)) as file:
        sync_file(file)


def replace_file(filesystem: FileSystem, path: str, content: Buffer, *, sync: bool = True) -> None:
    """Put `content` at `path` so that after a crash there is the old or the new content, never a mixture.

    Without `sync` that holds for a crash of the process, not of the machine: only for what can be computed again.
    """
    temporary = path + ".tmp"
    filesystem.remove(temporary)
    with closing(filesystem.open(temporary, create=True)) as file:
        file.write(0, content)
        if sync:
            sync_file(file)
    filesystem.rename(temporary, path)
    if sync:
        filesystem.sync_directory(posixpath.dirname(path) or ".")
