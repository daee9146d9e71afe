"""After a crash: what was whole is there, what was not is gone, and everything else follows from it."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import zlib
from pathlib import Path

import pytest
from support.default_settings import log_config
from support.log_harness import FaultyFileSystem, Harness, MakeHarness, SeededRandomness, Stopped
from support.present import present

from tidelog.records.batch import parse_header
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.filesystem import File
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.log.appending import append_as_follower, roll
from tidelog.storage.log.reader import aborted_transactions
from tidelog.storage.log.results import AppendResult
from tidelog.storage.log.timestamp_lookup import at_once, seek
from tidelog.storage.log.truncation import truncate_to
from tidelog.storage.recovery.damage import DamagedLog
from tidelog.storage.recovery.load_request import RecoveryProgress
from tidelog.storage.segments.batch_scan import UnsupportedFormat

SMALL = log_config(segment_bytes=500, index_interval_bytes=150)


@pytest.fixture
def filled(harness: MakeHarness) -> Harness:
    """Twenty-four batches of an idempotent producer over several segments; nothing is flushed."""
    h = harness(SMALL)
    h.open()
    for number in range(24):
        produce(h, number)
    assert len(h.log.segments) >= 4
    return h


def produce(h: Harness, number: int) -> AppendResult:
    return h.append(
        b"value-%d" % number,
        epoch=number // 5,
        timestamp=h.now + number,
        producer_id=1,
        producer_epoch=0,
        base_sequence=number,
    )


def check(h: Harness, count: int) -> None:
    """The log holds exactly the first `count` batches, and goes on from there."""
    log = h.log
    assert h.report.failures == {}
    assert h.values() == [(number, b"value-%d" % number) for number in range(count)]
    assert log.log_end_offset == count
    assert log.leader_epochs.entries == tuple((epoch, epoch * 5) for epoch in range((count + 4) // 5))
    entry = log.producer_states.get(1)
    assert (entry.last_sequence if entry else -1) == count - 1
    for number in range(count):
        assert parse_header(h.read(number, 1).records).base_offset == number
        assert present(at_once(seek(log, h.now + number))).offset == number
    if count:
        assert produce(h, count - 1).duplicate
    assert produce(h, count) == AppendResult(count, count, -1, 0)
    truncate_to(log, count, now_ms=h.now)


def indexes(h: Harness) -> dict[str, bytes]:
    paths = [path for path in h.partition_path.iterdir() if path.suffix in (".index", ".timeindex")]
    return {path.name: path.read_bytes() for path in paths}


def test_log_is_whole_after_a_crash_and_indexes_are_as_they_were(filled: Harness) -> None:
    h = filled
    h.crash()
    h.open()
    rebuilt = indexes(h)
    check(h, 24)
    shutil.rmtree(h.path)
    h.directory.abandon()
    h.open()
    for number in range(24):
        produce(h, number)
    h.close()
    assert indexes(h) == rebuilt


def test_scenario_22_torn_last_batch_is_cut_at_every_length(filled: Harness) -> None:
    h = filled
    active = h.log.segments.active
    batches = [(position, header) for position, header in active.headers()]
    position, header = batches[-1]
    h.crash()
    path = h.file(".log", active.base_offset)
    content = path.read_bytes()
    for length in range(header.size):
        path.write_bytes(content[: position + length])
        log = h.open()
        assert log.log_end_offset == 23, length
        assert path.stat().st_size == position
        h.crash()
    h.open()
    check(h, 23)


@pytest.mark.parametrize(
    "tail",
    [bytes(1), bytes(11), bytes(61), bytes(5000), b"\xff" * 200, os.urandom(300)],
    ids=["1 zero", "11 zeroes", "61 zeroes", "5000 zeroes", "ones", "random"],
)
def test_tail_that_is_no_batch_is_cut(filled: Harness, tail: bytes) -> None:
    h = filled
    base = h.log.segments.active.base_offset
    h.crash()
    with h.file(".log", base).open("ab") as file:
        file.write(tail)
    h.open()
    check(h, 24)


def test_scenario_22_zeroes_in_place_of_the_last_batches_are_cut(filled: Harness) -> None:
    h = filled
    active = h.log.segments.active
    position = [position for position, _ in active.headers()][-2]
    h.crash()
    path = h.file(".log", active.base_offset)
    content = path.read_bytes()
    path.write_bytes(content[:position] + bytes(len(content) - position))
    h.open()
    check(h, 22)


def test_scenario_22_every_flipped_bit_behind_the_recovery_point_ends_the_log_there(filled: Harness) -> None:
    """Offset and leader epoch lie outside of the checksum: a flip in them may go unnoticed or end the log."""
    h = filled
    active = h.log.segments.active
    position, header = next((position, header) for position, header in list(active.headers())[1:])
    h.lose_power()
    path = h.file(".log", active.base_offset)
    content = path.read_bytes()
    for at in [*range(8, 12), *range(16, header.size)]:
        damaged = bytearray(content)
        damaged[position + at] ^= 0x40
        path.write_bytes(damaged)
        log = h.open()
        assert log.log_end_offset == header.base_offset, at
        h.lose_power()
    h.open()
    check(h, header.base_offset)


def test_damage_in_an_earlier_segment_removes_the_later_ones(filled: Harness) -> None:
    h = filled
    second = h.log.segments.base_offsets[1]
    h.lose_power()
    path = h.file(".log", second)
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    h.open()
    assert len(h.log.segments) == 2
    logs = [int(path.stem) for path in h.partition_path.iterdir() if path.suffix == ".log"]
    assert sorted(logs) == h.log.segments.base_offsets
    check(h, h.log.log_end_offset)


def test_damage_below_the_recovery_point_is_left_alone(filled: Harness) -> None:
    h = filled
    h.log.flush(h.now)
    h.directory.checkpoints.write_recovery_points()
    h.crash()
    path = h.file(".log")
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    h.open()
    assert h.log.log_end_offset == 24
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("kind", ["garbage", "cut", "empty", "missing", "preallocated"])
@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
@pytest.mark.parametrize("stop", ["clean", "crash", "crash after a flush"])
def test_scenario_22_damaged_indexes_are_rebuilt(filled: Harness, kind: str, suffix: str, stop: str) -> None:
    h = filled
    if stop == "clean":
        h.close()
    else:
        if stop != "crash":
            h.log.flush(h.now)
            h.directory.checkpoints.write_recovery_points()
        h.crash()
    for base_offset in h.log.segments.base_offsets:
        path = h.file(suffix, base_offset)
        content = path.read_bytes() if path.exists() else b""
        if kind == "garbage":
            path.write_bytes(b"\xfa\xce" * 12)
        elif kind == "cut":
            path.write_bytes(content[:-3])
        elif kind == "empty":
            path.write_bytes(b"")
        elif kind == "missing":
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(content + bytes(12 * 34 * 10))
    h.open()
    if suffix == ".timeindex" and kind == "empty" and stop != "crash":
        # Kafka takes an empty time index for what it says, too; it costs only the search by time.
        assert [offset for offset, _ in h.values()] == list(range(24))
    else:
        check(h, 24)
    assert aborted_transactions(h.log, 0, upper_bound=24) == []


@pytest.mark.parametrize("stop", ["clean", "crash", "crash after a flush"])
@pytest.mark.parametrize("damage", ["all missing", "newest missing", "all garbage", "newest garbage"])
def test_scenario_22_producer_states_do_not_need_their_snapshots(filled: Harness, stop: str, damage: str) -> None:
    h = filled
    if stop == "clean":
        h.close()
    else:
        if stop != "crash":
            h.log.flush(h.now)
            h.directory.checkpoints.write_recovery_points()
        h.crash()
    snapshots = sorted(path for path in h.partition_path.iterdir() if path.suffix == ".snapshot")
    assert snapshots
    for path in snapshots if damage.startswith("all") else snapshots[-1:]:
        if damage.endswith("missing"):
            path.unlink()
        else:
            path.write_bytes(b"garbage" * 10)
    h.open()
    check(h, 24)


def test_last_five_batches_of_a_producer_survive_a_kill(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    for number in range(8):
        produce(h, number)
    h.crash_and_reopen()
    for number in range(3, 8):
        again = produce(h, number)
        assert (again.duplicate, again.base_offset) == (True, number)


@pytest.mark.parametrize("content", [None, b"", b"garbage", b"0\n9\n0 0\n", b"0\n1\n77 3\n"])
def test_leader_epochs_are_read_from_the_batches_if_their_checkpoint_is_wrong(
    filled: Harness, content: bytes | None
) -> None:
    h = filled
    h.crash()
    path = h.partition_path / "leader-epoch-checkpoint"
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(content)
    h.open()
    check(h, 24)


def test_stale_epochs_do_not_hide_those_of_the_batches(harness: MakeHarness) -> None:
    """The replica led in epoch 7 and wrote nothing, then followed a leader that had batches of epoch 6 there."""
    h = harness()
    h.open()
    h.append(b"a", epoch=3)
    h.log.assign_leader_epoch(7)
    h.log.flush(h.now)
    truncate_to(h.log, 1, now_ms=h.now)
    append_as_follower(h.log, h.batch(b"b", base_offset=1, leader_epoch=6), h.now)
    assert h.log.leader_epochs.entries == ((3, 0), (6, 1))
    h.crash_and_reopen()
    assert h.log.leader_epochs.entries == ((3, 0), (6, 1))


def test_clean_start_checks_an_active_segment_that_was_damaged_since(filled: Harness) -> None:
    h = filled
    base = h.log.segments.active.base_offset
    h.close()
    with h.file(".log", base).open("ab") as file:
        file.write(bytes(100))
    h.open()
    check(h, 24)


def test_clean_start_reads_no_records(filled: Harness) -> None:
    h = filled
    h.close()
    sealed = [h.file(".log", offset) for offset in h.log.segments.base_offsets[:-1]]
    before = {path: path.read_bytes() for path in sealed}
    opened: list[str] = []

    class Recording(FaultyFileSystem):
        def open(self, path: str, *, create: bool = False) -> File:
            opened.append(path)
            return super().open(path, create=create)

    h.open(Recording(10**9))
    assert not [
        path
        for path in opened
        if path.endswith(".log") and path != str(h.file(".log", h.log.segments.active.base_offset))
    ]
    assert {path: path.read_bytes() for path in sealed} == before


def test_scenario_35_log_whose_files_were_removed_is_refused(filled: Harness) -> None:
    h = filled
    h.log.update_high_watermark(24)
    h.log.advance_log_start(20)
    h.close()
    for path in h.partition_path.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    with pytest.raises(DamagedLog, match=r"0\.log is damaged: the file of \d+ bytes is missing"):
        h.open()
    assert list(h.report.failures) == [h.partition]
    assert [path.name for path in h.partition_path.iterdir()] == ["partition.metadata"]


def test_messages_of_old_formats_are_refused_and_not_cut(filled: Harness) -> None:
    h = filled
    base = h.log.segments.active.base_offset
    h.crash()
    path = h.file(".log", base)
    body = struct.pack(">bbqii", 1, 0, h.now, -1, -1)
    message = struct.pack(">qiI", 24, len(body) + 4, zlib.crc32(body)) + body
    path.write_bytes(path.read_bytes() + message + bytes(40))
    size = path.stat().st_size
    with pytest.raises(UnsupportedFormat, match="format v1"):
        h.open()
    assert path.stat().st_size == size
    assert isinstance(h.report.failures[h.partition], UnsupportedFormat)


def test_progress_of_a_long_recovery_is_told(filled: Harness) -> None:
    h = filled
    h.crash()
    told: list[RecoveryProgress] = []
    h.directory = LogDirectory.open(h.path, LocalFileSystem(), SeededRandomness())
    h.directory.load(lambda _: SMALL, h.now, told.append)
    assert told
    assert told[0].topic_partition == h.partition
    assert all(0 < progress.checked_bytes <= progress.total_bytes for progress in told)
    assert [progress.checked_bytes for progress in told] == sorted(progress.checked_bytes for progress in told)


@pytest.mark.parametrize("damage", ["none", "torn", "flipped"])
def test_scenario_22_crash_at_any_step_of_recovery_is_harmless(filled: Harness, tmp_path: Path, damage: str) -> None:
    h = filled
    offsets = h.log.segments.base_offsets
    # All of it was committed on other machines, none of it is on the device here.
    h.log.update_high_watermark(24)
    h.directory.checkpoints.write_high_watermarks()
    h.lose_power()
    expected = 24
    if damage == "torn":
        path = h.file(".log", offsets[-1])
        path.write_bytes(path.read_bytes()[:-5])
        expected = 23
    elif damage == "flipped":
        path = h.file(".log", offsets[1])
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        expected = offsets[2] - 1
    shutil.copytree(h.path, tmp_path / "copy")
    step = 0
    while True:
        filesystem = FaultyFileSystem(step)
        try:
            h.open(filesystem)
        except Stopped:
            # A second crash, a few steps into the next recovery.
            h.directory.abandon()
            with contextlib.suppress(Stopped):
                h.open(FaultyFileSystem(step // 2))
            h.directory.abandon()
            h.open()
            assert h.log.log_end_offset == expected, step
            check(h, expected)
            h.crash()
            shutil.rmtree(h.path)
            shutil.copytree(tmp_path / "copy", h.path)
            step += 1
            continue
        filesystem.fail_at = 10**9
        break
    assert step > 20
    # What the power failure has taken is not asked for after a crash that follows.
    h.crash_and_reopen()
    check(h, expected)


def test_segment_behind_a_lost_end_is_dropped(filled: Harness) -> None:
    """The last batches of a sealed segment never reached the device, and the cut happens to be at a batch."""
    h = filled
    offsets = h.log.segments.base_offsets
    second = present(h.log.segments.floor(offsets[1]))
    position, header = list(second.headers())[-2]
    h.lose_power()
    path = h.file(".log", offsets[1])
    path.write_bytes(path.read_bytes()[: position + header.size])
    h.open()
    assert h.log.segments.base_offsets == offsets[:2]
    check(h, offsets[2] - 1)


def test_gaps_between_segments_of_a_compacted_topic_are_kept(harness: MakeHarness) -> None:
    h = harness(log_config(compact=True))
    h.open()
    append_as_follower(h.log, h.batch(b"a", leader_epoch=0), h.now)
    roll(h.log, h.now)
    append_as_follower(h.log, h.batch(b"b", base_offset=10, leader_epoch=0), h.now)
    roll(h.log, h.now)
    append_as_follower(h.log, h.batch(b"c", base_offset=20, leader_epoch=0), h.now)
    h.crash_and_reopen()
    assert h.values() == [(0, b"a"), (10, b"b"), (20, b"c")]
