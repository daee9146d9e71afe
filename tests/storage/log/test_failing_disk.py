"""A disk that fails at the n-th call, for every n, in every kind of work: a clear error, and nothing is corrupt."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.crash_disk import MemoryDisk
from support.log_scenarios import SCENARIOS, Scenario
from support.tracked_log import PARTITION, PATH, Model, TrackedLog, check_recovered

from tidelog.storage.files.filesystem import DiskFull, StorageFailure
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.results import ReadResult

# A full disk refuses what takes space; a broken one refuses anything.
KINDS = {
    errno.ENOSPC: frozenset({"write", "create", "sync", "rename"}),
    errno.EIO: frozenset({"open", "create", "read", "write", "truncate", "sync", "rename", "remove", "sync_directory"}),
}


class FailingDisk(MemoryDisk):
    """Fails at one call, or from one call on."""

    def __init__(self, error: int, *, for_good: bool) -> None:
        self.calls = 0
        self.fail_at: int | None = None
        self._error = error
        self._for_good = for_good
        super().__init__(directories=(PATH,))

    def before(self, kind: str) -> None:
        if kind not in KINDS[self._error]:
            return
        self.calls += 1
        if self.fail_at is not None and (self.calls == self.fail_at or (self._for_good and self.calls > self.fail_at)):
            raise OSError(self._error, os.strerror(self._error))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for-good"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
@pytest.mark.parametrize(("scenario", "config"), SCENARIOS, ids=[scenario.__name__ for scenario, _ in SCENARIOS])
def test_failure_at_any_call_is_told_and_survived(
    scenario: Scenario, config: LogConfig, error: int, for_good: bool
) -> None:
    failures = 0
    number = 1
    while True:
        disk = FailingDisk(error, for_good=for_good)
        tracked = TrackedLog(disk, config)
        tracked.open()
        first_call = disk.calls
        disk.fail_at = first_call + number
        told: StorageFailure | OSError | None = None
        try:
            scenario(tracked)
        except (StorageFailure, OSError) as failure:
            told = failure
        # Files that are out of use may stay behind, and a directory that cannot be opened is told as it is.
        if told is not None and not isinstance(told, StorageFailure):
            assert tracked.between[0].records == tracked.between[1].records
        if disk.calls < first_call + number:
            break
        if told is not None:
            failures += 1
            assert os.strerror(error) in str(told)
        before, after = tracked.between
        left = disk.image()
        if isinstance(told, DiskFull):
            check_goes_on(tracked, disk, before, after)
        else:
            check_offline(tracked, told)
        check_survivors(TrackedLog(MemoryDisk(left), config), tracked, before, after)
        number += 1
    assert number > 20
    # A failure while the directory is closed is only logged: the next start recovers.
    assert failures > number // 5


def check_offline(tracked: TrackedLog, told: Exception | None) -> None:
    """After a failed write the directory says why it is offline, and takes nothing more."""
    failure = tracked.directory.failure
    if isinstance(told, StorageFailure):
        assert failure is not None
    if failure is not None and PARTITION in tracked.directory.logs:
        with pytest.raises((StorageFailure, RuntimeError)):
            tracked.append((b"k", b"more"))
        tracked.directory.abandon()


def check_goes_on(tracked: TrackedLog, disk: FailingDisk, before: Model, after: Model) -> None:
    """While there is no room everything can be read. When there is, writing goes on without a restart."""
    assert tracked.directory.failure is None
    log = tracked.directory.logs.get(PARTITION)
    if log is None or log.closed:
        return
    check_recovered(log, before, after)
    disk.fail_at = None
    epoch = tracked.epoch
    tracked.model = replace(after, end=log.log_end_offset)
    tracked.epoch = max(tracked.epoch, log.latest_epoch)
    tracked.append((b"k", b"room again"))
    tracked.flush()
    tracked.write_checkpoints()
    found = read_records(log, log.log_end_offset - 1, max_bytes=1000)
    assert isinstance(found, ReadResult)
    assert b"room again" in found.records
    tracked.directory.abandon()
    tracked.epoch = epoch


def check_survivors(healthy: TrackedLog, tracked: TrackedLog, before: Model, after: Model) -> None:
    """The process ends, the disk is repaired, and the broker starts again."""
    healthy.now = tracked.now
    log = healthy.open()
    check_recovered(log, before, after)
    healthy.model = replace(after, end=log.log_end_offset)
    healthy.epoch = tracked.epoch + 1
    healthy.append((b"k", b"goes on"))
