"""What the tests of storage share: one log in a directory, and disks that fail, stop or forget."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path
from typing import Any, Protocol

from support.decoding import decode_all
from support.present import present

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.partition.producer_entry import ProducerEntry
from tidelog.partition.producers import AppendOrigin, AppendRefusal
from tidelog.records.batch import Buffer, iterate_headers, parse_header
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.records.record import encode_batch
from tidelog.storage.directories.log_directory import LoadReport, LogDirectory
from tidelog.storage.files.filesystem import File, FileSystem, Lock
from tidelog.storage.files.local_filesystem import LocalFile, LocalFileSystem
from tidelog.storage.log.appending import append_as_leader
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.flush import Flush
from tidelog.storage.log.log import Log
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.results import AppendResult, ReadResult

PARTITION = TopicPartition("topic", 0)
TOPIC_ID = Uuid(bytes(range(16)))
NOW = 1_700_000_000_000


class _UnsyncedFile(LocalFile):
    __slots__ = ()

    def sync(self) -> None:
        pass


class UnsyncedFileSystem(LocalFileSystem):
    """The real one without waiting for the device: what a killed process has written stays without that."""

    file_type = _UnsyncedFile

    def sync_directory(self, path: str) -> None:
        pass


class SeededRandomness:
    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def random_bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def below(self, bound: int) -> int:
        return self._random.randrange(bound)


class Harness:
    """One partition in one log directory, opened, used, crashed and opened again."""

    partition = PARTITION
    topic_id = TOPIC_ID
    now = NOW

    def __init__(self, path: str, filesystem: FileSystem, config: LogConfig) -> None:
        self.path = path
        self.filesystem = filesystem
        self.config = config
        self.directory: LogDirectory = None  # type: ignore[assignment]
        self.report: LoadReport = None  # type: ignore[assignment]

    @property
    def log(self) -> Log:
        return self.directory.logs[PARTITION]

    @property
    def partition_path(self) -> Path:
        return Path(self.path) / str(PARTITION)

    def file(self, suffix: str, base_offset: int = 0) -> Path:
        return self.partition_path / f"{base_offset:020d}{suffix}"

    def open(self, filesystem: FileSystem | None = None) -> Log:
        self.open_if_whole(filesystem)
        return self.directory.open_log(PARTITION, TOPIC_ID, self.config, NOW)

    def open_if_whole(self, filesystem: FileSystem | None = None) -> None:
        """The log may turn out to be damaged: then `report` says so, and there is no log."""
        self.directory = LogDirectory.open(self.path, filesystem or self.filesystem, SeededRandomness())
        self.report = self.directory.load(lambda _: self.config, NOW)

    def close(self) -> None:
        self.directory.close(NOW, broker_epoch=7)

    def crash(self) -> None:
        self.directory.abandon()

    def lose_power(self) -> None:
        """A crash of the machine: the next start does not know the boot that wrote the logs."""
        self.directory.abandon()
        (Path(self.path) / ".tidelog-state").unlink()

    def reopen(self) -> Log:
        self.close()
        return self.open()

    def crash_and_reopen(self) -> Log:
        self.crash()
        return self.open()

    def batch(self, *values: bytes, timestamp: int = NOW, **options: Any) -> bytearray:
        records = [(timestamp, None, value, ()) for value in values]
        return bytearray(encode_batch(records, **options))

    def append(self, *values: bytes, **options: Any) -> AppendResult:
        result = self.offer(*values, **options)
        assert isinstance(result, AppendResult), result
        return result

    def offer(
        self,
        *values: bytes,
        epoch: int = 0,
        timestamp: int = NOW,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        **options: Any,
    ) -> AppendResult | AppendRefusal:
        """An append that may be refused."""
        data = self.batch(*values, timestamp=timestamp, **options)
        return append_as_leader(self.log, data, [parse_header(data)], epoch, now_ms=timestamp, origin=origin)

    def append_marker(self, producer_id: int, *, commit: bool, producer_epoch: int = 0) -> AppendResult | AppendRefusal:
        marker = EndTransactionMarker(commit=commit, coordinator_epoch=0)
        data = bytearray(
            encode_end_transaction_marker(marker, producer_id=producer_id, producer_epoch=producer_epoch, timestamp=NOW)
        )
        return append_as_leader(self.log, data, [parse_header(data)], 0, now_ms=NOW, origin=AppendOrigin.COORDINATOR)

    def start_flush(self, *, everything: bool = False) -> Flush:
        return present(self.log.start_flush(self.now, everything=everything))

    def producer(self, producer_id: int) -> ProducerEntry:
        return present(self.log.producer_states.get(producer_id))

    def read(self, offset: int, max_bytes: int, **options: Any) -> ReadResult:
        result = read_records(self.log, offset, max_bytes=max_bytes, **options)
        assert isinstance(result, ReadResult), result
        return result

    def values(self, log: Log | None = None) -> list[tuple[int, bytes | None]]:
        """(offset, value) of all records from the start of the log on, read as a consumer does."""
        log = log or self.log
        found: list[tuple[int, bytes | None]] = []
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            result = read_records(log, offset, max_bytes=4096)
            assert isinstance(result, ReadResult)
            headers = [header for _, header in iterate_headers(result.records)]
            if not headers:
                break
            found += [(record.offset, record.value) for record in decode_all(result.records) if record.offset >= offset]
            offset = headers[-1].next_offset
        return found


class MakeHarness(Protocol):
    """The fixture `harness`: makes harnesses; all of them use the same directory unless told otherwise."""

    def __call__(
        self, config: LogConfig | None = None, *, filesystem: FileSystem | None = None, path: str | None = None
    ) -> Harness: ...


class Stopped(Exception):
    """The process ended here. Not an OSError: nothing may catch it."""


class FaultyFile:
    def __init__(self, filesystem: FaultyFileSystem, file: File) -> None:
        self._filesystem = filesystem
        self._file = file

    def read(self, position: int, size: int) -> bytes:
        self._filesystem.count("read")
        return self._file.read(position, size)

    def write(self, position: int, data: Buffer) -> None:
        # A write that fails has often been done in part.
        try:
            self._filesystem.count("write")
        except (OSError, Stopped):
            self._file.write(position, memoryview(data)[: len(data) // 2])
            raise
        self._file.write(position, data)

    def truncate(self, size: int) -> None:
        self._filesystem.count("truncate")
        self._file.truncate(size)

    def sync(self) -> None:
        self._filesystem.count("sync")
        self._file.sync()

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._file.close()


class FaultyFileSystem:
    """The real one, until the n-th call (of the given kinds, or of any): from then on every such call fails."""

    def __init__(self, fail_at: int, error: int | None = None, kinds: frozenset[str] | None = None) -> None:
        self.calls = 0
        self.fail_at = fail_at
        self._error = error
        self._kinds = kinds
        self._real = UnsyncedFileSystem()

    @property
    def failed(self) -> bool:
        return self.calls > self.fail_at

    def count(self, kind: str) -> None:
        if self._kinds is not None and kind not in self._kinds:
            return
        self.calls += 1
        if self.calls > self.fail_at:
            if self._error is None:
                raise Stopped(f"stopped at call {self.calls} ({kind})")
            raise OSError(self._error, os.strerror(self._error))

    def open(self, path: str, *, create: bool = False) -> File:
        self.count("create" if create else "open")
        return FaultyFile(self, self._real.open(path, create=create))

    def capacity(self, path: str) -> tuple[int, int] | None:
        return self._real.capacity(path)

    def boot_id(self) -> str:
        return self._real.boot_id()

    def exists(self, path: str) -> bool:
        return self._real.exists(path)

    def is_directory(self, path: str) -> bool:
        return self._real.is_directory(path)

    def size(self, path: str) -> int:
        return self._real.size(path)

    def modified_ms(self, path: str) -> int:
        return self._real.modified_ms(path)

    def list_names(self, path: str) -> list[str]:
        return self._real.list_names(path)

    def rename(self, source: str, target: str) -> None:
        self.count("rename")
        self._real.rename(source, target)

    def remove(self, path: str) -> None:
        self.count("remove")
        self._real.remove(path)

    def make_directory(self, path: str) -> None:
        self.count("make_directory")
        self._real.make_directory(path)

    def remove_directory(self, path: str) -> None:
        self.count("remove_directory")
        self._real.remove_directory(path)

    def sync_directory(self, path: str) -> None:
        self.count("sync_directory")
        self._real.sync_directory(path)

    def lock(self, path: str) -> Lock | None:
        return self._real.lock(path)


class _Node:
    """A file: what programs see, and what would be left of it after a loss of power."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.durable = b""


class _ForgetfulFile:
    def __init__(self, node: _Node) -> None:
        self._node = node

    def read(self, position: int, size: int) -> bytes:
        return bytes(self._node.content[position : position + size])

    def write(self, position: int, data: Buffer) -> None:
        content = self._node.content
        if len(content) < position:
            content.extend(bytes(position - len(content)))
        content[position : position + len(data)] = data

    def truncate(self, size: int) -> None:
        del self._node.content[size:]

    def sync(self) -> None:
        self._node.durable = bytes(self._node.content)

    def size(self) -> int:
        return len(self._node.content)

    def close(self) -> None:
        pass


class _MemoryLock:
    def release(self) -> None:
        pass


class ForgetfulFileSystem:
    """A disk in memory that loses, when the power goes, what was not synced: contents, and names in directories.

    What was not synced is not simply gone: part of it may have reached the device, in pieces.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._files: dict[str, _Node] = {}
        self._durable_files: dict[str, _Node] = {}
        self._directories: set[str] = {""}

    def lose_power(self) -> None:
        """Every name and every byte that was not synced is there or not, as chance has it."""
        names = set(self._files) | set(self._durable_files)
        survivors: dict[str, _Node] = {}
        for name in sorted(names):
            now, before = self._files.get(name), self._durable_files.get(name)
            node = now if now is before or self._random.random() < 0.5 else before
            if node is not None:
                survivors[name] = node
        for node in set(survivors.values()):
            node.content = bytearray(self._survive(node))
            node.durable = bytes(node.content)
        self._files = survivors
        self._durable_files = dict(survivors)

    def _survive(self, node: _Node) -> bytes:
        now, before = bytes(node.content), node.durable
        if now == before:
            return now
        choice = self._random.randrange(4)
        if choice == 0:
            return before
        if choice == 1:
            return now
        kept = now[: self._random.randrange(len(now) + 1)]
        if choice == 2:
            return kept if len(kept) >= len(before) else before
        # The size reached the device, some of the content did not.
        return kept + bytes(len(now) - len(kept)) if len(kept) >= len(before) else before

    def open(self, path: str, *, create: bool = False) -> File:
        node = self._files.get(path)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            node = self._files[path] = _Node()
        return _ForgetfulFile(node)

    def capacity(self, path: str) -> tuple[int, int] | None:
        return None

    def boot_id(self) -> str:
        """Unknown: what comes next is a loss of power."""
        return ""

    def exists(self, path: str) -> bool:
        return path in self._files or path in self._directories

    def is_directory(self, path: str) -> bool:
        return path in self._directories

    def size(self, path: str) -> int:
        return len(self._files[path].content)

    def modified_ms(self, path: str) -> int:
        return NOW

    def list_names(self, path: str) -> list[str]:
        names = [name for name in [*self._files, *self._directories] if name.rpartition("/")[0] == path]
        return sorted(name.rpartition("/")[2] for name in names if name)

    def rename(self, source: str, target: str) -> None:
        self._files[target] = self._files.pop(source)

    def remove(self, path: str) -> None:
        self._files.pop(path, None)

    def make_directory(self, path: str) -> None:
        self._directories.add(path)

    def remove_directory(self, path: str) -> None:
        self._directories.discard(path)

    def sync_directory(self, path: str) -> None:
        for name in [name for name in self._durable_files if name.rpartition("/")[0] == path]:
            del self._durable_files[name]
        self._durable_files.update(
            {name: node for name, node in self._files.items() if name.rpartition("/")[0] == path}
        )

    def lock(self, path: str) -> Lock | None:
        return _MemoryLock()
