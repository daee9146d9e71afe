"""The segments of a log, as they are shown to those who ask."""

from __future__ import annotations

import dataclasses

import pytest
from support.compaction import compact
from support.default_settings import log_config
from support.log_harness import Harness, MakeHarness

from tidelog.model.segment_states import SegmentState
from tidelog.records.batch import parse_header
from tidelog.records.record import encode_batch
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.appending import append_as_leader, roll
from tidelog.storage.log.describing import describe_segments

ACTIVE, NOT_COMPACTED = SegmentState.ACTIVE, SegmentState.NOT_COMPACTED
DIRTY, CLEAN = SegmentState.DIRTY, SegmentState.CLEAN


def states(h: Harness) -> list[tuple[int, int, SegmentState]]:
    return [(each.base_offset, each.next_offset, each.state) for each in describe_segments(h.log, most=100)]


def put(h: Harness, *keys: bytes) -> None:
    for key in keys:
        data = bytearray(encode_batch([(h.now, key, b"v" * 50, ())]))
        append_as_leader(h.log, data, [parse_header(data)], 0, now_ms=h.now)
    h.log.update_high_watermark(h.log.log_end_offset)


def test_a_new_log_has_one_empty_segment(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    (only,) = describe_segments(h.log, most=100)
    assert only == (0, 0, 0, -1, ACTIVE)


def test_segments_are_adjacent_and_have_the_sizes_of_their_files(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=700))
    h.open()
    for number in range(10):
        h.append(b"x" * 100, timestamp=h.now + number)
    # What is known in memory, and what is read from the files after a start.
    for _ in range(2):
        found = describe_segments(h.log, most=100)
        assert [each[:2] for each in found] == [(0, 4), (4, 8), (8, 10)]
        assert [each.size for each in found] == [h.file(".log", each.base_offset).stat().st_size for each in found]
        assert [each.largest_timestamp - h.now for each in found] == [3, 7, 9]
        assert [each.state for each in found] == [NOT_COMPACTED, NOT_COMPACTED, ACTIVE]
        h.reopen()


def test_only_the_newest_are_described_if_there_are_too_many(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=700))
    h.open()
    for _ in range(10):
        h.append(b"x" * 100)
    assert [each[:2] for each in describe_segments(h.log, most=2)] == [(4, 8), (8, 10)]


def test_what_the_cleaner_has_passed_is_clean(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=100_000, compact=True, delete=False))
    h.open()
    put(h, b"a", b"b", b"a")
    roll(h.log, h.now)
    put(h, b"a")
    assert states(h) == [(0, 3, DIRTY), (3, 4, ACTIVE)]
    compact(h.directory, h.log, h.now)
    assert states(h) == [(0, 3, CLEAN), (3, 4, ACTIVE)]
    roll(h.log, h.now)
    put(h, b"c")
    assert states(h) == [(0, 3, CLEAN), (3, 4, DIRTY), (4, 5, ACTIVE)]
    # The checkpoint tells it to the next start.
    h.reopen()
    assert states(h) == [(0, 3, CLEAN), (3, 4, DIRTY), (4, 5, ACTIVE)]
    h.log.reconfigure(dataclasses.replace(h.config, compact=False, delete=True))
    assert states(h) == [(0, 3, NOT_COMPACTED), (3, 4, NOT_COMPACTED), (4, 5, ACTIVE)]


def test_deleting_records_makes_nothing_clean(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=100_000, compact=True))
    h.open()
    put(h, b"a", b"b")
    roll(h.log, h.now)
    put(h, b"a")
    h.log.advance_log_start(3)
    assert states(h) == [(0, 2, DIRTY), (2, 3, ACTIVE)]


def test_a_checkpoint_behind_the_log_end_is_not_believed(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=100_000, compact=True))
    h.open()
    put(h, b"a", b"b")
    roll(h.log, h.now)
    h.log.cleaned_up_to = 7
    assert states(h) == [(0, 2, DIRTY), (2, 2, ACTIVE)]


def test_a_short_time_index_costs_only_the_timestamp(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=700))
    h.open()
    for _ in range(6):
        h.append(b"x" * 100)
    h.reopen()
    h.file(".timeindex").write_bytes(b"")
    assert [each.largest_timestamp for each in describe_segments(h.log, most=100)] == [-1, h.now]


def test_a_failed_disk_is_reported(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.log.environment.health.fail("a test", OSError(5, "broken"))
    with pytest.raises(StorageFailure):
        describe_segments(h.log, most=100)


def test_a_state_of_a_later_version_is_unknown() -> None:
    assert SegmentState(77) is SegmentState.UNKNOWN
