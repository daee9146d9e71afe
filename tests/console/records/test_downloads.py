"""Records as files: what is in them, and where they end."""

from __future__ import annotations

import io
import json

import pytest
from support.log_entries import marker_entry, record_entry
from support.memory_log import MemoryLogs

from tidelog.client.browsing import Entry, TransactionOutcome, Unreadable
from tidelog.console.findings.record_filter import MessageFilter, OutcomeChoice
from tidelog.console.records.downloads import (
    DownloadEnd,
    DownloadEnds,
    DownloadLimits,
    FileFormat,
    RecordsFile,
    encoder_for,
)
from tidelog.console.records.portions import PortionEnd, PortionReading, ReadBounds, newer_reading

LARGE = DownloadLimits(records=100_000, bytes=1 << 30)


def reading(logs: MemoryLogs) -> PortionReading:
    return newer_reading(logs.browser, logs.place, dict(logs.place.starts), MessageFilter(), ReadBounds())


async def written(
    logs: MemoryLogs, kind: FileFormat, limits: DownloadLimits = LARGE
) -> tuple[bytes, RecordsFile, PortionReading]:
    file = RecordsFile(encoder_for(kind, logs.topic), limits)
    pieces = []
    async with reading(logs) as read:
        async for piece in file.pieces(read):
            pieces.append(piece)
    return b"".join(pieces), file, read


@pytest.fixture
def logs() -> MemoryLogs:
    first = [record_entry(offset, b"v%d" % offset, timestamp_ms=offset) for offset in range(3000)]
    second: list[Entry] = [
        record_entry(0, None, key=b"\xff", headers=(("h", b"x"), ("h", None)), outcome=TransactionOutcome.ABORTED),
        marker_entry(1, "ABORT"),
        record_entry(9, b"", timestamp_ms=-1),
    ]
    return MemoryLogs({0: first, 1: second})


async def test_json_lines_have_every_record_once_and_nothing_else(logs: MemoryLogs) -> None:
    data, file, read = await written(logs, FileFormat.JSON_LINES)
    lines = [json.loads(line) for line in data.splitlines()]
    assert len(lines) == file.records == 3002
    assert [each["offset"] for each in lines if each["partition"] == 0] == list(range(3000))
    assert [each["offset"] for each in lines if each["partition"] == 1] == [0, 9]
    assert (read.ended, read.positions) == (PortionEnd.LOG, {0: 3000, 1: 10})


@pytest.mark.parametrize("most", [1, 499, 500, 501, 1200])
async def test_a_file_ends_at_its_number_of_records(logs: MemoryLogs, most: int) -> None:
    data, file, read = await written(logs, FileFormat.JSON_LINES, DownloadLimits(records=most, bytes=1 << 30))
    lines = [json.loads(line) for line in data.splitlines()]
    assert len(lines) == file.records == most
    assert read.ended is None
    behind = {each["partition"]: each["offset"] + 1 for each in lines}
    assert all(read.positions[partition] >= offset for partition, offset in behind.items())
    assert read.positions[0] == behind.get(0, 0), "another download goes on behind the last record"


async def test_a_file_ends_at_its_number_of_bytes() -> None:
    logs = MemoryLogs({0: [record_entry(offset, b"x" * 100_000) for offset in range(100)]})
    data, file, read = await written(logs, FileFormat.CSV, DownloadLimits(records=1000, bytes=2 << 20))
    assert 20 <= file.records <= 22
    assert len(data) < 3 << 20
    assert read.ended is None


async def test_an_arrow_file_can_be_read(logs: MemoryLogs) -> None:
    pa = pytest.importorskip("pyarrow")
    data, file, _ = await written(logs, FileFormat.ARROW)
    table = pa.ipc.open_file(io.BytesIO(data)).read_all()
    assert table.num_rows == file.records == 3002
    (odd,) = table.filter(pa.compute.equal(table["transaction"], "aborted")).to_pylist()
    assert (odd["key"], odd["value"]) == (b"\xff", None)
    assert odd["headers"] == [{"key": "h", "value": b"x"}, {"key": "h", "value": None}]
    assert odd["timestampType"] == 0
    assert table.schema.field("timestamp").type == pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize("wanted", [MessageFilter(), MessageFilter(only=OutcomeChoice.OUTSIDE)])
async def test_what_cannot_be_read_is_counted(wanted: MessageFilter) -> None:
    torn = [Unreadable(offset=each, last_offset=each + 4, reason="torn") for each in (1, 10)]
    logs = MemoryLogs({0: [record_entry(0), torn[0], record_entry(6), torn[1], record_entry(15)]})
    read = newer_reading(logs.browser, logs.place, dict(logs.place.starts), wanted, ReadBounds())
    file = RecordsFile(encoder_for(FileFormat.JSON_LINES, logs.topic), LARGE)
    async with read:
        async for _ in file.pieces(read):
            pass
    assert (file.records, read.unreadable) == (3, 2)


async def test_an_empty_file_is_a_file() -> None:
    logs = MemoryLogs({0: []})
    data, _, _ = await written(logs, FileFormat.JSON_LINES)
    assert data == b""
    data, _, _ = await written(logs, FileFormat.CSV)
    assert data.startswith(b"topic,partition,offset")
    pa = pytest.importorskip("pyarrow")
    data, _, _ = await written(logs, FileFormat.ARROW)
    assert pa.ipc.open_file(io.BytesIO(data)).read_all().num_rows == 0


async def test_timestamps_that_no_calendar_has_are_no_failure() -> None:
    pytest.importorskip("pyarrow")
    logs = MemoryLogs({0: [record_entry(0, timestamp_ms=(1 << 63) - 1), record_entry(1, timestamp_ms=-(1 << 63))]})
    data, _, _ = await written(logs, FileFormat.ARROW)
    assert data


def test_ends_of_downloads_are_remembered_for_a_while() -> None:
    ends = DownloadEnds()
    ends.begin("a")
    assert ends["a"] is None
    end = DownloadEnd(
        records=1, scanned=2, ended=None, after={0: 1}, problem=None, unreadable=0, silent={}, partitions_left_out=0
    )
    ends.end("a", end)
    assert ends["a"] == end
    ends.end("never begun", end)
    with pytest.raises(KeyError):
        ends["never begun"]
    for number in range(200):
        ends.begin(str(number))
    with pytest.raises(KeyError):
        ends["a"]
