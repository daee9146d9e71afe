"""What is on the device, and when it is brought there."""

from __future__ import annotations

import errno

import pytest
from support.default_settings import log_config
from support.log_harness import FaultyFileSystem, MakeHarness
from support.present import present

from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.retention import delete_old_segments
from tidelog.storage.log.truncation import truncate_to


def test_sealed_segments_are_due_at_once_and_the_active_one_is_not(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=500))
    h.open()
    h.log.flush(h.now)
    h.append(b"x" * 200)
    h.log.flush(h.now)
    assert h.log.recovery_point == 1
    h.append(b"x" * 200)
    h.append(b"x" * 200)
    assert h.log.segments.base_offsets == [0, 1, 2]
    assert h.log.flush_due(h.now)
    flush = h.start_flush()
    flush.run()
    h.log.finish_flush(flush)
    assert h.log.recovery_point == 2
    assert not h.log.flush_due(h.now)


def test_flush_messages_and_flush_ms_are_obeyed(harness: MakeHarness) -> None:
    h = harness(log_config(flush_messages=3, flush_ms=1000))
    h.open()
    h.log.flush(h.now)
    h.append(b"a", b"b")
    h.log.start_flush(h.now)  # the new epoch
    h.log.finish_flush(present(h.log.flusher.running))
    assert not h.log.flush_due(h.now + 999)
    assert h.log.flush_due(h.now + 1000)
    h.append(b"c")
    assert h.log.flush_due(h.now + 1)
    h.log.flush(h.now + 1)
    assert h.log.recovery_point == 3


def test_records_that_come_during_a_flush_are_not_part_of_it(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"a")
    flush = h.start_flush(everything=True)
    assert h.log.start_flush(h.now, everything=True) is None
    h.append(b"b")
    flush.run()
    h.log.finish_flush(flush)
    assert h.log.recovery_point == 1


def test_truncation_during_a_flush_takes_back_what_it_promised(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    for value in (b"a", b"b", b"c"):
        h.append(value)
    flush = h.start_flush(everything=True)
    truncate_to(h.log, 1, now_ms=h.now)
    h.append(b"other")
    flush.run()
    h.log.finish_flush(flush)
    assert h.log.recovery_point == 1


def test_segments_that_retention_takes_during_a_flush_do_not_fail_it(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=500, retention_ms=0))
    h.open()
    for _ in range(5):
        h.append(b"x" * 200)
    h.log.update_high_watermark(5)
    flush = h.start_flush(everything=True)
    for removal in delete_old_segments(h.log, h.now + 10**6):
        removal.run(h.filesystem)
    flush.run()
    h.log.finish_flush(flush)
    assert h.log.recovery_point == 5
    assert h.directory.failure is None


def test_changed_epochs_are_written_without_waiting_for_data(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"x", epoch=3)
    assert h.log.flush_due(h.now)
    flush = h.start_flush()
    flush.run()
    h.log.finish_flush(flush)
    assert (h.partition_path / "leader-epoch-checkpoint").read_bytes() == b"0\n1\n3 0\n"
    assert h.log.recovery_point == 0


def test_epochs_of_a_log_without_records_are_not_written_for_their_own_sake(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.log.assign_leader_epoch(3)
    assert not h.log.flush_due(h.now)
    h.append(b"x", epoch=3)
    assert h.log.flush_due(h.now)


def test_a_leader_of_an_empty_log_begins_again_after_a_crash(harness: MakeHarness) -> None:
    """The first of its epochs was never written, and nothing is missing."""
    h = harness()
    h.open()
    h.log.assign_leader_epoch(3)
    assert not h.log.flush_due(h.now)
    h.crash()
    h.open()
    assert not h.log.leader_epochs.entries
    h.log.assign_leader_epoch(4)
    h.append(b"x", epoch=4)
    assert h.log.leader_epochs.entries == ((4, 0),)


def test_epochs_are_safe_before_the_recovery_point_passes_them(harness: MakeHarness) -> None:
    """Recovery reads epochs from the batches above the recovery point only."""
    order: list[str] = []

    class Recording(FaultyFileSystem):
        def count(self, kind: str) -> None:
            order.append(kind)

    h = harness(filesystem=Recording(0))
    h.open()
    h.append(b"x", epoch=3)
    order.clear()
    h.log.flush(h.now)
    assert order.index("rename") < order.index("open")


@pytest.mark.parametrize("everything", [True, False])
def test_failed_sync_takes_the_directory_offline_and_is_never_retried(harness: MakeHarness, everything: bool) -> None:
    filesystem = FaultyFileSystem(10**9, errno.EIO, frozenset({"sync"}))
    h = harness(log_config(segment_bytes=500), filesystem=filesystem)
    h.open()
    for _ in range(4):
        h.append(b"x" * 200)
    recovery_point = h.log.recovery_point
    flush = h.start_flush(everything=everything)
    filesystem.fail_at = filesystem.calls
    with pytest.raises(StorageFailure, match="topic-0"):
        flush.run()
    failed_at = filesystem.calls
    assert h.directory.failure is not None
    assert h.log.recovery_point == recovery_point
    for operation in (
        lambda: h.append(b"y"),
        lambda: read_records(h.log, 0, max_bytes=100),
        h.directory.checkpoints.write_recovery_points,
    ):
        with pytest.raises(StorageFailure, match="offline"):
            operation()
    h.close()
    assert filesystem.calls == failed_at
    assert not (h.partition_path.parent / ".kafka_cleanshutdown").exists()


def test_closing_during_a_flush_brings_everything_to_the_device(harness: MakeHarness) -> None:
    h = harness()
    log = h.open()
    h.append(b"a", epoch=4)
    flush = h.start_flush(everything=True)
    h.append(b"b", epoch=5)
    h.close()
    assert log.recovery_point == 2
    assert (h.partition_path / "leader-epoch-checkpoint").read_bytes() == b"0\n2\n4 0\n5 1\n"
    # The thread comes to its end later.
    log.finish_flush(flush)
    assert log.recovery_point == 2


def test_a_log_that_is_deleted_during_a_flush_takes_nothing_offline(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"a")
    flush = h.start_flush(everything=True)
    h.directory.delete_logs([h.log.topic_partition], h.now)
    flush.run()
    assert h.directory.failure is None
