"""The real file system, of which one directory breaks: at some kinds of calls, or from the n-th call on."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.raw_client import RawClient, raw_client

from tidelog.config.broker import BrokerConfig
from tidelog.records.batch import Buffer
from tidelog.server.broker import single_node_properties
from tidelog.server.startup import RunningNode, system_ports
from tidelog.storage.files.filesystem import File
from tidelog.storage.files.local_filesystem import LocalFileSystem


class BadDisk(LocalFileSystem):
    """Every call of the port goes through `check`, but those that hold back nothing: closing and unlocking."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = f"{directory}/"
        self.error: int | None = None
        # None: all.
        self.kinds: frozenset[str] | None = frozenset()
        # How many calls it has answered since it was told to count, and how many it answers before it breaks.
        self.calls = 0
        self.breaks_after: int | None = None

    def fail(self, error: int, *kinds: str) -> None:
        self.error = error
        self.kinds = frozenset(kinds)

    def fail_after(self, calls: int, error: int) -> None:
        """Break when it has answered as many more calls, of whatever kind."""
        self.error, self.kinds = error, None
        self.calls, self.breaks_after = 0, calls

    def check(self, path: str, kind: str) -> None:
        if not f"{path}/".startswith(self._directory):
            return
        self.calls += 1
        is_broken = self.breaks_after is None or self.calls > self.breaks_after
        if self.error is not None and is_broken and (self.kinds is None or kind in self.kinds):
            raise OSError(self.error, os.strerror(self.error), path)

    def open(self, path: str, *, create: bool = False) -> File:
        self.check(path, "create" if create else "open")
        return BadFile(self, path, super().open(path, create=create))

    def exists(self, path: str) -> bool:
        self.check(path, "look")
        return super().exists(path)

    def is_directory(self, path: str) -> bool:
        self.check(path, "look")
        return super().is_directory(path)

    def size(self, path: str) -> int:
        self.check(path, "look")
        return super().size(path)

    def modified_ms(self, path: str) -> int:
        self.check(path, "look")
        return super().modified_ms(path)

    def list_names(self, path: str) -> list[str]:
        self.check(path, "list")
        return super().list_names(path)

    def rename(self, source: str, target: str) -> None:
        self.check(source, "rename")
        super().rename(source, target)

    def remove(self, path: str) -> None:
        self.check(path, "remove")
        super().remove(path)

    def make_directory(self, path: str) -> None:
        self.check(path, "make_directory")
        super().make_directory(path)

    def remove_directory(self, path: str) -> None:
        self.check(path, "remove")
        super().remove_directory(path)

    def sync_directory(self, path: str) -> None:
        self.check(path, "sync")
        super().sync_directory(path)

    def capacity(self, path: str) -> tuple[int, int] | None:
        self.check(path, "capacity")
        return super().capacity(path)


class BadFile:
    def __init__(self, disk: BadDisk, path: str, file: File) -> None:
        self._disk = disk
        self._path = path
        self._file = file

    def read(self, position: int, size: int) -> bytes:
        self._disk.check(self._path, "read")
        return self._file.read(position, size)

    def write(self, position: int, data: Buffer) -> None:
        try:
            self._disk.check(self._path, "write")
        except OSError:
            # What a full disk takes before it says so.
            self._file.write(position, memoryview(data)[: len(data) // 2])
            raise
        self._file.write(position, data)

    def truncate(self, size: int) -> None:
        self._disk.check(self._path, "truncate")
        self._file.truncate(size)

    def sync(self) -> None:
        self._disk.check(self._path, "sync")
        self._file.sync()

    def size(self) -> int:
        self._disk.check(self._path, "look")
        return self._file.size()

    def close(self) -> None:
        self._file.close()


@dataclasses.dataclass
class TwoDisks:
    """The log directories of a broker: the first, which holds the metadata, is good."""

    good: Path
    bad: Path
    disk: BadDisk
    node: RunningNode | None = None

    @asynccontextmanager
    async def running(self, **properties: str) -> AsyncIterator[RawClient]:
        given = single_node_properties(
            host="127.0.0.1",
            port=0,
            data_dir=f"{self.good},{self.bad}",
            properties={"log.cleaner.backoff.ms": "20", **properties},
        )
        ports = dataclasses.replace(system_ports(), filesystem=self.disk)
        self.node = RunningNode(BrokerConfig.from_properties(given), ports)
        await self.node.start()
        try:
            host, port = self.node.addresses[0]
            async with raw_client(f"{host}:{port}") as client:
                yield client
        finally:
            await self.node.stop()

    def partitions(self, directory: Path, topic: str = "t") -> list[int]:
        return sorted(int(path.name.rpartition("-")[2]) for path in directory.glob(f"{topic}-*"))


def two_disks(at: Path) -> TwoDisks:
    return TwoDisks(good=at / "good", bad=at / "bad", disk=BadDisk(at / "bad"))
