"""Files that a crash leaves behind: those of deletions, of the cleaner, and of an exchange that was under way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.default_settings import log_config
from support.log_harness import FaultyFileSystem, Harness, MakeHarness, Stopped


@pytest.fixture
def filled(harness: MakeHarness) -> Harness:
    """Segments 0, 2, 4 and 6 of a compacted topic with two records each."""
    h = harness(log_config(segment_bytes=200, compact=True))
    h.open()
    for number in range(8):
        h.append(b"%d" % number * 10)
    assert h.log.segments.base_offsets == [0, 2, 4, 6]
    return h


def add_swap(h: Harness, suffix: str = ".swap") -> None:
    """What the cleaner makes of the segments 2 and 4: only the records 3 and 4 are left."""
    data = h.batch(b"3" * 10, base_offset=3, leader_epoch=0) + h.batch(b"4" * 10, base_offset=5, leader_epoch=0)
    h.file(f".log{suffix}", 2).write_bytes(data)
    h.file(f".index{suffix}", 2).write_bytes(b"")
    h.file(f".timeindex{suffix}", 2).write_bytes(b"")


def names(h: Harness) -> set[str]:
    return {path.name for path in h.partition_path.iterdir()}


@pytest.mark.parametrize("stop", ["clean", "crash"])
def test_deleted_and_cleaned_files_and_orphans_are_removed(filled: Harness, stop: str) -> None:
    h = filled
    h.close() if stop == "clean" else h.crash()
    for name in ("x.log.deleted", "00000000000000000000.index.deleted", "00000000000000000009.index", "f.tmp"):
        (h.partition_path / name).write_bytes(b"x")
    add_swap(h, ".cleaned")
    h.open()
    assert not [name for name in names(h) if name.endswith((".deleted", ".cleaned", ".tmp"))]
    assert "00000000000000000009.index" not in names(h)
    assert len(h.values()) == 8


@pytest.mark.parametrize("stop", ["clean", "crash"])
def test_finished_swap_replaces_the_segments_it_was_made_from(filled: Harness, stop: str) -> None:
    h = filled
    h.close() if stop == "clean" else h.crash()
    add_swap(h)
    h.open()
    assert h.log.segments.base_offsets == [0, 2, 6]
    assert [offset for offset, _ in h.values()] == [0, 1, 3, 5, 6, 7]
    assert not [name for name in names(h) if name.endswith(".swap")]


def test_swap_at_or_above_a_cleaned_file_is_an_unfinished_split_and_is_removed(filled: Harness) -> None:
    h = filled
    h.close()
    add_swap(h)
    h.file(".log.cleaned", 2).write_bytes(b"")
    h.open()
    assert h.log.segments.base_offsets == [0, 2, 4, 6]
    assert len(h.values()) == 8


def test_crash_at_any_step_of_finishing_a_swap_is_harmless(filled: Harness, tmp_path: Path) -> None:
    h = filled
    h.crash()
    add_swap(h)
    shutil.copytree(h.path, tmp_path / "copy")
    step = 0
    while True:
        try:
            h.open(FaultyFileSystem(step))
        except Stopped:
            h.directory.abandon()
            h.open()
            assert [offset for offset, _ in h.values()] == [0, 1, 3, 5, 6, 7], step
            h.crash()
            shutil.rmtree(h.path)
            shutil.copytree(tmp_path / "copy", h.path)
            step += 1
            continue
        break
    assert step > 20


def test_metadata_snapshots_are_left_to_their_owner(filled: Harness) -> None:
    h = filled
    h.close()
    name = "00000000000000000010-0000000001.checkpoint.deleted"
    (h.partition_path / name).write_bytes(b"x")
    h.open()
    assert name in names(h)
