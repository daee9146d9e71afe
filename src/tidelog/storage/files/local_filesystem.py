"""The file system of the machine, behind the port of `tidelog.storage.files.filesystem`."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import resource
from typing import NamedTuple

from mypy_extensions import mypyc_attr

from tidelog.model.unread import BytesChanged, UnreadBytes
from tidelog.records.batch import Buffer
from tidelog.storage.files.filesystem import File, Lock
from tidelog.storage.files.open_files import OpenFile, OpenFiles
from tidelog.storage.files.slices import SliceableFile

logger = logging.getLogger(__name__)

_locked_paths: set[str] = set()

# For checkpoints, snapshots, directories that are synced, listeners, connections to other nodes, and Python itself.
RESERVED_DESCRIPTORS = 64
LEAST_OPEN_FILES = 8
LARGEST_LIMIT = 1 << 20
# Below this an operator should be warned.
FEW_DESCRIPTORS = 4096
_BOOT_ID_PATH = "/proc/sys/kernel/random/boot_id"


class FileSlice(UnreadBytes):
    """A part of a file. It keeps the file open, but not from being cut or removed."""

    __slots__ = ("_cuts_before", "_file", "_files", "_left", "_position")

    def __init__(self, files: OpenFiles, file: OpenFile, position: int, size: int, *, cuts_before: int) -> None:
        """`cuts_before` is what `OpenFiles.add_slice` has said."""
        super().__init__()
        self._files = files
        self._file = file
        self._position = position
        self._left = size
        self._cuts_before = cuts_before

    def __len__(self) -> int:
        return self._left

    def send(self, connection: int) -> int:
        self._check()
        position, left = self._position, self._left
        sent = self._files.use(self._file, lambda descriptor: os.sendfile(connection, descriptor, position, left))
        if sent == 0:
            raise BytesChanged(f"{self._file.path} ends at byte {position}, {left} bytes too early")
        self._position += sent
        self._left -= sent
        return sent

    def read(self) -> bytes:
        self._check()
        position, left = self._position, self._left
        data = self._files.use(self._file, lambda descriptor: _read(descriptor, position, left))
        if len(data) < left:
            raise BytesChanged(f"{self._file.path} ends at byte {position + len(data)}, before {position + left}")
        return data

    def _check(self) -> None:
        cuts = self._file.cuts
        if len(cuts) > self._cuts_before and min(cuts[self._cuts_before :]) < self._position + self._left:
            raise BytesChanged(f"{self._file.path} has been cut to {min(cuts[self._cuts_before :])} bytes")

    def __del__(self) -> None:
        self._files.drop_slice(self._file)


@mypyc_attr(allow_interpreted_subclasses=True)
class LocalFile(SliceableFile):
    """An open file. Closed by `close`, or by Python when nobody holds it any more."""

    __slots__ = ("_file", "_files")

    def __init__(self, files: OpenFiles, file: OpenFile) -> None:
        self._files = files
        self._file = file

    def read(self, position: int, size: int) -> bytes:
        return self._files.use(self._file, lambda descriptor: _read(descriptor, position, size))

    def write(self, position: int, data: Buffer) -> None:
        # Before the write: one that fails may have written a part.
        self._file.is_dirty = True
        self._files.use(self._file, lambda descriptor: _write(descriptor, position, data))

    def truncate(self, size: int) -> None:
        self._file.is_dirty = True
        self._files.truncate(self._file, size)

    def sync(self) -> None:
        self._files.sync(self._file)

    def size(self) -> int:
        return self._files.use(self._file, lambda descriptor: os.fstat(descriptor).st_size)

    def slice(self, position: int, size: int) -> UnreadBytes | None:
        cuts_before = self._files.add_slice(self._file, position + size)
        if cuts_before < 0:
            return None
        return FileSlice(self._files, self._file, position, size, cuts_before=cuts_before)

    def close(self) -> None:
        self._files.close(self._file)

    def __del__(self) -> None:
        self.close()


def _read(descriptor: int, position: int, size: int) -> bytes:
    data = os.pread(descriptor, size, position)
    if len(data) == size or not data:
        return data
    # The kernel may return less than asked for before the end of the file (it never returns more than 2 GiB).
    pieces = [data]
    missing = size - len(data)
    while missing > 0:
        data = os.pread(descriptor, missing, position + size - missing)
        if not data:
            break
        pieces.append(data)
        missing -= len(data)
    return b"".join(pieces)


def _write(descriptor: int, position: int, data: Buffer) -> None:
    written = os.pwrite(descriptor, data, position)
    size = len(data)
    if written == size:
        return
    view = memoryview(data)
    while written < size:
        # A full disk first shows as a short write; the next call then fails with the reason.
        step = os.pwrite(descriptor, view[written:], position + written)
        if step == 0:
            raise OSError(errno.EIO, "the disk accepted no bytes and reported no error")
        written += step


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


@mypyc_attr(allow_interpreted_subclasses=True)
class LocalFileSystem:
    """One instance serves all log directories. `most_open_files` is how many descriptors its files may use together."""

    file_type: type[LocalFile] = LocalFile

    def __init__(self, most_open_files: int | None = None) -> None:
        self._files = OpenFiles(share_descriptors().files if most_open_files is None else most_open_files)

    @property
    def descriptor_count(self) -> int:
        """How many of the open files have one now."""
        return self._files.descriptor_count

    def open(self, path: str, *, create: bool = False) -> File:
        flags = os.O_RDWR | (os.O_CREAT if create else 0)
        return self.file_type(self._files, self._files.open(path, flags))

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
        self._files.rename(source, target)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._files.remove(path)

    def make_directory(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def remove_directory(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(path)

    def sync_directory(self, path: str) -> None:
        descriptor = self._files.descriptor_of(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            self._files.close_descriptor(descriptor)

    def capacity(self, path: str) -> tuple[int, int] | None:
        disk = os.statvfs(path)
        return disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize

    def boot_id(self) -> str:
        try:
            with open(_BOOT_ID_PATH) as file:
                return file.read().strip()
        except OSError:
            return ""

    def lock(self, path: str) -> Lock | None:
        """A POSIX record lock, as Java's FileChannel takes it, so that Apache Kafka and tidelog exclude each other.

        Such a lock belongs to the process: it does not keep out a second broker in the same process, and closing any
        descriptor of the file drops it. So the process itself keeps track of what it has locked.
        """
        real_path = os.path.realpath(path)
        if real_path in _locked_paths:
            return None
        descriptor = self._files.descriptor_of(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return None
            raise
        _locked_paths.add(real_path)
        return LocalLock(descriptor, real_path)


class DescriptorShares(NamedTuple):
    """How the descriptors of a process are shared: a part is reserved for what is neither, such as checkpoints."""

    files: int
    connections: int


def share_descriptors() -> DescriptorShares:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        limit = LARGEST_LIMIT
    rest = max(0, limit - RESERVED_DESCRIPTORS)
    return DescriptorShares(files=max(LEAST_OPEN_FILES, rest // 2), connections=max(1, rest - rest // 2))


def raise_descriptor_limit() -> None:
    """Let the process open as many files as the system allows, and return how many.

    The soft limit of a shell (often 1024) is meant for programs that use select().
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit != soft:
        logger.info("raised the limit on open files from %d to %d", soft, limit)
    if limit < FEW_DESCRIPTORS:
        shares = share_descriptors()
        logger.warning(
            "this process may open only %d files: %d for partitions, beyond which files are closed and reopened as "
            "needed, and %d for connections, beyond which new ones are refused; raise the limit with ulimit -n",
            limit,
            shares.files,
            shares.connections,
        )
