"""A log directory: its lock, its checkpoints, its logs, and what an unclean end means."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from support.default_settings import log_config
from support.log_harness import FaultyFileSystem, Harness, MakeHarness, SeededRandomness

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.directories.log_directory import DirectoryInUse, LogDirectory
from tidelog.storage.directories.meta_properties import MetaProperties
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.log.appending import append_as_follower

OTHER = TopicPartition("other-topic", 3)


def test_second_broker_is_kept_out(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    with pytest.raises(DirectoryInUse, match="in use by another broker"):
        LogDirectory.open(h.path, LocalFileSystem(), SeededRandomness())
    h.close()
    h.open()


def test_format_is_remembered(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    assert h.directory.meta is None
    meta = MetaProperties(cluster_id="c", node_id=1, directory_id=Uuid(b"d" * 16))
    h.directory.format(meta)
    h.reopen()
    assert h.directory.meta == meta


def test_clean_end_is_marked_and_the_mark_is_used_up_by_the_start(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    assert h.directory.clean_broker_epoch is None
    marker = Path(h.path) / ".kafka_cleanshutdown"
    h.close()
    assert marker.exists()
    h.open()
    assert not marker.exists()
    assert h.directory.clean_broker_epoch == 7
    h.crash_and_reopen()
    assert h.directory.clean_broker_epoch is None


def test_checkpoints_hold_all_logs(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    for value in (b"a", b"b", b"c"):
        h.append(value)
    h.log.update_high_watermark(2)
    h.directory.open_log(OTHER, Uuid(b"o" * 16), h.config, h.now)
    h.directory.checkpoints.write_high_watermarks()
    h.log.flush(h.now)
    h.directory.checkpoints.write_recovery_points()
    root = Path(h.path)
    assert (root / "replication-offset-checkpoint").read_text() == "0\n2\ntopic 0 2\nother-topic 3 0\n"
    assert (root / "recovery-point-offset-checkpoint").read_text() == "0\n2\ntopic 0 3\nother-topic 3 0\n"
    h.crash_and_reopen()
    assert h.log.high_watermark == 2
    assert h.log.recovery_point == 3
    assert set(h.directory.logs) == {h.partition, OTHER}


def test_log_start_is_written_only_where_it_is_not_the_first_segment(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"a", b"b")
    path = Path(h.path) / "log-start-offset-checkpoint"
    h.directory.checkpoints.write_log_starts()
    assert path.read_text() == "0\n0\n"
    h.log.update_high_watermark(2)
    h.log.advance_log_start(1)
    h.directory.checkpoints.write_log_starts()
    assert path.read_text() == "0\n1\ntopic 0 1\n"


def test_unchanged_checkpoint_is_not_written_again(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.directory.checkpoints.write_recovery_points()
    path = Path(h.path) / "recovery-point-offset-checkpoint"
    path.unlink()
    h.directory.checkpoints.write_recovery_points()
    assert not path.exists()
    h.append(b"x")
    h.log.flush(h.now)
    h.directory.checkpoints.write_recovery_points()
    assert path.exists()


@pytest.mark.parametrize(
    "name", ["replication-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"]
)
def test_damaged_checkpoint_does_not_stop_the_start(harness: MakeHarness, name: str) -> None:
    h = harness()
    h.open()
    h.append(b"x")
    h.crash()
    (Path(h.path) / name).write_text("garbage\n1\n")
    h.open()
    assert h.values() == [(0, b"x")]


def test_topic_id_is_kept_and_checked(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.reopen()
    assert h.log.topic_id == h.topic_id
    with pytest.raises(CorruptCheckpoint, match="topic id"):
        h.directory.open_log(h.partition, Uuid(b"z" * 16), h.config, h.now)


def test_deleted_log_gives_its_name_free_at_once(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"old")
    h.log.update_high_watermark(1)
    (removal,) = h.directory.delete_logs([h.partition], h.now)
    assert removal.due_ms == h.now + h.config.file_delete_delay_ms
    assert Path(removal.path).name.startswith("topic-0.")
    assert Path(removal.path).name.endswith("-delete")
    log = h.directory.open_log(h.partition, Uuid(b"n" * 16), h.config, h.now)
    assert (log.log_start_offset, log.log_end_offset) == (0, 0)
    removal.run(h.filesystem)
    assert not Path(removal.path).exists()
    removal.run(h.filesystem)


def test_interrupted_deletion_is_finished_after_a_restart(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"old")
    (removal,) = h.directory.delete_logs([h.partition], h.now)
    h.crash()
    h.open()
    assert [found.path for found in h.report.removals] == [removal.path]


def test_offsets_of_a_deleted_topic_do_not_reach_the_next_one_of_its_name(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"a", b"b", b"c")
    h.log.update_high_watermark(3)
    h.log.advance_log_start(2)
    h.close()
    # The machine stopped between the deletion and the next checkpoint.
    for path in h.partition_path.iterdir():
        path.unlink()
    h.partition_path.rmdir()
    h.open()
    assert (h.log.log_start_offset, h.log.log_end_offset, h.log.high_watermark) == (0, 0, 0)


def test_stray_log_is_set_aside_and_not_loaded_again(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"precious")
    path = Path(h.directory.mark_stray(h.partition))
    assert path.name.endswith("-stray")
    h.crash()
    h.open()
    assert h.report.removals == []
    assert h.log.log_end_offset == 0
    assert (path / "00000000000000000000.log").stat().st_size > 0


def test_other_things_in_the_directory_are_left_alone(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.close()
    root = Path(h.path)
    (root / "notes-1").write_text("a file, not a partition")
    (root / "lost+found").mkdir()
    (root / "__cluster_metadata-0").mkdir()
    h.open()
    assert set(h.directory.logs) == {h.partition}
    assert (root / "notes-1").exists()


def test_metadata_log_is_opened_by_name(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    metadata = TopicPartition("__cluster_metadata", 0)
    log = h.directory.open_log(metadata, None, h.config, h.now)
    data = h.batch(b"record", leader_epoch=1)
    append_as_follower(log, data, h.now)
    h.close()
    h.open()
    assert metadata not in h.directory.logs
    assert h.directory.open_log(metadata, None, h.config, h.now).log_end_offset == 1


def open_metadata_only(h: Harness) -> None:
    """What a start does that is asked to stop before it has come to the logs."""
    h.directory = LogDirectory.open(h.path, h.filesystem, SeededRandomness())
    log = h.directory.open_log(TopicPartition("__cluster_metadata", 0), None, h.config, h.now)
    append_as_follower(log, h.batch(b"record", leader_epoch=1), h.now)


@pytest.mark.parametrize(("broker_epoch", "expected"), [(-1, 7), (9, 9)])
def test_a_start_that_did_not_come_to_the_logs_leaves_them_as_clean_as_they_were(
    harness: MakeHarness, broker_epoch: int, expected: int
) -> None:
    h = harness()
    h.open()
    h.append(b"a", b"b", b"c")
    h.log.update_high_watermark(2)
    h.log.advance_log_start(1)
    h.close()
    open_metadata_only(h)
    h.directory.close(h.now, broker_epoch=broker_epoch)
    h.open()
    assert h.directory.clean_broker_epoch == expected
    # None of the offsets that are kept beside the logs is lost.
    assert (h.log.log_start_offset, h.log.high_watermark, h.log.recovery_point) == (1, 2, 3)


def test_a_start_after_a_crash_that_did_not_come_to_the_logs_calls_nothing_clean(harness: MakeHarness) -> None:
    h = harness()
    h.open()
    h.append(b"a", b"b", b"c")
    h.log.update_high_watermark(2)
    h.log.advance_log_start(1)
    h.directory.checkpoints.write_log_starts()
    h.crash()
    open_metadata_only(h)
    h.directory.close(h.now, broker_epoch=9)
    h.open()
    assert h.directory.clean_broker_epoch is None
    assert h.log.log_start_offset == 1


def test_many_logs_open_quickly_and_hold_few_files(harness: MakeHarness) -> None:
    h = harness(log_config(segment_bytes=300))
    h.open()
    h.append(b"x" * 100)
    for number in range(200):
        h.directory.open_log(TopicPartition("many", number), Uuid(b"m" * 16), h.config, h.now)
    h.close()
    before = len(list(Path("/proc/self/fd").iterdir()))
    h.open()
    assert len(h.directory.logs) == 201
    assert len(list(Path("/proc/self/fd").iterdir())) - before < 10


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_one_failed_directory_leaves_the_others_alone(harness: MakeHarness, tmp_path: Path, error: int) -> None:
    failing = FaultyFileSystem(10**9, error, frozenset({"write"}))
    first, second = harness(filesystem=failing), harness(path=str(tmp_path / "second"))
    first.open()
    second.open()
    first.append(b"a")
    failing.fail_at = failing.calls
    with pytest.raises(StorageFailure):
        first.append(b"b")
    # A full disk is no failed one: what is there can be read.
    assert (first.directory.failure is None) == (error == errno.ENOSPC)
    if error == errno.ENOSPC:
        assert first.values() == [(0, b"a")]
    assert second.directory.failure is None
    second.append(b"c")
    second.reopen()
    assert second.values() == [(0, b"c")]
    first.close()
    first.filesystem = LocalFileSystem()
    first.open()
    assert first.values() == [(0, b"a")]
