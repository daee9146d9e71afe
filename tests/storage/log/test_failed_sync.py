"""A disk that fails to sync: the kernel takes for written what is not, and shows it until the power goes."""

from __future__ import annotations

import errno
import random

import pytest
from support.default_settings import log_config
from support.log_harness import ForgetfulFileSystem, MakeHarness

from tidelog.records.batch import Buffer
from tidelog.simulation.machines.disk import DiskFile
from tidelog.storage.files.filesystem import StorageFailure


class _OpenFile:
    def __init__(self, disk: Disk, file: DiskFile) -> None:
        self._disk = disk
        self._file = file

    def read(self, position: int, size: int) -> bytes:
        return bytes(self._file.content[position : position + size])

    def write(self, position: int, data: Buffer) -> None:
        self._file.write(position, data)

    def truncate(self, size: int) -> None:
        self._file.truncate(size)

    def sync(self) -> None:
        if self._disk.failing:
            self._file.fail_sync()
            raise OSError(errno.EIO, "Input/output error")
        self._file.sync()

    def size(self) -> int:
        return len(self._file.content)

    def close(self) -> None:
        pass


class Disk(ForgetfulFileSystem):
    """Names are never lost here; of contents only what was not synced, or was said to be and is not."""

    failing = False
    # The base class asks of its files only for what these have as well.
    _files: dict[str, DiskFile]  # type: ignore[assignment]

    def open(self, path: str, *, create: bool = False) -> _OpenFile:
        if path not in self._files:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self._files[path] = DiskFile(modified_ms=0)
        return _OpenFile(self, self._files[path])

    def lose_power(self) -> None:
        for file in self._files.values():
            file.lose_power(random.Random(1))


@pytest.fixture
def disk() -> Disk:
    made = Disk(1)
    made.make_directory("/logs")
    return made


@pytest.mark.parametrize("checkpointed", [False, True], ids=["old recovery point", "new recovery point"])
@pytest.mark.parametrize("segment_bytes", [100_000, 150], ids=["one segment", "many segments"])
def test_scenario_23_records_synced_after_a_failed_sync_and_a_restart_are_not_lost(
    harness: MakeHarness, disk: Disk, segment_bytes: int, checkpointed: bool
) -> None:
    h = harness(log_config(segment_bytes=segment_bytes), filesystem=disk, path="/logs")
    h.open()
    h.append(b"synced")
    h.log.flush(h.now)
    if checkpointed:
        h.directory.checkpoints.write_recovery_points()
    h.append(b"in memory only")
    disk.failing = True
    with pytest.raises(StorageFailure):
        h.log.flush(h.now)
    disk.failing = False

    # The process is started again, and finds what the kernel still shows.
    h.crash_and_reopen()
    kept = h.values()
    assert kept[0] == (0, b"synced")
    h.append(b"acknowledged")
    h.log.flush(h.now)
    expected = h.values()
    h.crash()
    disk.lose_power()

    h.open()
    assert h.values() == expected
    assert expected[-1][1] == b"acknowledged"
