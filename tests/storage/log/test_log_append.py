"""Appending: offsets, epochs, duplicates, refusals, index entries and rolls."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.default_settings import log_config
from support.log_harness import MakeHarness

from tidelog.model.errors import ErrorCode
from tidelog.partition.producers import AppendRefusal
from tidelog.records.batch import (
    LOG_APPEND_TIME,
    MAGIC_AT,
    CorruptBatch,
    iterate_headers,
    parse_header,
    restamp_crc,
)
from tidelog.storage.log.appending import append_as_follower, append_as_leader, roll
from tidelog.storage.log.results import AppendResult, UnexpectedOffset

# In the header of a batch.
LAST_OFFSET_DELTA_AT = 23


def test_leader_stamps_offsets_and_epoch_and_leaves_the_rest_untouched(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    first, second = h.batch(b"a", b"b"), h.batch(b"c")
    original = bytes(first + second)
    data = bytearray(original)
    result = append_as_leader(h.log, data, [parse_header(first), parse_header(second)], 5, now_ms=h.now)
    assert result == AppendResult(0, 2, -1, 0)
    assert h.append(b"d", epoch=6) == AppendResult(3, 3, -1, 0)
    stored = h.file(".log").read_bytes()
    headers = [header for _, header in iterate_headers(stored)]
    assert [(header.base_offset, header.partition_leader_epoch) for header in headers] == [(0, 5), (2, 5), (3, 6)]
    assert stored[16 : len(first)] == original[16 : len(first)]
    assert h.log.leader_epochs.entries == ((5, 0), (6, 3))
    assert h.values() == [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d")]


def test_memoryview_of_a_larger_buffer_is_appended(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    batch = h.batch(b"x")
    buffer = bytearray(b"junk" + batch + b"junk")
    view = memoryview(buffer)[4:-4]
    append_as_leader(h.log, view, [parse_header(view)], 0, now_ms=h.now)
    assert h.values() == [(0, b"x")]


def test_append_time_is_answered_only_where_the_topic_stamps_it(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    result = h.append(b"x", timestamp=h.now + 5, timestamp_type=LOG_APPEND_TIME)
    assert result == AppendResult(0, 0, h.now + 5, 0)


def test_duplicate_is_answered_with_its_first_offsets_and_not_stored(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"before")
    first = h.append(b"a", b"b", producer_id=9, producer_epoch=0, base_sequence=0)
    h.append(b"c", producer_id=9, producer_epoch=0, base_sequence=2)
    size = h.log.size
    again = h.append(b"a", b"b", producer_id=9, producer_epoch=0, base_sequence=0)
    assert isinstance(again, AppendResult)
    assert again.duplicate
    assert (again.base_offset, again.last_offset) == (first.base_offset, first.last_offset) == (1, 2)
    assert h.log.size == size
    assert h.log.log_end_offset == 4


def test_gap_in_the_sequence_is_refused_and_nothing_changes(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"a", producer_id=9, producer_epoch=0, base_sequence=0)
    refusal = h.offer(b"c", producer_id=9, producer_epoch=0, base_sequence=2)
    assert isinstance(refusal, AppendRefusal)
    assert refusal.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert h.log.log_end_offset == 1
    assert isinstance(h.append(b"b", producer_id=9, producer_epoch=0, base_sequence=1), AppendResult)


def test_more_than_a_segment_takes_is_refused(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=1000))
    h.open()
    refusal = h.offer(b"x" * 1000)
    assert isinstance(refusal, AppendRefusal)
    assert refusal.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert h.log.log_end_offset == 0


def test_index_entries_follow_kafkas_rhythm(harness: MakeHarness) -> None:
    """An entry for a batch once more than the interval has been written since the last entry, and none before."""
    h = harness(log_config(index_interval_bytes=200))
    h.open()
    size = len(h.batch(b"x" * 40))
    assert size == 108
    for number in range(7):
        h.append(b"x" * 40, timestamp=h.now + number)
    h.close()
    assert h.file(".index").read_bytes() == struct.pack(">iiii", 2, 2 * size, 4, 4 * size) + struct.pack(
        ">ii", 6, 6 * size
    )
    assert h.file(".timeindex").read_bytes() == b"".join(
        struct.pack(">qi", h.now + number, number) for number in (2, 4, 6)
    )


def test_batches_of_one_append_are_indexed_one_by_one(harness: MakeHarness) -> None:
    h = harness(log_config(index_interval_bytes=200))
    h.open()
    batches = [h.batch(b"x" * 40, timestamp=h.now + number) for number in range(7)]
    append_as_leader(h.log, bytearray(b"".join(batches)), [parse_header(batch) for batch in batches], 0, now_ms=h.now)
    h.close()
    assert h.file(".index").read_bytes() == struct.pack(">iiiiii", 2, 216, 4, 432, 6, 648)


def test_closing_adds_the_largest_timestamp_to_the_time_index(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    for timestamp in (5, 9, 7):
        h.append(b"x", timestamp=timestamp)
    h.close()
    assert h.file(".timeindex").read_bytes() == struct.pack(">qi", 9, 1)
    assert h.file(".index").read_bytes() == b""


def test_full_segment_is_rolled_with_a_snapshot(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=500))
    h.open()
    for number in range(10):
        h.append(b"x" * 40, producer_id=1, producer_epoch=0, base_sequence=number)
    assert h.log.segments.base_offsets == [0, 4, 8]
    assert h.file(".snapshot", 4).exists()
    assert h.file(".snapshot", 8).exists()
    assert [offset for offset, _ in h.values()] == list(range(10))


def test_segment_is_rolled_by_the_age_of_its_first_batch(harness: MakeHarness) -> None:
    h = harness(log_config(segment_ms=1000))
    h.open()
    h.append(b"a", timestamp=h.now)
    h.append(b"b", timestamp=h.now + 1000)
    assert len(h.log.segments) == 1
    h.append(b"c", timestamp=h.now + 1001)
    assert h.log.segments.base_offsets == [0, 2]


def test_age_of_the_first_batch_is_known_after_a_restart(harness: MakeHarness) -> None:
    h = harness(log_config(segment_ms=1000))
    h.open()
    h.append(b"a", timestamp=h.now)
    h.reopen()
    h.append(b"c", timestamp=h.now + 1001)
    assert h.log.segments.base_offsets == [0, 1]


def test_jitter_rolls_earlier(harness: MakeHarness) -> None:
    h = harness(log_config(segment_ms=1000, segment_jitter_ms=1000))
    h.open()
    jitter = h.log.segments.active.jitter_ms
    assert 0 < jitter < 1000
    h.append(b"a", timestamp=h.now)
    h.append(b"b", timestamp=h.now + 1000 - jitter)
    assert len(h.log.segments) == 1
    h.append(b"c", timestamp=h.now + 1001 - jitter)
    assert len(h.log.segments) == 2


def test_segment_is_rolled_when_an_index_is_full(harness: MakeHarness) -> None:
    h = harness(log_config(index_interval_bytes=0, segment_index_bytes=48))
    h.open()
    for number in range(8):
        h.append(b"x", timestamp=h.now + number)
    # 48 bytes are 4 entries of the time index, the last of which is kept for the roll.
    assert h.log.segments.base_offsets == [0, 4]
    for segment in h.log.segments:
        assert len(segment.time_index) <= 4


def test_segment_is_rolled_when_offsets_do_not_fit_the_index(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    far = (1 << 31) + 10
    append_as_follower(h.log, h.batch(b"a", leader_epoch=0), h.now)
    append_as_follower(h.log, h.batch(b"b", base_offset=far, leader_epoch=0), h.now)
    assert h.log.segments.base_offsets == [0, far]
    assert h.values() == [(0, b"a"), (far, b"b")]


def test_rolling_an_empty_segment_does_nothing(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    roll(h.log, h.now)
    assert h.log.segments.base_offsets == [0]
    h.append(b"x")
    roll(h.log, h.now)
    roll(h.log, h.now)
    assert h.log.segments.base_offsets == [0, 1]


def test_follower_stores_what_the_leader_sent(harness: MakeHarness, tmp_path: Path) -> None:
    leader, follower = harness(), harness(path=str(tmp_path / "follower"))
    leader.open()
    follower.open()
    for number in range(5):
        leader.append(b"%d" % number, epoch=number // 2, producer_id=3, producer_epoch=0, base_sequence=number)
    sent = leader.read(0, 1 << 20).records
    result = append_as_follower(follower.log, sent + sent[:30], follower.now)
    assert result == AppendResult(0, 4, -1, 0)
    assert follower.values() == leader.values()
    assert follower.log.leader_epochs.entries == leader.log.leader_epochs.entries == ((0, 0), (1, 2), (2, 4))
    assert follower.log.producer_states.get(3) == leader.log.producer_states.get(3)
    assert follower.file(".log").read_bytes() == leader.file(".log").read_bytes()


def test_follower_takes_nothing_from_a_part_of_a_batch(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    assert append_as_follower(h.log, bytes(h.batch(b"x"))[:-1], h.now) is None
    assert h.log.log_end_offset == 0


def test_follower_refuses_offsets_it_has(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"a", b"b")
    with pytest.raises(UnexpectedOffset, match="ends at 2") as refused:
        append_as_follower(h.log, h.batch(b"c", base_offset=1, leader_epoch=0), h.now)
    assert (refused.value.first_offset, refused.value.log_end_offset) == (1, 2)


def test_follower_refuses_damaged_batches_and_stores_none_of_the_fetch(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    bad = h.batch(b"b", base_offset=1, leader_epoch=0)
    bad[-1] ^= 1
    with pytest.raises(CorruptBatch, match="checksum"):
        append_as_follower(h.log, h.batch(b"a", leader_epoch=0) + bad, h.now)
    assert h.log.log_end_offset == 0
    assert h.file(".log").read_bytes() == b""


def test_follower_refuses_what_its_checksum_does_not_cover(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    unknown = h.batch(b"a", leader_epoch=0)
    unknown[MAGIC_AT] = 3
    with pytest.raises(CorruptBatch, match="unknown format 3"):
        append_as_follower(h.log, unknown, h.now)
    backwards = h.batch(b"a", leader_epoch=0)
    backwards[LAST_OFFSET_DELTA_AT : LAST_OFFSET_DELTA_AT + 4] = (-1).to_bytes(4, "big", signed=True)
    restamp_crc(backwards, 0, len(backwards))
    with pytest.raises(CorruptBatch, match="ends before it begins"):
        append_as_follower(h.log, backwards, h.now)
    assert h.log.log_end_offset == 0
    assert h.file(".log").read_bytes() == b""


def test_follower_leaves_out_what_is_of_a_later_epoch_than_its_leader(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    epochs = [3, 4, 5, 4]
    sent = b"".join(h.batch(b"x", base_offset=at, leader_epoch=epoch) for at, epoch in enumerate(epochs))
    append_as_follower(h.log, sent, h.now, leader_epoch=4)
    assert h.log.log_end_offset == 2
    assert h.log.leader_epochs.entries == ((3, 0), (4, 1))
    assert append_as_follower(h.log, h.batch(b"x", base_offset=2, leader_epoch=5), h.now, leader_epoch=4) is None
    assert h.log.log_end_offset == 2


def test_follower_spreads_a_large_fetch_over_segments(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=500))
    h.open()
    data = b"".join(h.batch(b"x" * 40, base_offset=number, leader_epoch=0) for number in range(10))
    append_as_follower(h.log, data, h.now)
    assert h.log.segments.base_offsets == [0, 4, 8]
    assert [offset for offset, _ in h.values()] == list(range(10))


def test_leader_epoch_can_be_assigned_before_anything_is_written(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"a", epoch=1)
    h.log.assign_leader_epoch(4)
    assert h.log.leader_epochs.entries == ((1, 0), (4, 1))
    assert h.log.latest_epoch == 4


def test_closed_log_takes_nothing(harness: MakeHarness) -> None:
    h = harness()
    log = h.open()
    h.close()
    with pytest.raises(RuntimeError, match="closed"):
        append_as_leader(log, h.batch(b"x"), [parse_header(h.batch(b"x"))], 0, now_ms=h.now)
