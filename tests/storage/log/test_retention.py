"""Old segments go: by age, by size, and below the start of the log; their files a while later."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from support.default_settings import log_config
from support.log_harness import Harness, MakeHarness

from tidelog.storage.log.appending import roll
from tidelog.storage.log.retention import delete_old_segments

BATCH = b"x" * 100


@pytest.fixture
def filled(harness: MakeHarness) -> Callable[..., Harness]:
    """Five segments of four batches; batch n is n seconds old."""

    def make(**config: Any) -> Harness:
        h = harness(log_config(**{"segment_bytes": 700, "retention_ms": -1, **config}))
        h.open()
        for number in range(20):
            h.append(BATCH, timestamp=h.now + number * 1000)
        assert h.log.segments.base_offsets == [0, 4, 8, 12, 16]
        h.log.update_high_watermark(20)
        return h

    return make


def test_nothing_goes_without_limits(filled: Callable[..., Harness]) -> None:
    h = filled()
    assert delete_old_segments(h.log, h.now + 10**12) == []


def test_segments_go_when_their_newest_record_is_too_old(filled: Callable[..., Harness]) -> None:
    h = filled(retention_ms=5000)
    # The newest record of the second segment was written at 7 s, that of the third at 11 s.
    removals = delete_old_segments(h.log, h.now + 12_001)
    assert h.log.segments.base_offsets == [8, 12, 16]
    assert h.log.log_start_offset == 8
    assert [offset for offset, _ in h.values()] == list(range(8, 20))
    assert len(removals) == 1
    assert removals[0].due_ms == h.now + 12_001 + 60_000


def test_files_are_renamed_first_and_removed_later(filled: Callable[..., Harness]) -> None:
    h = filled(retention_ms=5000)
    removals = delete_old_segments(h.log, h.now + 12_001)
    assert not h.file(".log").exists()
    assert h.file(".log.deleted").exists()
    assert h.file(".index.deleted").exists()
    assert not h.file(".snapshot", 4).exists()
    for removal in removals:
        removal.run(h.filesystem)
    assert not [name for name in os.listdir(h.partition_path) if name.endswith(".deleted")]


def test_all_segments_may_go_and_the_log_stays_usable(filled: Callable[..., Harness]) -> None:
    h = filled(retention_ms=5000)
    delete_old_segments(h.log, h.now + 10**9)
    assert h.log.segments.base_offsets == [20]
    assert (h.log.log_start_offset, h.log.log_end_offset) == (20, 20)
    assert delete_old_segments(h.log, h.now + 10**9) == []
    h.append(b"next")
    assert h.values() == [(20, b"next")]
    h.crash_and_reopen()
    assert h.values() == [(20, b"next")]


def test_segments_go_until_the_log_is_no_larger_than_allowed(filled: Callable[..., Harness]) -> None:
    h = filled()
    size = h.log.segments.first.size
    h.log.config = log_config(retention_ms=-1, retention_bytes=size * 3 + 1)
    delete_old_segments(h.log, h.now)
    # Without the second segment the log would be smaller than asked for.
    assert h.log.segments.base_offsets == [4, 8, 12, 16]
    h.log.config = log_config(retention_ms=-1, retention_bytes=size * 3)
    delete_old_segments(h.log, h.now)
    assert h.log.segments.base_offsets == [8, 12, 16]


def test_nothing_at_or_above_the_high_watermark_goes(filled: Callable[..., Harness]) -> None:
    h = filled(retention_ms=0)
    h.log.update_high_watermark(11)
    delete_old_segments(h.log, h.now + 10**9)
    assert h.log.log_start_offset == 8
    assert h.log.segments.base_offsets == [8, 12, 16]


def test_deleted_records_take_their_segments_with_them(filled: Callable[..., Harness]) -> None:
    h = filled()
    assert h.log.advance_log_start(9)
    assert not h.log.advance_log_start(5)
    assert h.log.log_start_offset == 9
    delete_old_segments(h.log, h.now)
    assert h.log.segments.base_offsets == [8, 12, 16]
    with pytest.raises(ValueError, match="above the high watermark"):
        h.log.advance_log_start(21)


def test_compacted_topic_loses_only_what_was_deleted_on_purpose(filled: Callable[..., Harness]) -> None:
    h = filled(retention_ms=0, retention_bytes=0, delete=False, compact=True)
    assert delete_old_segments(h.log, h.now + 10**9) == []
    h.log.advance_log_start(4)
    delete_old_segments(h.log, h.now + 10**9)
    assert h.log.segments.base_offsets == [4, 8, 12, 16]


def test_records_without_timestamps_are_as_old_as_their_file(harness: MakeHarness) -> None:
    h = harness(log_config(retention_ms=5000))
    h.open()
    h.append(b"x", timestamp=-1)
    roll(h.log, h.now)
    h.log.update_high_watermark(1)
    os.utime(h.file(".log"), (h.now / 1000, h.now / 1000))
    assert delete_old_segments(h.log, h.now + 4000) == []
    assert delete_old_segments(h.log, h.now + 6000)


def test_start_of_the_log_survives_a_restart(filled: Callable[..., Harness]) -> None:
    h = filled()
    h.log.advance_log_start(9)
    h.reopen()
    assert h.log.log_start_offset == 9
    h.directory.checkpoints.write_log_starts()
    h.crash_and_reopen()
    assert h.log.log_start_offset == 9
    assert h.values()[0][0] == 9


def test_epochs_below_the_start_are_forgotten(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    for number in range(6):
        h.append(b"x", epoch=number // 2)
    h.log.update_high_watermark(6)
    h.log.advance_log_start(3)
    assert h.log.leader_epochs.entries == ((1, 3), (2, 4))
    h.reopen()
    assert h.log.leader_epochs.entries == ((1, 3), (2, 4))
