"""The last value of each key stays, where it was; tombstones, transactions and producers as Kafka treats them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.compaction import batches, committed_records, compact, records
from support.default_settings import compaction_limits, log_config
from support.log_harness import Harness, MakeHarness
from support.present import present

from tidelog.records.batch import parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import encode_batch
from tidelog.storage.cleaner.compaction import Compaction, CompactionRevoked, DamagedSegment
from tidelog.storage.cleaner.gaps import KnownGaps
from tidelog.storage.directories.removal import FileRemoval
from tidelog.storage.files.file_names import CLEANER_CHECKPOINT, GAPS_FILE, RECOVERY_POINT_CHECKPOINT
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.log.appending import append_as_leader, roll
from tidelog.storage.log.compacting import plan_compaction, start_compaction
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.log import Log
from tidelog.storage.log.results import AppendResult
from tidelog.storage.log.retention import delete_old_segments
from tidelog.storage.verification.directory import verify
from tidelog.storage.verification.findings import Report

CONFIG = log_config(segment_bytes=1000, index_interval_bytes=200, compact=True, delete=False, delete_retention_ms=1000)
DAY = 24 * 3600 * 1000


class Keyed:
    """A log of a compacted topic, and a way to write keys and values to it."""

    def __init__(self, h: Harness) -> None:
        self.h = h
        self.h.open()

    @property
    def log(self) -> Log:
        return self.h.log

    def put(self, *pairs: tuple[bytes | None, bytes | None], timestamp: int | None = None, **options: Any) -> int:
        at = self.h.now if timestamp is None else timestamp
        data = bytearray(encode_batch([(at, key, value, ()) for key, value in pairs], **options))
        result = append_as_leader(self.log, data, [parse_header(data)], 0, now_ms=self.h.now)
        assert isinstance(result, AppendResult), result
        self.log.update_high_watermark(self.log.log_end_offset)
        return result.base_offset

    def marker(self, producer_id: int, *, commit: bool) -> None:
        self.h.append_marker(producer_id, commit=commit)
        self.log.update_high_watermark(self.log.log_end_offset)

    def roll(self) -> None:
        roll(self.log, self.h.now)

    def compact(self, at: int = 0, **limits: int) -> Compaction:
        return compact(self.h.directory, self.log, self.h.now + at, compaction_limits(**limits))

    def found(self) -> list[tuple[int, bytes | None, bytes | None]]:
        return [(record.offset, record.key, record.value) for record in records(self.log)]

    def committed(self) -> list[tuple[int, bytes | None, bytes | None]]:
        return [(record.offset, record.key, record.value) for record in committed_records(self.log)]


MakeKeyed = Callable[..., Keyed]


@pytest.fixture
def keyed(harness: MakeHarness) -> MakeKeyed:
    return lambda config=CONFIG: Keyed(harness(config))


def test_last_value_of_each_key_stays_where_it_was(keyed: MakeKeyed) -> None:
    log = keyed()
    for number in range(60):
        log.put((b"k%d" % (number % 7), b"v%d" % number * 5))
    log.roll()
    size_before = log.log.size
    log.compact()
    assert log.found() == [(number, b"k%d" % (number % 7), b"v%d" % number * 5) for number in range(53, 60)]
    assert log.log.size < size_before / 4
    assert (log.log.log_start_offset, log.log.log_end_offset) == (0, 60)


def test_several_small_segments_become_one(keyed: MakeKeyed) -> None:
    log = keyed()
    for number in range(60):
        log.put((b"k%d" % (number % 7), b"v" * 30))
    log.roll()
    assert len(log.log.segments) > 5
    log.compact()
    # Groups are made by the sizes from before, so it takes several rounds.
    for _ in range(3):
        log.compact()
    assert len(log.log.segments) == 2
    assert len(log.found()) == 7


def test_active_segment_is_left_alone(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((b"a", b"1"), (b"a", b"2"))
    log.compact()
    assert len(log.found()) == 2
    log.roll()
    log.compact()
    assert log.found() == [(1, b"a", b"2")]


def test_uncommitted_records_are_left_alone(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((b"a", b"1"))
    log.put((b"a", b"2"))
    log.log.update_high_watermark(1)
    log.roll()
    log.compact()
    log.log.update_high_watermark(2)
    assert [offset for offset, _, _ in log.found()] == [0, 1]


@pytest.mark.parametrize("codec", list(Compression))
def test_batches_keep_codec_offsets_and_timestamps(keyed: MakeKeyed, codec: Compression) -> None:
    log = keyed()
    now = log.h.now
    data = [(now + at, b"k%d" % at, b"value" * 10, (("name", b"x"),)) for at in range(6)]
    batch = bytearray(encode_batch(data, compression=codec))
    append_as_leader(log.log, batch, [parse_header(batch)], 0, now_ms=now)
    log.put((b"k0", b""), (b"k2", b""), (b"k5", b""))
    log.roll()
    log.compact()
    (header, _rewritten), *_ = batches(log.log)
    assert (header.base_offset, header.last_offset, header.compression) == (0, 5, codec)
    assert header.partition_leader_epoch == 0
    assert header.max_timestamp == now + 4
    kept = [record for record in records(log.log) if record.offset < 6]
    assert [(record.offset, record.timestamp, record.headers) for record in kept] == [
        (at, now + at, (("name", b"x"),)) for at in (1, 3, 4)
    ]


def test_records_without_a_key_go(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((None, b"of a time before the topic was compacted"), (b"a", b"1"))
    log.roll()
    log.compact()
    assert log.found() == [(1, b"a", b"1")]


# Tombstones


def test_tombstone_removes_the_value_at_once_and_itself_after_delete_retention(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((b"a", b"1"))
    log.put((b"b", b"1"))
    log.put((b"a", None))
    log.put((b"c", b"1"))
    log.roll()
    log.compact()
    assert log.found() == [(1, b"b", b"1"), (2, b"a", None), (3, b"c", b"1")]
    log.compact(at=999)
    assert (2, b"a", None) in log.found()
    log.compact(at=1000)
    assert log.found() == [(1, b"b", b"1"), (3, b"c", b"1")]


def test_delete_horizon_is_set_once(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((b"a", None), (b"b", b"1"))
    log.put((b"c", b"1"))
    log.roll()
    log.compact(at=5)
    header = next(batches(log.log))[0]
    assert header.has_delete_horizon
    assert header.base_timestamp == log.h.now + 5 + 1000
    assert [record.timestamp for record in records(log.log)] == [log.h.now] * 3
    log.compact(at=900)
    assert next(batches(log.log))[0].base_timestamp == log.h.now + 5 + 1000


def test_value_after_a_tombstone_stays(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((b"a", b"1"), (b"a", None), (b"a", b"2"))
    log.roll()
    log.compact()
    assert log.found() == [(2, b"a", b"2")]


# Bounded memory


def test_small_map_takes_several_rounds(keyed: MakeKeyed) -> None:
    log = keyed(log_config(segment_bytes=100_000, index_interval_bytes=500, compact=True))
    for number in range(200):
        log.put((b"k%d" % (number % 100), b"%d" % number))
    log.roll()
    rounds = 0
    while (log.log.cleaned_up_to or 0) < 200:
        before = log.log.cleaned_up_to or 0
        compaction = log.compact(dedupe_buffer_bytes=24 * 31)
        assert len(compaction._keys._table) <= 24 * 31
        assert before < present(log.log.cleaned_up_to)
        rounds += 1
        assert rounds < 20
    assert rounds > 4
    assert log.found() == [(number, b"k%d" % (number % 100), b"%d" % number) for number in range(100, 200)]


def test_map_is_no_larger_than_the_dirty_part_can_need(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((b"a", b"1"))
    log.roll()
    assert len(log.compact()._keys._table) < 1000


# Transactions and producers


def test_aborted_records_vanish_and_the_marker_goes_last(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((b"a", b"1"))
    log.put((b"a", b"no"), (b"b", b"no"), producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    log.marker(5, commit=False)
    # Something later of the producer, so that its earlier batch need not be kept for it.
    log.put((b"c", b"1"), producer_id=5, producer_epoch=0, base_sequence=2, transactional=True)
    log.marker(5, commit=True)
    log.put((b"d", b"1"))
    log.roll()
    committed = [(0, b"a", b"1"), (4, b"c", b"1"), (6, b"d", b"1")]
    assert log.committed() == committed
    log.compact()
    assert log.committed() == log.found() == committed
    assert [header.base_offset for header, _ in batches(log.log) if header.is_control] == [3, 5]
    # Without batches the abort's marker gets a delete horizon, and goes when that has passed.
    log.compact(at=10)
    assert [header.has_delete_horizon for header, _ in batches(log.log) if header.is_control] == [True, False]
    log.compact(at=1010)
    assert [header.base_offset for header, _ in batches(log.log) if header.is_control] == [5]
    assert log.committed() == committed


def test_open_transaction_stops_the_compaction_at_its_segment(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((b"a", b"1"))
    log.put((b"a", b"2"))
    log.roll()
    log.put((b"b", b"1"), producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    log.put((b"b", b"2"))
    log.roll()
    log.compact()
    assert [offset for offset, _, _ in log.found()] == [1, 2, 3]
    log.marker(5, commit=False)
    log.roll()
    log.compact()
    assert log.committed() == [(1, b"a", b"2"), (3, b"b", b"2")]


def test_scenario_20_aborted_transaction_across_segments_stays_hidden_through_restarts(keyed: MakeKeyed) -> None:
    log = keyed()
    for number in range(12):
        log.put((b"t%d" % number, b"x" * 60), producer_id=9, producer_epoch=0, base_sequence=number, transactional=True)
        log.put((b"k%d" % (number % 3), b"y" * 60))
    log.marker(9, commit=False)
    log.put((b"z", b"1"))
    log.roll()
    assert len(log.log.segments) > 3
    committed = [record for record in log.committed() if record[1] == b"z" or record[0] > 17]
    for _ in range(3):
        log.compact()
        assert log.committed() == committed
        log.h.crash_and_reopen()
        log.log.update_high_watermark(log.log.log_end_offset)
        assert log.committed() == committed
        assert log.log.last_stable_offset == log.log.log_end_offset


def test_producers_last_sequence_stays_as_an_empty_batch(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((b"a", b"1"), (b"b", b"1"), producer_id=5, producer_epoch=2, base_sequence=0)
    log.put((b"a", b"2"), (b"b", b"2"), producer_id=5, producer_epoch=2, base_sequence=2)
    log.put((b"a", b"3"), (b"b", b"3"))
    log.roll()
    log.compact()
    assert [(header.base_offset, header.record_count) for header, _ in batches(log.log)] == [(2, 0), (4, 2)]
    for snapshot in log.h.partition_path.glob("*.snapshot"):
        os.remove(snapshot)
    log.h.crash_and_reopen()
    entry = log.h.producer(5)
    assert (entry.epoch, entry.last_sequence) == (2, 3)


def overwritten(keyed: MakeKeyed, config: LogConfig = CONFIG) -> Keyed:
    """Four sealed segments, of which only the last record of all is still wanted."""
    log = keyed(config)
    for value in (b"v", b"w"):
        for number in range(8):
            log.put((b"a", b"%s%d" % (value, number) * 40))
        log.roll()
    return log


def test_segments_of_which_nothing_stays_are_empty(keyed: MakeKeyed) -> None:
    log = overwritten(keyed)
    log.compact()
    assert [(header.base_offset, header.record_count) for header, _ in batches(log.log)] == [(15, 1)]
    assert [segment.next_offset() for segment in log.log.segments] == [0, 6, 8, 16, 16]
    # In the next round there is hardly anything left of them, and they become one.
    log.put((b"b", b"1"))
    log.roll()
    log.compact()
    assert log.log.segments.base_offsets == [0, 17]


def test_last_batch_of_a_round_stays_without_records_until_the_next_round(keyed: MakeKeyed) -> None:
    log = keyed()
    log.put((b"a", b"1"))
    log.put((None, b"no key"))
    log.roll()
    log.compact()
    assert [(header.base_offset, header.record_count) for header, _ in batches(log.log)] == [(0, 1), (1, 0)]
    log.put((b"a", b"2"))
    log.roll()
    log.compact()
    assert [(header.base_offset, header.record_count) for header, _ in batches(log.log)] == [(2, 1)]


def test_gap_that_a_crash_leaves_in_the_middle_of_a_round_is_no_loss(keyed: MakeKeyed) -> None:
    log = overwritten(keyed)
    expected = log.found()[-1:]
    compaction = start_compaction(log.log, plan_compaction(log.log, log.h.now), compaction_limits(), log.h.now)
    for _ in compaction.map_keys():
        pass
    # The last segment, and the checkpoint of the cleaner, are not written any more.
    for group in compaction.groups()[:-1]:
        for _ in compaction.write_group(group):
            pass
        segment, _ = log.log.exchange.swap_in(compaction, log.h.now)
        log.log.exchange.sync_names(compaction)
        log.log.exchange.finish(segment)
    log.h.crash()
    report = Report()
    verify(LocalFileSystem(), log.h.path, report)
    assert report.damage == []
    log.h.open()
    log.log.update_high_watermark(16)
    assert log.log.log_end_offset == 16
    assert log.found()[-1:] == expected
    # The topic may have become one that is not compacted.
    log.h.config = replace(CONFIG, compact=False, delete=True)
    log.h.crash_and_reopen()
    log.log.update_high_watermark(16)
    assert log.log.may_have_gaps
    assert log.found()[-1:] == expected


def test_gaps_are_limited_by_a_truncation(keyed: MakeKeyed) -> None:
    log = overwritten(keyed)
    log.compact()
    gaps = log.log.exchange.gaps
    assert KnownGaps(LocalFileSystem(), log.log.directory).end_offset == gaps.end_offset == 16
    log.h.directory.truncate(log.h.partition, 12, now_ms=log.h.now)
    assert KnownGaps(LocalFileSystem(), log.log.directory).end_offset == gaps.end_offset == 12
    log.h.directory.truncate_fully(log.h.partition, 3, now_ms=log.h.now)
    assert KnownGaps(LocalFileSystem(), log.log.directory).end_offset == gaps.end_offset == 3


@pytest.mark.parametrize("content", [b"", b"00000000\n16\n", b"no\n", b"\xff\n\xff"])
def test_without_a_readable_note_every_gap_counts_as_one_of_the_cleaner(keyed: MakeKeyed, content: bytes) -> None:
    log = overwritten(keyed)
    log.compact()
    expected = log.found()
    (log.h.partition_path / GAPS_FILE).write_bytes(content)
    for name in (CLEANER_CHECKPOINT, RECOVERY_POINT_CHECKPOINT):
        (Path(log.h.path) / name).unlink(missing_ok=True)
    log.h.crash_and_reopen()
    log.log.update_high_watermark(16)
    assert log.found() == expected
    # It is written again.
    assert KnownGaps(LocalFileSystem(), log.log.directory).end_offset == 16


# What happens meanwhile


def finish_first_group(log: Keyed) -> Compaction:
    compaction = start_compaction(log.log, plan_compaction(log.log, log.h.now), compaction_limits(), log.h.now)
    for _ in compaction.map_keys():
        pass
    for _ in compaction.write_group(compaction.groups()[0]):
        pass
    return compaction


def filled(keyed: MakeKeyed) -> Keyed:
    log = keyed()
    for number in range(30):
        log.put((b"k%d" % (number % 3), b"v%d" % number * 10))
    log.roll()
    return log


def test_truncation_revokes_what_was_not_swapped_in(keyed: MakeKeyed) -> None:
    log = filled(keyed)
    compaction = finish_first_group(log)
    assert list(log.h.partition_path.glob("*.swap"))
    log.h.directory.truncate(log.h.partition, 5, now_ms=log.h.now)
    assert not list(log.h.partition_path.glob("*.swap"))
    with pytest.raises(CompactionRevoked):
        log.log.exchange.swap_in(compaction, log.h.now)
    assert [offset for offset, _, _ in log.found()] == list(range(5))
    log.h.crash_and_reopen()
    assert log.log.log_end_offset == 5


def test_deletion_of_old_segments_revokes_what_was_not_swapped_in(keyed: MakeKeyed) -> None:
    log = filled(keyed)
    compaction = finish_first_group(log)
    second = log.log.segments.base_offsets[1]
    log.log.advance_log_start(second)
    delete_old_segments(log.log, log.h.now)
    with pytest.raises(CompactionRevoked):
        log.log.exchange.swap_in(compaction, log.h.now)
    log.h.crash_and_reopen()
    assert log.log.log_start_offset == second


def test_log_that_is_closed_meanwhile_takes_the_segment_in_at_the_next_start(keyed: MakeKeyed) -> None:
    log = filled(keyed)
    finish_first_group(log)
    old = log.found()
    log.h.reopen()
    log.log.update_high_watermark(30)
    assert not list(log.h.partition_path.glob("*.swap"))
    kept = log.found()
    assert set(kept) < set(old)
    assert {key: value for _, key, value in kept} == {key: value for _, key, value in old}


def test_appends_go_on_meanwhile(keyed: MakeKeyed) -> None:
    log = filled(keyed)
    compaction = start_compaction(log.log, plan_compaction(log.log, log.h.now), compaction_limits(), log.h.now)
    written = 30
    for _ in compaction.map_keys():
        log.put((b"new", b"%d" % written))
        written += 1
    for group in compaction.groups():
        for _ in compaction.write_group(group):
            log.put((b"new", b"%d" % written))
            written += 1
        segment, _ = log.log.exchange.swap_in(compaction, log.h.now)
        assert len(log.found()) > 3
        log.log.exchange.sync_names(compaction)
        log.log.exchange.finish(segment)
    log.log.end_compaction(compaction, complete=True)
    assert log.found()[-1] == (written - 1, b"new", b"%d" % (written - 1))
    assert [offset for offset, _, _ in log.found()][:3] == [27, 28, 29]


def test_damaged_segment_is_named_and_nothing_changes(keyed: MakeKeyed) -> None:
    log = filled(keyed)
    path = log.h.file(".log")
    content = bytearray(path.read_bytes())
    content[200] ^= 4
    path.write_bytes(content)
    with pytest.raises(DamagedSegment, match=r"00000000000000000000\.log is damaged at byte \d+: the checksum"):
        log.compact()
    assert not [name for name in os.listdir(log.h.partition_path) if name.endswith((".cleaned", ".swap", ".deleted"))]


def test_checkpoint_of_the_cleaner_survives(keyed: MakeKeyed) -> None:
    log = filled(keyed)
    log.compact()
    assert log.log.cleaned_up_to == 30
    text = (log.h.partition_path.parent / "cleaner-offset-checkpoint").read_text()
    assert text == "0\n1\ntopic 0 30\n"
    log.h.reopen()
    assert log.log.cleaned_up_to == 30
    log.h.directory.truncate(log.h.partition, 12, now_ms=log.h.now)
    log.h.crash_and_reopen()
    assert log.log.cleaned_up_to == 12


def test_old_files_go_after_the_delay(keyed: MakeKeyed) -> None:
    log = filled(keyed)
    removals: list[FileRemoval] = []
    compact(log.h.directory, log.log, log.h.now, removals=removals)
    assert list(log.h.partition_path.glob("*.log.deleted"))
    for removal in removals:
        assert removal.due_ms == log.h.now + 60_000
        removal.run(log.h.filesystem)
    assert not list(log.h.partition_path.glob("*.deleted"))
    assert len(log.found()) == 3
