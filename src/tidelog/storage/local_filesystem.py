"""The file system of the machine, behind the port of `tidelog.storage.filesystem`."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource

from tidelog.records.batch import Buffer
from tidelog.storage.filesystem import File, Lock

_locked_paths: set[str] = set()


class LocalFile:
    """One descriptor. Closed by `close`, or by Python when nobody holds the file any more."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, position: int, size: int) -> bytes:
        data = os.pread(self._descriptor, size, position)
        if len(data) == size or not data:
            return data
        # The kernel may return less than asked for although the file goes on (it never gives more than 2 GiB).
        pieces = [data]
        missing = size - len(data)
        while missing > 0:
            data = os.pread(self._descriptor, missing, position + size - missing)
            if not data:
                break
            pieces.append(data)
            missing -= len(data)
        return b"".join(pieces)

    def write(self, position: int, data: Buffer) -> None:
        written = os.pwrite(self._descriptor, data, position)
        size = len(data)
        if written == size:
            return
        view = memoryview(data)
        while written < size:
            # A full disk first shows as a short write; the next call then fails with the reason.
            step = os.pwrite(self._descriptor, view[written:], position + written)
            if step == 0:
                raise OSError(errno.EIO, "the disk takes no more bytes and does not say why")
            written += step

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()


class LocalLock:
    __slots__ = ("_descriptor", "_path")

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._path = path

    def release(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            _locked_paths.discard(self._path)
            os.close(descriptor)


class LocalFileSystem:
    """Stateless; one instance serves all log directories."""

    def open(self, path: str, *, create: bool = False) -> File:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return LocalFile(os.open(path, flags, 0o644))

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def list_names(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def make_directory(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def remove_directory(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(path)

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def capacity(self, path: str) -> tuple[int, int] | None:
        disk = os.statvfs(path)
        return disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize

    def lock(self, path: str) -> Lock | None:
        """A POSIX record lock, as Java's FileChannel takes it, so that Apache Kafka and tidelog exclude each other.

        Such a lock belongs to the process: it does not keep out a second broker in the same process, and closing any
        descriptor of the file drops it. So the process keeps book itself of what it has locked.
        """
        real_path = os.path.realpath(path)
        if real_path in _locked_paths:
            return None
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return None
            raise
        _locked_paths.add(real_path)
        return LocalLock(descriptor, real_path)


def raise_descriptor_limit() -> int:
    """Let the process open as many files as the system allows it; returns how many that are.

    Each partition that is written to keeps a file open, and the soft limit of a shell (often 1024) is meant for
    programs that use select().
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
