"""Files between tasks and the driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.spark.sink.errors import StagingFailed
from tidelog.spark.sink.options import SinkOptions, sink_options
from tidelog.spark.sink.staging import StagedFile, StagingWriter, plan_folder, read_staged, remove_folder, remove_others


def options(**given: str) -> SinkOptions:
    return sink_options({"kafka.bootstrap.servers": "127.0.0.1:9092", **given})


def staged(writer: StagingWriter, *pieces: bytes) -> bytes | StagedFile:
    for piece in pieces:
        writer.append(piece)
    return writer.finish()


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_large_output_goes_through_a_file_under_the_checkpoint(tmp_path: Path, scheme: str) -> None:
    folder = plan_folder(options(checkpointLocation=f"{scheme}{tmp_path}/checkpoint/"))

    content = staged(StagingWriter(folder, "q.0.1.2", inline_bytes=5), b"abc", b"defg", b"h")

    assert isinstance(content, StagedFile)
    assert content.size == 8
    assert bytes(read_staged(content)) == b"abcdefgh"
    assert len(list((tmp_path / "checkpoint" / "tidelog-staging").glob("*/q.0.1.2"))) == 1


def test_small_output_touches_no_file(tmp_path: Path) -> None:
    folder = plan_folder(options(checkpointLocation=str(tmp_path)))
    writer = StagingWriter(folder, "q.0.1.2", inline_bytes=8)

    assert [writer.append(b"abc"), writer.append(b"defgh")] == [0, 3]
    assert writer.finish() == b"abcdefgh"
    assert not list(tmp_path.glob("*/*/*"))


def test_file_that_was_changed_is_not_published(tmp_path: Path) -> None:
    folder = plan_folder(options(stagingLocation=str(tmp_path)))
    content = staged(StagingWriter(folder, "q.0.0.0", inline_bytes=0), b"abcdef")
    assert isinstance(content, StagedFile)

    for wrong in (b"abcdeX", b"abc", b""):
        Path(content.path).write_bytes(wrong)
        with pytest.raises(StagingFailed, match=f"holds {len(wrong)} bytes"):
            read_staged(content)


def test_what_was_read_may_be_changed_and_the_file_stays_what_it_was(tmp_path: Path) -> None:
    """A transaction that is begun again reads it again."""
    folder = plan_folder(options(stagingLocation=str(tmp_path)))
    content = staged(StagingWriter(folder, "q.0.0.0", inline_bytes=0), b"abcdef")
    assert isinstance(content, StagedFile)

    first = read_staged(content)
    first[0:3] = b"XYZ"

    assert bytes(first) == b"XYZdef"
    assert bytes(read_staged(content)) == b"abcdef"


def test_file_that_the_driver_does_not_see_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StagingFailed, match="stagingLocation"):
        read_staged(StagedFile(path=f"{tmp_path}/nowhere", size=1, checksum=1))


@pytest.mark.parametrize("place", ["unheard-of://somewhere/checkpoint", "/dev/null/checkpoint"])
def test_place_where_no_folder_can_be_made_is_explained(place: str) -> None:
    with pytest.raises(StagingFailed, match=r"cannot be created: .*Set the option stagingLocation"):
        plan_folder(options(checkpointLocation=place))


def test_zombie_cannot_write_after_its_folder_was_removed(tmp_path: Path) -> None:
    folder = plan_folder(options(checkpointLocation=str(tmp_path)))
    remove_folder(folder.path)

    with pytest.raises(StagingFailed, match="stagingLocation"):
        staged(StagingWriter(folder, "q.0.0.0", inline_bytes=0), b"late")


def test_folder_goes_with_the_files_of_attempts_that_lost(tmp_path: Path) -> None:
    folder = plan_folder(options(checkpointLocation=str(tmp_path)))
    for attempt in range(3):
        staged(StagingWriter(folder, f"q.0.0.{attempt}", inline_bytes=0), b"x")

    remove_folder(folder.path)
    remove_folder(folder.path)

    assert not list(tmp_path.glob("tidelog-staging/*"))


def test_successor_removes_what_a_dead_driver_left_under_the_checkpoint(tmp_path: Path) -> None:
    left_behind, current = (plan_folder(options(checkpointLocation=str(tmp_path))) for _ in range(2))
    staged(StagingWriter(left_behind, "q.0.0.0", inline_bytes=0), b"x")

    remove_others(current, "q")

    assert [path.name for path in (tmp_path / "tidelog-staging").iterdir()] == [current.name]


def test_folders_of_other_queries_in_a_shared_place_are_left_alone(tmp_path: Path) -> None:
    mine, theirs, current = (plan_folder(options(stagingLocation=str(tmp_path))) for _ in range(3))
    staged(StagingWriter(mine, "q.0.0.0", inline_bytes=0), b"x")
    staged(StagingWriter(theirs, "other.0.0.0", inline_bytes=0), b"x")

    remove_others(current, "q")

    assert {path.name for path in (tmp_path / "tidelog-staging").iterdir()} == {theirs.name, current.name}
