"""A disk that fails at the n-th call, for every n: a clear error, no corruption, and a log that recovers."""

from __future__ import annotations

import errno
import shutil

import pytest
from support.default_settings import log_config
from support.log_harness import FaultyFileSystem, Harness, MakeHarness, Stopped, UnsyncedFileSystem

from tidelog.storage.files.filesystem import DiskFull, StorageFailure
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.retention import delete_old_segments

SMALL = log_config(segment_bytes=700, index_interval_bytes=150, retention_bytes=2500)


def work(h: Harness, acknowledged: list[int]) -> None:
    """Appends, rolls, flushes, an aborted transaction, retention and a truncation."""
    for number in range(20):
        result = h.append(b"%03d" % number * 20, producer_id=1, producer_epoch=0, base_sequence=number)
        acknowledged.append(result.last_offset)
        if number % 7 == 6:
            h.log.flush(h.now)
            h.directory.checkpoints.write_recovery_points()
    h.append(b"t" * 30, producer_id=2, producer_epoch=0, base_sequence=0, transactional=True)
    h.append_marker(2, commit=False)
    h.log.update_high_watermark(h.log.log_end_offset)
    for removal in delete_old_segments(h.log, h.now):
        removal.run(h.filesystem)
    h.directory.truncate(h.partition, 21, now_ms=h.now)
    h.append(b"last")
    acknowledged.append(21)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_scenario_23_failure_at_any_call_loses_nothing_acknowledged(harness: MakeHarness, error: int) -> None:
    step = 0
    while True:
        filesystem = FaultyFileSystem(10**9, error)
        h = harness(SMALL, filesystem=filesystem)
        h.open()
        filesystem.fail_at = filesystem.calls + step
        acknowledged: list[int] = []
        failure = None
        try:
            work(h, acknowledged)
        except StorageFailure as raised:
            failure = raised
        if failure is None:
            break
        assert failure.cause.errno == error
        assert "topic-0" in str(failure) or "log directory" in str(failure)
        if not isinstance(failure, DiskFull):
            check_offline(h)
        h.close()
        h.filesystem = UnsyncedFileSystem()
        h.open()
        stored = dict(h.values())
        for offset in acknowledged:
            if offset >= h.log.log_start_offset:
                assert offset in stored, (step, offset)
        # What was not acknowledged may be there, but only whole and in order.
        assert sorted(stored) == list(stored)
        for offset, value in stored.items():
            if offset < 20:
                assert value == b"%03d" % offset * 20
        result = h.append(b"more", producer_id=3, producer_epoch=0, base_sequence=0)
        assert result.base_offset == h.log.log_end_offset - 1
        h.crash()
        shutil.rmtree(h.path)
        step += 1
    assert step > 100


def check_offline(h: Harness) -> None:
    assert h.directory.failure is not None
    with pytest.raises(StorageFailure, match="offline"):
        h.append(b"x")
    with pytest.raises(StorageFailure, match="offline"):
        read_records(h.log, h.log.log_start_offset, max_bytes=100, upper_bound=h.log.log_start_offset + 1)


def test_memory_does_not_run_ahead_of_a_failed_write(harness: MakeHarness) -> None:
    filesystem = FaultyFileSystem(10**9, errno.ENOSPC, frozenset({"write"}))
    h = harness(filesystem=filesystem)
    h.open()
    h.append(b"a", epoch=1, producer_id=1, producer_epoch=0, base_sequence=0)
    before = (h.log.log_end_offset, h.log.leader_epochs.entries, h.log.producer_states.get(1), h.log.size)
    filesystem.fail_at = filesystem.calls
    with pytest.raises(StorageFailure, match="No space left"):
        h.append(b"b" * 1000, epoch=2, producer_id=1, producer_epoch=0, base_sequence=1)
    after = (h.log.log_end_offset, h.log.leader_epochs.entries, h.log.producer_states.get(1), h.log.size)
    assert after == before
    # The half that was written is taken away again.
    assert h.file(".log").stat().st_size == h.log.size


def test_too_many_open_files_fail_a_read_but_not_the_directory(harness: MakeHarness) -> None:
    filesystem = FaultyFileSystem(10**9, errno.EMFILE, frozenset({"open"}))
    h = harness(log_config(segment_bytes=200), filesystem=filesystem)
    h.open()
    for _ in range(4):
        h.append(b"x" * 50)
    h.log.flush(h.now)
    filesystem.fail_at = filesystem.calls
    with pytest.raises(StorageFailure):
        read_records(h.log, 0, max_bytes=100)
    assert h.directory.failure is None
    filesystem.fail_at = 10**9
    assert len(h.values()) == 4


def test_crash_at_any_call_loses_nothing_acknowledged(harness: MakeHarness) -> None:
    step = 0
    while True:
        filesystem = FaultyFileSystem(10**9)
        h = harness(SMALL, filesystem=filesystem)
        h.open()
        filesystem.fail_at = filesystem.calls + step
        acknowledged: list[int] = []
        try:
            work(h, acknowledged)
            h.close()
        except Stopped:
            h.directory.abandon()
        else:
            break
        h.filesystem = UnsyncedFileSystem()
        h.open()
        stored = dict(h.values())
        for offset in acknowledged:
            if offset >= h.log.log_start_offset:
                assert offset in stored, (step, offset)
        for offset, value in stored.items():
            if offset < 20:
                assert value == b"%03d" % offset * 20
        h.append(b"more", producer_id=3, producer_epoch=0, base_sequence=0)
        h.crash()
        shutil.rmtree(h.path)
        step += 1
    assert step > 100
