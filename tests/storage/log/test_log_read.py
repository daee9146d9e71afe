"""Reading by offset and by timestamp, within the bounds that a reader has."""

from __future__ import annotations

import pytest
from support.default_settings import log_config
from support.log_harness import Harness, MakeHarness

from tidelog.records.batch import LOG_APPEND_TIME, iterate_headers, parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import encode_batch
from tidelog.storage.log.appending import append_as_follower, append_as_leader, roll
from tidelog.storage.log.reader import end_offset_of, read_records
from tidelog.storage.log.results import OffsetOutOfRange, ReadResult, TimestampedOffset
from tidelog.storage.log.timestamp_lookup import at_once, seek, seek_max

SMALL = log_config(segment_bytes=2000, index_interval_bytes=300)


def offsets(result: ReadResult) -> list[int]:
    return [header.base_offset for _, header in iterate_headers(result.records)]


@pytest.fixture
def filled(harness: MakeHarness) -> Harness:
    """Fifty batches of three records in several segments."""
    h = harness(SMALL)
    h.open()
    for number in range(50):
        h.append(*[b"%03d" % (number * 3 + at) for at in range(3)], timestamp=h.now + number)
    assert len(h.log.segments) > 2
    return h


@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
def test_every_offset_finds_its_batch(filled: Harness, restart: bool) -> None:
    h = filled
    if restart:
        h.reopen()
    for offset in range(150):
        result = h.read(offset, 1)
        assert offsets(result) == [offset // 3 * 3]


def test_read_ends_with_the_segment(filled: Harness) -> None:
    log = filled.log
    second = log.segments.base_offsets[1]
    result = filled.read(0, 1 << 20)
    assert offsets(result)[-1] == second - 3
    assert result.segment_base_offset == 0
    assert offsets(filled.read(second, 1 << 20))[0] == second


def test_last_batch_may_be_cut_and_the_first_never(filled: Harness) -> None:
    batch_size = len(filled.read(0, 1).records)
    assert len(filled.read(0, batch_size + 10).records) == batch_size + 10
    assert len(filled.read(0, batch_size - 1).records) == batch_size
    assert filled.read(0, batch_size - 1, min_one_batch=False).records == b""
    assert len(filled.read(0, batch_size, min_one_batch=False).records) == batch_size


@pytest.mark.parametrize("bound", [3, 6, 60, 147])
def test_nothing_at_or_above_the_bound_is_read(filled: Harness, bound: int) -> None:
    for offset in range(bound):
        result = filled.read(offset, 1 << 20, upper_bound=bound)
        assert offsets(result)
        assert max(offsets(result)) < bound
    assert filled.read(bound, 1 << 20, upper_bound=bound).records == b""
    assert filled.read(150, 1 << 20, upper_bound=bound).records == b""


def test_bound_within_a_batch_leaves_the_batch_out(filled: Harness) -> None:
    assert offsets(filled.read(0, 1 << 20, upper_bound=4)) == [0]
    assert filled.read(3, 1 << 20, upper_bound=4).records == b""


def test_offsets_outside_of_the_log_are_told(filled: Harness) -> None:
    log = filled.log
    log.update_high_watermark(150)
    log.advance_log_start(10)
    expected = {"log_start_offset": 10, "log_end_offset": 150}
    assert read_records(log, 9, max_bytes=100) == OffsetOutOfRange(offset=9, **expected)
    assert read_records(log, 151, max_bytes=100) == OffsetOutOfRange(offset=151, **expected)
    assert filled.read(150, 100).records == b""
    assert offsets(filled.read(10, 1)) == [9]


def test_gap_at_the_end_of_a_segment_is_skipped(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    append_as_follower(h.log, h.batch(b"a", leader_epoch=0), h.now)
    roll(h.log, h.now)
    append_as_follower(h.log, h.batch(b"b", base_offset=10, leader_epoch=0), h.now)
    append_as_follower(h.log, h.batch(b"c", base_offset=20, leader_epoch=0), h.now)
    for offset, found in [(0, 0), (1, 10), (9, 10), (10, 10), (11, 20), (20, 20)]:
        assert offsets(h.read(offset, 1)) == [found]


def test_entry_of_the_index_that_leads_astray_is_repaired(filled: Harness) -> None:
    h = filled
    h.reopen()
    path = h.file(".index")
    good = path.read_bytes()
    entries = len(good) // 8
    assert entries >= 3
    bad = bytearray(good)
    # The middle entry points into the middle of a batch; first and last, which loading looks at, are right.
    bad[12:16] = (int.from_bytes(good[12:16], "big") + 5).to_bytes(4, "big")
    path.write_bytes(bad)
    for offset in range(h.log.segments.base_offsets[1]):
        assert offsets(h.read(offset, 1)) == [offset // 3 * 3]
    assert path.read_bytes() == good


def test_end_of_a_read_is_bounded_by_the_index(filled: Harness) -> None:
    log = filled.log
    for offset in range(0, 150, 7):
        for max_bytes in (1, 400, 900, 1 << 20):
            result = filled.read(offset, max_bytes)
            last = [header for _, header in iterate_headers(result.records)][-1]
            end = end_offset_of(log, result)
            assert last.last_offset < end + 1
            assert end - last.last_offset < 40


def test_timestamp_finds_the_first_record_that_is_not_older(harness: MakeHarness) -> None:
    h = harness(SMALL)
    h.open()
    timestamps = [h.now + number * 10 - (15 if number % 7 == 0 else 0) for number in range(60)]
    for timestamp in timestamps:
        h.append(b"x" * 20, timestamp=timestamp, epoch=2)
    for target in range(h.now - 20, h.now + 610, 5):
        expected = next(
            (
                TimestampedOffset(timestamp, offset, 2)
                for offset, timestamp in enumerate(timestamps)
                if timestamp >= target
            ),
            None,
        )
        assert at_once(seek(h.log, target)) == expected
    h.reopen()
    assert at_once(seek(h.log, h.now + 305)) == TimestampedOffset(h.now + 310, 31, 2)


def test_timestamp_looks_into_compressed_batches_and_above_the_start(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    records = [(h.now + at, None, b"v" * 50, ()) for at in (0, 30, 10, 20)]
    data = bytearray(encode_batch(records, compression=Compression.GZIP))
    append_as_leader(h.log, data, [parse_header(data)], 0, now_ms=h.now)
    assert at_once(seek(h.log, h.now + 5)) == TimestampedOffset(h.now + 30, 1, 0)
    assert at_once(seek_max(h.log)) == TimestampedOffset(h.now + 30, 1, 0)
    h.log.update_high_watermark(4)
    h.log.advance_log_start(2)
    assert at_once(seek(h.log, h.now + 5)) == TimestampedOffset(h.now + 10, 2, 0)
    assert at_once(seek(h.log, h.now + 31)) is None


def test_append_time_is_that_of_the_batch(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"a", b"b", timestamp=h.now + 7, timestamp_type=LOG_APPEND_TIME)
    assert at_once(seek(h.log, h.now)) == TimestampedOffset(h.now + 7, 0, 0)


def test_largest_timestamp_is_found_in_any_segment(harness: MakeHarness) -> None:
    h = harness(SMALL)
    h.open()
    assert at_once(seek_max(h.log)) is None
    for number in range(60):
        h.append(b"x" * 20, timestamp=h.now + (1000 if number == 23 else number))
    assert at_once(seek_max(h.log)) == TimestampedOffset(h.now + 1000, 23, 0)
    h.reopen()
    assert at_once(seek_max(h.log)) == TimestampedOffset(h.now + 1000, 23, 0)
