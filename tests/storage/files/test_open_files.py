"""Files that are held open without a descriptor each: whatever happens to those, they stay what they were."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from random import Random

import pytest
from support.descriptors import exhaust_descriptors

from tidelog.model.unread import BytesChanged, UnreadBytes
from tidelog.storage.files.filesystem import File
from tidelog.storage.files.local_filesystem import LocalFile, LocalFileSystem

FEW = 4


@pytest.fixture
def filesystem() -> LocalFileSystem:
    return LocalFileSystem(FEW)


def written(filesystem: LocalFileSystem, directory: Path, count: int) -> list[File]:
    files = [filesystem.open(f"{directory}/{number}", create=True) for number in range(count)]
    for number, file in enumerate(files):
        file.write(0, b"content of %d" % number)
    return files


def test_more_files_are_open_than_there_are_descriptors(filesystem: LocalFileSystem, tmp_path: Path) -> None:
    files = written(filesystem, tmp_path, 50)
    assert filesystem.descriptor_count <= FEW
    for number, file in enumerate(files):
        assert file.read(0, 100) == b"content of %d" % number
        file.write(file.size(), b"!")
        file.sync()
    assert filesystem.descriptor_count <= FEW
    for file in files:
        file.close()
    assert filesystem.descriptor_count == 0


def test_an_open_file_outlives_its_name(filesystem: LocalFileSystem, tmp_path: Path) -> None:
    """As with descriptors: renamed, removed, replaced, or in a directory that was renamed."""
    files = written(filesystem, tmp_path, 12)
    filesystem.rename(f"{tmp_path}/0", f"{tmp_path}/renamed")
    filesystem.remove(f"{tmp_path}/1")
    filesystem.rename(f"{tmp_path}/2", f"{tmp_path}/3")
    filesystem.make_directory(f"{tmp_path}/inner")
    inner = filesystem.open(f"{tmp_path}/inner/file", create=True)
    inner.write(0, b"inner")
    filesystem.rename(f"{tmp_path}/inner", f"{tmp_path}/moved")
    written(filesystem, tmp_path / "moved", 8)
    for number, file in enumerate(files):
        assert file.read(0, 100) == b"content of %d" % number
    assert inner.read(0, 10) == b"inner"
    assert (tmp_path / "3").read_bytes() == b"content of 2"


def part(file: File, position: int, size: int) -> UnreadBytes:
    assert isinstance(file, LocalFile)
    unread = file.slice(position, size)
    assert unread is not None
    return unread


def test_a_part_of_a_file_keeps_it_open_and_takes_no_descriptor(filesystem: LocalFileSystem, tmp_path: Path) -> None:
    files = written(filesystem, tmp_path, 50)
    parts = [part(file, 0, 10) for file in files]
    for file in files:
        file.close()
    filesystem.rename(f"{tmp_path}/7", f"{tmp_path}/renamed")
    assert filesystem.descriptor_count <= FEW
    assert [bytes(each.read()) for each in parts] == [b"content of"] * 50
    assert filesystem.descriptor_count <= FEW
    parts.clear()
    assert filesystem.descriptor_count == 0


def test_a_part_does_not_keep_a_file_that_was_removed(filesystem: LocalFileSystem, tmp_path: Path) -> None:
    """Unless somebody holds the file: then it can be read as long as that one does."""
    held, closed, replaced = written(filesystem, tmp_path, 3)
    parts = [part(file, 0, 10) for file in (held, closed, replaced)]
    closed.close()
    replaced.close()
    filesystem.remove(f"{tmp_path}/0")
    filesystem.remove(f"{tmp_path}/1")
    (other,) = written(filesystem, tmp_path, 1)
    filesystem.rename(f"{tmp_path}/0", f"{tmp_path}/2")
    assert filesystem.descriptor_count == 2
    assert parts[0].read() == b"content of"
    held.close()
    for each in parts:
        with pytest.raises(BytesChanged, match="has been removed"):
            each.read()
    other.close()
    assert filesystem.descriptor_count == 0


def test_a_part_is_lost_if_its_file_is_cut_before_its_end(filesystem: LocalFileSystem, tmp_path: Path) -> None:
    (file,) = written(filesystem, tmp_path, 1)
    first, second = part(file, 0, 5), part(file, 5, 5)
    again = filesystem.open(f"{tmp_path}/0")
    again.truncate(7)
    again.write(7, b"others")
    assert first.read() == b"conte"
    with pytest.raises(BytesChanged, match="has been cut to 7 bytes"):
        second.read()
    assert part(file, 5, 5).read() == b"ntoth"
    assert isinstance(file, LocalFile)
    assert file.slice(5, 100) is None


def test_a_file_is_synced_before_it_loses_its_descriptor(
    filesystem: LocalFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And if that fails, whoever syncs it later is told."""
    (first,) = written(filesystem, tmp_path, 1)
    synced: list[int] = []

    def fail(descriptor: int) -> None:
        synced.append(descriptor)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr("tidelog.storage.files.open_files.os.fsync", fail)
        others = [filesystem.open(f"{tmp_path}/other-{number}", create=True) for number in range(FEW)]
        for other in others:
            other.write(0, b"x")
    assert synced
    with pytest.raises(OSError, match="Input/output error"):
        first.sync()


def test_without_any_descriptor_left_the_reserve_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the first file; after that one file gives its descriptor to the next."""
    filesystem = LocalFileSystem(100)
    exhaust_descriptors(monkeypatch)
    held = [filesystem.open(f"{tmp_path}/{number}", create=True) for number in range(20)]
    for number, file in enumerate(held):
        file.write(0, b"%d" % number)
    assert [int(file.read(0, 10)) for file in held] == list(range(20))


def test_threads_use_more_files_than_there_are_descriptors(filesystem: LocalFileSystem, tmp_path: Path) -> None:
    files = written(filesystem, tmp_path, 30)
    problems: list[BaseException] = []

    def work(seed: int) -> None:
        random = Random(seed)
        try:
            for _ in range(300):
                number = random.randrange(len(files))
                assert files[number].read(0, 100).startswith(b"content of %d" % number)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert filesystem.descriptor_count <= FEW + len(threads)
