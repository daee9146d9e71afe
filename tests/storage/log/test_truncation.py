"""Cutting a log: the records, and everything that was derived from them."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.default_settings import log_config
from support.descriptors import exhaust_descriptors
from support.log_harness import Harness, MakeHarness

from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.log.results import AppendResult
from tidelog.storage.log.retention import delete_old_segments
from tidelog.storage.log.timestamp_lookup import at_once, seek_max
from tidelog.storage.log.truncation import truncate_fully_and_start_at, truncate_to

SMALL = log_config(segment_bytes=600, index_interval_bytes=100)


@pytest.fixture
def filled(harness: MakeHarness) -> Harness:
    """Twenty batches of two records from one producer, five per segment, two per epoch; timestamps grow."""
    return fill(harness(SMALL))


def fill(h: Harness) -> Harness:
    h.open()
    for number in range(20):
        h.append(
            b"a%d" % number,
            b"b%d" % number,
            epoch=number // 2,
            timestamp=h.now + number,
            producer_id=1,
            producer_epoch=0,
            base_sequence=number * 2,
        )
    assert len(h.log.segments) >= 3
    h.log.update_high_watermark(40)
    return h


@pytest.mark.parametrize("restart", [None, "clean", "crash"])
@pytest.mark.parametrize("offset", range(0, 40, 2))
def test_log_is_as_if_the_cut_records_had_never_been(
    filled: Harness, harness: MakeHarness, tmp_path: Path, offset: int, restart: str | None
) -> None:
    h = filled
    h.directory.truncate(h.partition, offset, now_ms=h.now)
    if restart == "clean":
        h.reopen()
    elif restart == "crash":
        h.crash_and_reopen()
    expected = harness(SMALL, path=str(tmp_path / "expected"))
    expected.open()
    for number in range(offset // 2):
        expected.append(
            b"a%d" % number,
            b"b%d" % number,
            epoch=number // 2,
            timestamp=h.now + number,
            producer_id=1,
            producer_epoch=0,
            base_sequence=number * 2,
        )
    log, other = h.log, expected.log
    assert log.log_end_offset == other.log_end_offset == offset
    assert h.values() == expected.values()
    assert log.leader_epochs.entries == other.leader_epochs.entries
    entry, other_entry = log.producer_states.get(1), other.producer_states.get(1)
    # A snapshot keeps only the last batch, so that is what is compared.
    assert (entry and entry.to_snapshot()) == (other_entry and other_entry.to_snapshot())
    assert at_once(seek_max(log)) == at_once(seek_max(other))
    assert log.recovery_point <= offset
    for probe in range(offset):
        assert h.read(probe, 1).records == expected.read(probe, 1).records
    assert h.append(b"new", epoch=99, producer_id=1, producer_epoch=0, base_sequence=offset) == AppendResult(
        offset, offset, -1, 0
    )
    assert h.values()[-1] == (offset, b"new")


def test_cut_within_a_batch_takes_the_whole_batch_and_is_filled_by_the_leader(filled: Harness) -> None:
    """The log ends where its last batch does, and the follower fetches the next one again."""
    h = filled
    h.directory.truncate(h.partition, 7, now_ms=h.now)
    assert h.log.log_end_offset == 6
    assert h.values()[-1] == (5, b"b2")


def test_high_watermark_does_not_stay_above_the_end(filled: Harness) -> None:
    filled.directory.truncate(filled.partition, 10, now_ms=filled.now)
    assert filled.log.high_watermark == 10


def test_cutting_at_the_end_changes_nothing_but_epochs_without_records(filled: Harness) -> None:
    h = filled
    h.log.assign_leader_epoch(50)
    assert truncate_to(h.log, 40, now_ms=h.now) == []
    assert h.log.log_end_offset == 40
    assert h.log.latest_epoch == 9


def test_removed_segments_leave_files_to_remove(filled: Harness) -> None:
    h = filled
    removals = h.directory.truncate(h.partition, 2, now_ms=h.now)
    assert removals
    assert [path for path in h.partition_path.iterdir() if path.name.endswith(".deleted")]
    for removal in removals:
        removal.run(h.filesystem)
    assert not [path for path in h.partition_path.iterdir() if path.name.endswith(".deleted")]


@pytest.mark.parametrize("start", [0, 10, 40, 1000])
@pytest.mark.parametrize("restart", [False, True])
def test_log_can_start_anew_anywhere(filled: Harness, start: int, restart: bool) -> None:
    h = filled
    h.directory.truncate_fully(h.partition, start, now_ms=h.now)
    if restart:
        h.crash_and_reopen()
    log = h.log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (start, start, start)
    assert log.leader_epochs.entries == ()
    assert log.producer_states.snapshot() == []
    h.append(b"x", epoch=3)
    assert h.values() == [(start, b"x")]


CHANGES = ("open", "rename", "remove", "sync_directory")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
@pytest.mark.parametrize("offset", [0, 25, 1000])
def test_a_disk_that_fails_on_the_way_leaves_a_log_with_segments(
    filled: Harness, monkeypatch: pytest.MonkeyPatch, number: int, offset: int
) -> None:
    """Either nothing has changed, and it works when it is tried again, or the directory is offline."""
    h = filled
    outcomes: set[str] = set()
    allowed_calls = calls_left = 0

    def fail_at_the_last(original: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        nonlocal calls_left
        calls_left -= 1
        if calls_left < 0:
            raise OSError(number, "injected")
        return original(*arguments, **options)

    while "done" not in outcomes:
        calls_left = allowed_calls
        allowed_calls += 1
        with monkeypatch.context() as patch:
            for name in CHANGES:
                patch.setattr(h.filesystem, name, partial(fail_at_the_last, getattr(h.filesystem, name)))
            try:
                truncate_fully_and_start_at(h.log, offset, now_ms=h.now)
                outcomes.add("done")
            except StorageFailure as failure:
                outcomes.add("refused" if failure.is_shortage else "offline")
        assert len(h.log.segments) > 0
        if h.directory.failure is None:
            h.log.check_invariants()
        else:
            h.crash_and_reopen()
    assert outcomes == ({"refused", "offline", "done"} if number == errno.EMFILE else {"offline", "done"})
    assert (h.log.log_start_offset, h.log.log_end_offset) == (offset, offset)


@pytest.mark.plain_python
@pytest.mark.parametrize("in_reserve", [0, 1])
@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("offset", [0, 10, 24, 38, None])
def test_without_descriptors_a_cut_is_refused_or_comes_to_its_end(
    harness: MakeHarness, monkeypatch: pytest.MonkeyPatch, in_reserve: int, compacted: bool, offset: int | None
) -> None:
    """It needs no more than one at a time, and looks for that before it changes anything."""
    monkeypatch.setattr("tidelog.storage.files.open_files.SPARE_DESCRIPTORS", in_reserve)
    h = fill(harness(SMALL, filesystem=LocalFileSystem()))
    if compacted:
        h.log.note_gaps()
    for segment in h.log.segments:
        segment.release()
    exhaust_descriptors(monkeypatch)

    def cut() -> None:
        if offset is None:
            truncate_fully_and_start_at(h.log, 1000, now_ms=h.now)
        else:
            truncate_to(h.log, offset, now_ms=h.now)

    if in_reserve:
        cut()
    else:
        with pytest.raises(StorageFailure, match="Too many open files"):
            cut()
    monkeypatch.undo()
    assert h.directory.failure is None
    end = 40 if not in_reserve else 1000 if offset is None else offset
    assert h.log.log_end_offset == end
    h.log.check_invariants()


def test_cutting_below_the_first_segment_starts_anew_there(filled: Harness) -> None:
    h = filled
    h.log.config = log_config(segment_bytes=600, retention_ms=0)
    delete_old_segments(h.log, h.now + 10**9)
    truncate_to(h.log, 3, now_ms=h.now)
    assert (h.log.log_start_offset, h.log.log_end_offset) == (3, 3)


def test_stale_snapshots_do_not_come_back(filled: Harness) -> None:
    """A snapshot of the old end must not be taken for the state of other records at the same offset."""
    h = filled
    h.reopen()
    assert h.file(".snapshot", 40).exists()
    h.directory.truncate(h.partition, 30, now_ms=h.now)
    assert not h.file(".snapshot", 40).exists()
    for number in range(10):
        h.append(b"other", epoch=10, producer_id=2, producer_epoch=0, base_sequence=number)
    h.crash_and_reopen()
    assert h.log.log_end_offset == 40
    assert h.producer(2).last_sequence == 9
    assert h.producer(1).last_sequence == 29


@pytest.mark.parametrize("offset", [0, 2, 4])
@pytest.mark.parametrize("fully", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
def test_log_that_was_truncated_below_its_start_is_whole_after_a_crash(
    filled: Harness, restarted: bool, fully: bool, offset: int
) -> None:
    h = filled
    h.log.flush(h.now)
    h.log.update_high_watermark(40)
    h.log.advance_log_start(6)
    h.directory.checkpoints.write_all()
    if restarted:
        h.reopen()
    cut = h.directory.truncate_fully if fully else h.directory.truncate
    cut(h.partition, offset, now_ms=h.now)
    h.crash()
    h.open_if_whole()
    assert not h.report.failures
    assert (h.log.log_start_offset, h.log.log_end_offset) == (offset, offset)


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("offset", [10, 24, 40])
def test_end_that_is_recorded_is_that_of_the_files(harness: MakeHarness, compacted: bool, offset: int) -> None:
    """The next start believes no other: neither after a truncation, nor after one that had nothing to do."""
    h = fill(harness(SMALL))
    if compacted:
        h.log.note_gaps()
    h.directory.truncate(h.partition, offset, now_ms=h.now)
    h.close()
    h.open_if_whole()
    assert not h.report.failures
    assert h.log.log_end_offset == offset
