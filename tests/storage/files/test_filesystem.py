"""The real file system behind its port."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from support.log_harness import FaultyFileSystem

from tidelog.storage.files.filesystem import read_whole, replace_file
from tidelog.storage.files.local_filesystem import LocalFileSystem, raise_descriptor_limit, share_descriptors

FILESYSTEM = LocalFileSystem()


def test_file_is_read_and_written_at_positions(tmp_path: Path) -> None:
    file = FILESYSTEM.open(str(tmp_path / "f"), create=True)
    file.write(0, b"hello")
    file.write(3, memoryview(b"LOW"))
    assert file.size() == 6
    assert file.read(1, 100) == b"elLOW"
    assert file.read(6, 1) == b""
    file.truncate(2)
    file.sync()
    file.close()
    assert read_whole(FILESYSTEM, str(tmp_path / "f")) == b"he"


def test_missing_file_is_made_only_on_request(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FILESYSTEM.open(str(tmp_path / "f"))


def test_existing_file_is_kept_by_create(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    FILESYSTEM.open(str(tmp_path / "f"), create=True).close()
    assert (tmp_path / "f").read_bytes() == b"x"


def test_removing_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    FILESYSTEM.remove(str(tmp_path / "f"))
    FILESYSTEM.remove_directory(str(tmp_path / "d"))


def test_second_lock_in_the_same_process_is_refused_and_leaves_the_first_alone(tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    lock = FILESYSTEM.lock(path)
    assert lock is not None
    assert FILESYSTEM.lock(path) is None
    assert _lock_in_other_process(path) == "refused"
    lock.release()
    assert _lock_in_other_process(path) == "taken"


def _lock_in_other_process(path: str) -> str:
    program = (
        "import sys; from tidelog.storage.files.local_filesystem import LocalFileSystem as F;"
        "print('refused' if F().lock(sys.argv[1]) is None else 'taken')"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def test_replaced_file_keeps_its_old_content_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "f"
    replace_file(FILESYSTEM, str(path), b"old content")
    for fail_at in range(5):
        filesystem = FaultyFileSystem(fail_at, errno.EIO)
        with pytest.raises(OSError, match="Input/output"):
            replace_file(filesystem, str(path), b"new")
        assert path.read_bytes() in (b"old content", b"new")
        path.write_bytes(b"old content")


def test_replaced_file_is_synced_before_and_its_directory_after_the_rename(tmp_path: Path) -> None:
    order: list[str] = []

    class Recording(FaultyFileSystem):
        def count(self, kind: str) -> None:
            order.append(kind)

    replace_file(Recording(0), str(tmp_path / "f"), b"x")
    assert order == ["remove", "create", "write", "sync", "rename", "sync_directory"]


def test_the_descriptor_limit_is_raised_to_what_the_system_allows() -> None:
    raise_descriptor_limit()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == hard
    shares = share_descriptors()
    assert 0 < shares.files + shares.connections < (hard if hard > 0 else 1 << 62)
