"""What a micro-batch reads, from the files that Spark writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.checkpoint_files import CheckpointFiles

from tidelog.spark.sink.batch_identity import BEGINNING, Reads, UnknownOffsetLog, parse_offset_log, reads_between
from tidelog.spark.sink.checkpoint import (
    COMMITS,
    DEFAULT_LOCATION,
    default_checkpoint,
    newest_batch,
    planned_batch,
    read_batch,
)

QUERY = "4f6ad5d2-7a38-4a4c-9a35-6f5d5e0d0b3a"


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ('v1\n{"batchWatermarkMs":0}\n{"t":{"0":5}}', ('{"t":{"0":5}}',)),
        # Without metadata, as very old ones are; no newline at the end, or one.
        ("v1\n\n7\n", ("7",)),
        # Several sources, one of which has no offset yet.
        ('v1\n{}\n-\n{"logOffset":3}\n-', ("-", '{"logOffset":3}', "-")),
        # Names are brought into order, spaces are not part of it.
        ('v1\n{}\n{"b": 1, "a": {"1": 2, "0": 3}}', ('{"a":{"0":3,"1":2},"b":1}',)),
        # Not JSON at all.
        ("v1\n{}\nfile:///a b", ("file:///a b",)),
        # Version 2 names the sources, in any order.
        ('v2\n{}\nsource-1:{"x":1}\nsource-0:-', ("source-0:-", 'source-1:{"x":1}')),
        ("v2\n{}", ()),
    ],
)
def test_offsets_of_all_sources_are_found(text: str, offsets: tuple[str, ...]) -> None:
    assert parse_offset_log(text) == offsets


@pytest.mark.parametrize("text", ["", "v1", "v3\n{}\n1", "{}\nv1\n1", "\x00\x00\x00"])
def test_file_that_is_not_an_offset_log_is_not_guessed_at(text: str) -> None:
    with pytest.raises(UnknownOffsetLog):
        parse_offset_log(text)


def test_time_and_settings_of_a_micro_batch_are_no_part_of_what_it_reads() -> None:
    def between(start: str | None, end: str) -> Reads:
        return reads_between(None if start is None else parse_offset_log(start), parse_offset_log(end))

    one = between('v1\n{"batchTimestampMs":1}\n1', 'v1\n{"batchTimestampMs":2,"conf":{"a":"b"}}\n2')
    other = between('v1\n{"batchTimestampMs":7}\n1', "v1\n\n2")

    assert one == other
    assert one != between("v1\n\n1", "v1\n\n3")
    assert one != between("v1\n\n0", "v1\n\n2")
    assert one != between(None, "v1\n\n2")
    assert between(None, "v1\n\n2").start == BEGINNING
    # A source more, or the same offset of another one.
    assert len({between(None, f"v1\n{{}}\n{lines}") for lines in ("1\n-", "-\n1", "1", "1\n1", "-")}) == 5


@pytest.mark.parametrize(("version", "source", "line"), [("v1", "0", "{offset}"), ("v2", "in", "in:{offset}")])
def test_files_behind_the_number_of_a_source_of_files_are_what_is_read(
    tmp_path: Path, version: str, source: str, line: str
) -> None:
    files = CheckpointFiles(tmp_path / "checkpoint")
    log = files.folder / "sources" / source
    log.mkdir(parents=True)

    def planned(batch: int, *paths: str, compact: bool = False) -> Reads:
        entries = [f'{{"path":"{path}","timestamp":{len(path)},"batchId":{batch}}}' for path in paths]
        if compact:
            entries.insert(0, '{"path":"earlier","timestamp":1,"batchId":0}')
        for ending in ("", ".compact"):
            (log / f"{batch}{ending}").unlink(missing_ok=True)
        (log / f"{batch}{'.compact' if compact else ''}").write_text("\n".join(["v1", *entries]))
        files.begin(batch, line.replace("{offset}", f'{{"logOffset":{batch}}}'), version=version)
        found = read_batch(str(files.folder), batch)
        assert found is not None
        return found.reads

    planned(0, "a.txt")
    one = planned(1, "b.txt", "c.txt")

    assert planned(1, "c.txt", "b.txt") == one
    assert planned(1, "b.txt", "c.txt", compact=True) == one
    assert planned(1, "b.txt") != one
    assert planned(1, "b.txt", "d.txt") != one
    assert planned(2, "e.txt").start != one.end
    assert planned(1, "b.txt", "c.txt") == one
    assert planned(2, "e.txt").start == one.end


def test_newest_micro_batch_is_the_one_that_is_planned(tmp_path: Path) -> None:
    files = CheckpointFiles(tmp_path / "checkpoint")
    location = f"file:{files.folder}"
    assert planned_batch(None) is None
    assert planned_batch(location) is None

    for batch in range(12):
        files.begin(batch, 10 * batch)
        (files.folder / "offsets" / f".{batch + 5}.tmp").touch()
        planned = planned_batch(location)
        assert planned is not None
        assert planned.batch == batch
        assert planned.reads.until == str(10 * batch)
        assert newest_batch(location, COMMITS) == (batch - 1 if batch else None)
        files.finish(batch)
    first, second = read_batch(location, 3), read_batch(str(files.folder), 4)
    assert first is not None
    assert second is not None
    assert first.reads.end == second.reads.start


def test_what_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    files = CheckpointFiles(tmp_path / "checkpoint")
    location = str(files.folder)
    for batch in range(3):
        files.begin(batch, batch)
    (files.folder / "offsets" / "1").write_text("v9\n{}\n1")

    assert read_batch(location, 0) is not None
    assert read_batch(location, 1) is None
    assert read_batch(location, 2) is None
    assert read_batch(location, 7) is None
    assert newest_batch("unknown://place/checkpoint") is None
    assert planned_batch("unknown://place/checkpoint") is None


@pytest.mark.parametrize(
    ("description", "query_id", "found"),
    [
        ("totals\nid = x\nrunId = y\nbatch = 3", QUERY, True),
        ("totals<br/>id = x<br/>runId = y<br/>batch = 3", QUERY, True),
        # Another query had the name before.
        ("totals<br/>id = x<br/>runId = y<br/>batch = 3", "another", False),
        # No name: Spark has made one up.
        ("id = x<br/>runId = y<br/>batch = 3", QUERY, False),
        ("elsewhere<br/>id = x", QUERY, False),
        ("", QUERY, False),
    ],
)
def test_checkpoint_of_a_named_query_is_found_below_that_of_the_session(
    tmp_path: Path, description: str, query_id: str, found: bool
) -> None:
    CheckpointFiles(tmp_path / "totals", QUERY)
    properties = {DEFAULT_LOCATION: str(tmp_path), "spark.job.description": description}

    location = default_checkpoint(properties.get, query_id)

    assert location == (f"{tmp_path}/totals" if found else None)
