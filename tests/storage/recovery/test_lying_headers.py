"""Offsets of batches lie outside of their checksums: a flipped bit there must not leave a hole in a log.

Whatever a restart and a truncation make of such a log, what can be read of it afterwards is what was written, or an
error in its place.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.default_settings import log_config
from support.log_harness import Harness, MakeHarness

from tidelog.records.batch import CorruptBatch
from tidelog.storage.log.appending import append_as_follower
from tidelog.storage.log.config import LogConfig
from tidelog.storage.recovery.damage import DamagedLog

BATCHES = 9
# Each batch has two records.
END = 2 * BATCHES
VALUES = [(offset, b"value-%d" % offset) for offset in range(END)]

ONE_SEGMENT = log_config(segment_bytes=100_000)
INDEXED = log_config(segment_bytes=100_000, index_interval_bytes=100)
SEVERAL_SEGMENTS = log_config(segment_bytes=300)


def fill(h: Harness) -> list[bytes]:
    """Returns the batches as the leader has them."""
    h.open()
    for number in range(BATCHES):
        h.append(b"value-%d" % (2 * number), b"value-%d" % (2 * number + 1))
    h.log.update_high_watermark(END)
    return [h.read(2 * number, 1).records for number in range(BATCHES)]


def places(h: Harness) -> list[tuple[Path, int]]:
    """The file of each batch, and where it begins there."""
    return [(Path(segment.log_path), position) for segment in h.log.segments for position, _ in segment.headers()]


def flip(place: tuple[Path, int], bit: int) -> None:
    """A bit of the first offset, the least significant one first."""
    path, position = place
    content = bytearray(path.read_bytes())
    content[position + 7 - bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def assert_true_or_refused(h: Harness) -> None:
    """Everything can be read as it was written, up to a place that is an error."""
    try:
        values = h.values()
    except CorruptBatch:
        return
    assert values == VALUES[: h.log.log_end_offset]
    assert h.log.log_end_offset <= END


@pytest.mark.parametrize("config", [ONE_SEGMENT, INDEXED, SEVERAL_SEGMENTS], ids=["one", "indexed", "several"])
@pytest.mark.parametrize("bit", [0, 1, 4, 9, 30, 39, 63])
@pytest.mark.parametrize("number", range(BATCHES))
def test_truncated_log_whose_offsets_were_changed_has_no_hole(
    harness: MakeHarness, config: LogConfig, number: int, bit: int
) -> None:
    h = harness(config)
    leader = fill(h)
    place = places(h)[number]
    h.close()
    flip(place, bit)
    h.open_if_whole()
    if h.partition in h.report.failures:
        assert isinstance(h.report.failures[h.partition], DamagedLog)
        return
    for offset in range(END - 2, 0, -2):
        if offset >= h.log.log_end_offset:
            continue
        try:
            h.directory.truncate(h.partition, offset, now_ms=h.now)
        except CorruptBatch:
            assert_true_or_refused(h)
            continue
        assert_true_or_refused(h)
        for records in leader[offset // 2 :]:
            append_as_follower(h.log, records, h.now)
        assert h.log.log_end_offset == END
        assert_true_or_refused(h)
        h.crash()
        h.open_if_whole()
        if offset <= 2 * number:
            # The changed batch was cut off.
            assert not h.report.failures
            assert h.values() == VALUES
        if h.partition in h.report.failures:
            return


def test_end_of_a_log_that_was_closed_is_not_believed_to_have_moved(harness: MakeHarness) -> None:
    """Where the cleaner has been, offsets may be missing: only the record of the end shows that it is wrong."""
    h = harness(log_config(compact=True, segment_bytes=100_000))
    fill(h)
    place = places(h)[-1]
    h.close()
    flip(place, 9)
    h.open_if_whole()
    problem = str(h.report.failures[h.partition])
    assert f"the log ends at offset {END + 512}, but ended at {END} when it was closed" in problem


def test_replica_that_was_loaded_up_to_its_damage_is_whole_after_a_crash(harness: MakeHarness) -> None:
    """What was known of the log before is no longer asked for."""
    h = harness(ONE_SEGMENT)
    leader = fill(h)
    path, position = places(h)[4]
    h.close()
    content = bytearray(path.read_bytes())
    content[position + 70] ^= 1
    path.write_bytes(content[:-1])
    h.open_if_whole()
    assert h.partition in h.report.failures
    log = h.directory.load_again(h.partition, h.config, h.now)
    assert log.log_end_offset == 8
    h.crash()
    h.open_if_whole()
    assert not h.report.failures
    assert h.log.log_end_offset == 8
    for records in leader[4:]:
        append_as_follower(h.log, records, h.now)
    more = h.batch(b"more", b"and more")
    more[:8] = END.to_bytes(8, "big")
    append_as_follower(h.log, bytes(more), h.now)
    h.crash()
    h.open_if_whole()
    assert not h.report.failures
    assert [value for _, value in h.values()] == [value for _, value in VALUES] + [b"more", b"and more"]
