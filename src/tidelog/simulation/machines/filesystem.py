"""The file system port of one simulated process, on the disk of its machine."""

from __future__ import annotations

import errno
from collections.abc import Callable

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.batch import Buffer
from tidelog.simulation.checks.trace import Trace
from tidelog.simulation.machines.disk import Disk, DiskDirectory, DiskFile
from tidelog.simulation.machines.process import Process, ProcessKilled, os_error
from tidelog.storage.files.filesystem import File, Lock


class ProcessFileSystem:
    """Calls of a dead process have no effect. `crash_after_calls` lets the process die in the middle of its work."""

    def __init__(self, disk: Disk, process: Process, trace: Trace) -> None:
        self.disk = disk
        self.process = process
        self._trace = trace
        self._crash_in: int | None = None
        self._crash: Callable[[], None] = lambda: None

    def crash_after_calls(self, calls: int, crash: Callable[[], None]) -> None:
        """After so many calls that change something, `crash` is called and the process is gone."""
        self._crash_in = calls
        self._crash = crash

    def disarm(self) -> None:
        self._crash_in = None

    def enter(self, kind: str, path: str) -> None:
        """Every call begins here."""
        process = self.process
        process.check_alive()
        if self._crash_in is not None and kind != "read":
            self._crash_in -= 1
            if self._crash_in < 0:
                self._crash_in = None
                self._crash()
                raise ProcessKilled(process.name)
        if kind in self.disk.failing and path.startswith(self.disk.failing_under):
            self._trace.counts[f"disk-error-{kind}"] += 1
            raise os_error(errno.EIO)

    def _take_descriptor(self) -> None:
        """Before anything that opens a file or a directory."""
        if self.disk.refused_descriptors and self.disk.chance.random() < self.disk.refused_descriptors:
            self._trace.counts["no-descriptor"] += 1
            raise os_error(errno.EMFILE)

    def took_time(self) -> None:
        low, high = self.disk.sync_seconds
        self.process.elapsed_seconds += self.disk.chance.uniform(low, high)

    # -- the port ------------------------------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False) -> File:
        self.enter("write" if create else "read", path)
        self._take_descriptor()
        parent, name = self._parent(path)
        entry = parent.entries.get(name)
        if entry is None:
            if not create:
                raise os_error(errno.ENOENT, path)
            if self.disk.used_bytes > self.disk.capacity_bytes:
                self.raise_full()
            entry = DiskFile(self.disk.now_ms())
            parent.change((name, entry))
        if isinstance(entry, DiskDirectory):
            raise os_error(errno.EISDIR, path)
        return SimulatedFile(self, entry, path)

    def exists(self, path: str) -> bool:
        self.enter("read", path)
        return self._find(path) is not None

    def is_directory(self, path: str) -> bool:
        self.enter("read", path)
        return isinstance(self._find(path), DiskDirectory)

    def size(self, path: str) -> int:
        self.enter("read", path)
        return len(self._file(path).content)

    def modified_ms(self, path: str) -> int:
        self.enter("read", path)
        return self._file(path).modified_ms

    def list_names(self, path: str) -> list[str]:
        self.enter("read", path)
        self._take_descriptor()
        return sorted(self._directory(path).entries)

    def rename(self, source: str, target: str) -> None:
        self.enter("write", target)
        source_parent, source_name = self._parent(source)
        target_parent, target_name = self._parent(target)
        entry = source_parent.entries.get(source_name)
        if entry is None:
            raise os_error(errno.ENOENT, source)
        replaced = target_parent.entries.get(target_name)
        if isinstance(replaced, DiskDirectory) and replaced.entries:
            raise os_error(errno.ENOTEMPTY, target)
        if isinstance(replaced, DiskFile):
            self.disk.used_bytes -= len(replaced.content)
        if source_parent is target_parent:
            source_parent.change((source_name, None), (target_name, entry))
        else:
            target_parent.change((target_name, entry))
            source_parent.change((source_name, None))

    def remove(self, path: str) -> None:
        self.enter("write", path)
        parent, name = self._parent(path)
        entry = parent.entries.get(name)
        if isinstance(entry, DiskFile):
            self.disk.used_bytes -= len(entry.content)
            parent.change((name, None))

    def make_directory(self, path: str) -> None:
        self.enter("write", path)
        directory = self.disk.root
        for name in _parts(path):
            entry = directory.entries.get(name)
            if entry is None:
                entry = DiskDirectory()
                directory.change((name, entry))
            if isinstance(entry, DiskFile):
                raise os_error(errno.EEXIST, path)
            directory = entry

    def remove_directory(self, path: str) -> None:
        self.enter("write", path)
        parent, name = self._parent(path)
        entry = parent.entries.get(name)
        if isinstance(entry, DiskDirectory):
            if entry.entries:
                raise os_error(errno.ENOTEMPTY, path)
            parent.change((name, None))

    def sync_directory(self, path: str) -> None:
        self.enter("sync", path)
        self._take_descriptor()
        self.took_time()
        self._directory(path).sync()

    def capacity(self, path: str) -> tuple[int, int] | None:
        self.enter("read", path)
        return self.disk.capacity_bytes, max(0, self.disk.capacity_bytes - self.disk.used_bytes)

    def boot_id(self) -> str:
        return str(self.disk.boots)

    def lock(self, path: str) -> Lock | None:
        locks = self.disk.locks
        holder = locks.get(path)
        if holder is not None and holder.alive:
            return None
        self.open(path, create=True)
        locks[path] = self.process
        return SimulatedLock(locks, path, self.process)

    # -- inside --------------------------------------------------------------------------------------------------

    def require_room(self, file: DiskFile, end: int) -> int:
        """How far a write that would end at `end` gets on a disk that may be full."""
        growth = end - len(file.content)
        room = self.disk.capacity_bytes - self.disk.used_bytes
        return end if growth <= room else len(file.content) + max(0, room)

    def raise_full(self) -> None:
        self._trace.counts["disk-full-error"] += 1
        raise os_error(errno.ENOSPC)

    def _find(self, path: str) -> DiskFile | DiskDirectory | None:
        entry: DiskFile | DiskDirectory | None = self.disk.root
        for name in _parts(path):
            if not isinstance(entry, DiskDirectory):
                return None
            entry = entry.entries.get(name)
        return entry

    def _file(self, path: str) -> DiskFile:
        entry = self._find(path)
        if not isinstance(entry, DiskFile):
            raise os_error(errno.ENOENT, path)
        return entry

    def _directory(self, path: str) -> DiskDirectory:
        entry = self._find(path)
        if not isinstance(entry, DiskDirectory):
            raise os_error(errno.ENOENT, path)
        return entry

    def _parent(self, path: str) -> tuple[DiskDirectory, str]:
        directory, _, name = path.rpartition("/")
        return self._directory(directory), name


@dataclass(frozen=True, slots=True)
class SimulatedFile:
    """An open file. It stays usable when its name is changed or removed."""

    filesystem: ProcessFileSystem
    file: DiskFile
    path: str

    def read(self, position: int, size: int) -> bytes:
        self.filesystem.enter("read", self.path)
        return bytes(self.file.content[position : position + size])

    def write(self, position: int, data: Buffer) -> None:
        filesystem, file = self.filesystem, self.file
        filesystem.enter("write", self.path)
        before = len(file.content)
        end = position + len(data)
        allowed = filesystem.require_room(file, end)
        file.write(position, data if allowed >= end else memoryview(data)[: max(0, allowed - position)])
        file.modified_ms = filesystem.disk.now_ms()
        filesystem.disk.used_bytes += len(file.content) - before
        if allowed < end:
            filesystem.raise_full()

    def truncate(self, size: int) -> None:
        self.filesystem.enter("write", self.path)
        before = len(self.file.content)
        self.file.truncate(size)
        self.filesystem.disk.used_bytes += len(self.file.content) - before

    def sync(self) -> None:
        try:
            self.filesystem.enter("sync", self.path)
        except OSError:
            self.file.fail_sync()
            raise
        self.filesystem.took_time()
        self.file.sync()

    def size(self) -> int:
        self.filesystem.enter("read", self.path)
        return len(self.file.content)

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class SimulatedLock:
    locks: dict[str, Process]
    path: str
    holder: Process

    def release(self) -> None:
        if self.locks.get(self.path) is self.holder:
            del self.locks[self.path]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part and part != "."]
