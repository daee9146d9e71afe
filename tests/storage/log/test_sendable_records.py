"""Records that are sent from their file: the same that are read otherwise, and only those that have been checked."""

from __future__ import annotations

from random import Random

import pytest
from support.default_settings import log_config
from support.log_harness import Harness, MakeHarness, UnsyncedFileSystem

from tidelog.model.unread import BytesChanged, UnreadBytes
from tidelog.protocol.frames import COALESCE_BELOW
from tidelog.records.batch import CorruptBatch
from tidelog.storage.log.reader import UNREAD_FROM, end_offset_of, sendable_records
from tidelog.storage.log.results import OffsetOutOfRange, SendableResult
from tidelog.storage.log.truncation import truncate_to

BATCHES = 60
BATCH_BYTES = 40_000


@pytest.fixture
def filled(harness: MakeHarness) -> Harness:
    """Batches of one record in three segments."""
    h = harness(log_config(segment_bytes=25 * BATCH_BYTES, index_interval_bytes=BATCH_BYTES))
    h.open()
    random = Random(1)
    for _ in range(BATCHES):
        h.append(random.randbytes(BATCH_BYTES - 100))
    assert len(h.log.segments) == 3
    return h


def sendable(h: Harness, offset: int, max_bytes: int = 1 << 20, *, upper_bound: int = BATCHES) -> SendableResult:
    result = sendable_records(
        h.log, offset, max_bytes=max_bytes, upper_bound=upper_bound, min_one_batch=True, unread=True
    )
    assert isinstance(result, SendableResult)
    return result


def read_whole(h: Harness) -> None:
    """As a reader does after a start: everything is checked."""
    for base_offset in h.log.segments.base_offsets:
        sendable(h, base_offset)


@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
def test_the_same_is_found_read_or_unread(filled: Harness, restart: bool) -> None:
    h = filled
    if restart:
        h.reopen()
        read_whole(h)
    random = Random(2)
    unread = 0
    for _ in range(300):
        offset = random.randrange(BATCHES)
        bound = random.randint(offset, BATCHES)
        max_bytes = random.choice((1, UNREAD_FROM - 1, UNREAD_FROM, 300_000, 1 << 20))
        expected = h.read(offset, max_bytes, upper_bound=bound)
        found = sendable(h, offset, max_bytes, upper_bound=bound)
        assert found[1:] == expected[1:]
        assert end_offset_of(h.log, found) == end_offset_of(h.log, expected)
        assert isinstance(found.records, UnreadBytes) == (len(expected.records) >= UNREAD_FROM)
        if isinstance(found.records, UnreadBytes):
            unread += 1
            assert len(found.records) == len(expected.records)
            assert found.records.read() == expected.records
        else:
            assert found.records == expected.records
    assert unread > 50


def test_small_pieces_of_a_reply_are_never_unread() -> None:
    assert UNREAD_FROM >= COALESCE_BELOW


def test_readers_that_need_bytes_get_them(filled: Harness) -> None:
    found = sendable_records(filled.log, 0, max_bytes=1 << 20, upper_bound=BATCHES, min_one_batch=True, unread=False)
    assert isinstance(found, SendableResult)
    assert found.records == filled.read(0, 1 << 20).records


def test_offsets_outside_of_the_log_are_refused(filled: Harness) -> None:
    for offset in (-1, BATCHES + 1):
        found = sendable_records(filled.log, offset, max_bytes=1, upper_bound=BATCHES, min_one_batch=True, unread=True)
        assert isinstance(found, OffsetOutOfRange)
    assert sendable(filled, BATCHES).records == b""


@pytest.mark.parametrize("segment", [0, -1], ids=["sealed", "active"])
def test_what_was_there_before_the_start_is_checked_first(filled: Harness, segment: int) -> None:
    h = filled
    h.close()
    path = sorted(h.partition_path.glob("*.log"))[segment]
    content = bytearray(path.read_bytes())
    # In the fifth batch.
    content[int(4.5 * BATCH_BYTES)] ^= 1
    path.write_bytes(content)
    h.open()
    base_offset = h.log.segments.base_offsets[segment]
    for _ in range(2):
        found = sendable(h, base_offset)
        assert not isinstance(found.records, UnreadBytes)
        assert len(found.records) == len(h.read(base_offset, 1 << 20).records)
        assert 3 * BATCH_BYTES < len(found.records) < 4.5 * BATCH_BYTES
        with pytest.raises(CorruptBatch, match="checksum"):
            sendable(h, base_offset + 4)
    # What was found to be good is known to be good.
    assert isinstance(sendable(h, base_offset, 140_000).records, UnreadBytes)


def test_a_file_that_has_become_too_short_is_noticed_when_it_is_to_be_sent(filled: Harness) -> None:
    h = filled
    assert isinstance(sendable(h, 0).records, UnreadBytes)
    path = h.file(".log")
    path.write_bytes(path.read_bytes()[: int(8.5 * BATCH_BYTES)])
    found = sendable(h, 0)
    assert not isinstance(found.records, UnreadBytes)
    assert 7 * BATCH_BYTES < len(found.records) < 8.5 * BATCH_BYTES
    with pytest.raises(CorruptBatch, match="ends within a batch"):
        sendable(h, 8)


def test_a_log_that_is_cut_takes_back_what_it_has_promised(filled: Harness) -> None:
    """A follower whose log has diverged: other records come to where the old ones were."""
    h = filled
    base_offset = h.log.segments.base_offsets[-1]
    kept = sendable(h, base_offset, 140_000).records
    lost = sendable(h, base_offset).records
    assert isinstance(kept, UnreadBytes)
    assert isinstance(lost, UnreadBytes)
    expected = kept.read()
    truncate_to(h.log, base_offset + 5, now_ms=h.now)
    for _ in range(BATCHES):
        h.append(bytes(BATCH_BYTES - 100))
    with pytest.raises(BytesChanged, match="has been cut to"):
        lost.read()
    assert kept.read() == expected
    again = sendable(h, base_offset, upper_bound=h.log.log_end_offset).records
    assert isinstance(again, UnreadBytes)
    assert again.read() == h.read(base_offset, 1 << 20).records


def test_unread_records_outlive_their_log_and_leave_nothing_open(harness: MakeHarness) -> None:
    filesystem = UnsyncedFileSystem()
    h = harness(filesystem=filesystem)
    h.open()
    h.append(bytes(UNREAD_FROM))
    records = sendable(h, 0, upper_bound=1).records
    assert isinstance(records, UnreadBytes)
    expected = h.read(0, 1 << 20).records
    h.directory.abandon()
    assert filesystem.descriptor_count == 1
    assert records.read() == expected
    del records
    assert filesystem.descriptor_count == 0
