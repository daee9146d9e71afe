"""Messages as a file: a range of records, with the same filter as on the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tidelog.console.findings.exports import safe_file_name
from tidelog.console.findings.positions import ALL, format_partitions, format_positions
from tidelog.console.findings.record_filter import MessageFilter
from tidelog.console.pages.messages import Wanted
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.records.downloads import (
    MEDIA_TYPES,
    MOST_MIB,
    MOST_RECORDS,
    DownloadEnd,
    DownloadEnds,
    DownloadLimits,
    FileEncoder,
    FileFormat,
    RecordsFile,
    encoder_for,
)
from tidelog.console.records.filtering import RecordTester
from tidelog.console.records.places import ReadPlace, Start, look_at, positions_at
from tidelog.console.records.portions import PortionReading, ReadBounds, newer_reading
from tidelog.console.replies import EXPECTED_FAILURES, ConsoleRefusal, Json, reply
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

router = APIRouter()

# With a filter that few records pass, much more is read than is in the file.
_BOUNDS = ReadBounds(records=5_000_000, bytes=4 << 30, seconds=1800)
MOST_AT_ONCE = 4
_BUSY = 503
_LARGEST = (1 << 63) - 1
_RECORDS = 10_000
_MIB = 64


class _Downloads:
    """Those of one console: how many there are now, and how the last ones have ended."""

    def __init__(self) -> None:
        self.running = 0
        self.ends = DownloadEnds()

    def begin(self) -> None:
        """Raises ConsoleRefusal. To be followed by an `end`, whether or not anything is sent."""
        if self.running >= MOST_AT_ONCE:
            raise ConsoleRefusal(f"{MOST_AT_ONCE} downloads are running already: wait until one has ended", _BUSY)
        self.running += 1

    def end(self) -> None:
        self.running -= 1


def _downloads(request: Request) -> _Downloads:
    state = request.app.state
    if not hasattr(state, "downloads"):
        state.downloads = _Downloads()
    found: _Downloads = state.downloads
    return found


@router.get("/messages/download")
async def download(
    parts: Parts,
    request: Request,
    topic: str,
    wanted: Wanted,
    format: FileFormat,
    partitions: Annotated[str, Query(max_length=20)] = ALL,
    start: Start = Start.BEGINNING,
    offset: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
    time: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
    at: str | None = None,
    records: Annotated[int, Query(ge=1, le=MOST_RECORDS)] = _RECORDS,
    mib: Annotated[int, Query(ge=1, le=MOST_MIB)] = _MIB,
    id: Annotated[str, Query(max_length=64)] = "",
    check: bool = False,
) -> Response:
    """At most so many records, and so many MiB of keys, values and headers. How it has ended is kept under `id`.

    With `check` nothing is sent but the name of the file: a browser shows no sentence for a download that is refused.
    """
    if start is Start.END:
        raise ConsoleRefusal("a download begins at the beginning, an offset, a time or positions, and goes to the end")
    downloads = _downloads(request)
    downloads.begin()
    try:
        found = await _checked(parts, topic, wanted, format, partitions, start, offset, time, at)
        name = _file_name(found.place, start, found.reading.positions, time, format)
    except BaseException:
        downloads.end()
        raise
    if check:
        downloads.end()
        return reply({"name": name})
    if id:
        downloads.ends.begin(id)
    file = RecordsFile(found.encoder, DownloadLimits(records=records, bytes=mib << 20))
    return _DownloadReply(downloads, id, found, file, name, format)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    place: ReadPlace
    encoder: FileEncoder
    reading: PortionReading


async def _checked(
    parts: ConsoleParts,
    topic: str,
    wanted: MessageFilter,
    kind: FileFormat,
    partitions: str,
    start: Start,
    offset: int | None,
    time: int | None,
    at: str | None,
) -> _Checked:
    """What is refused is refused before anything is sent: a wrong regular expression, a topic that may not be read."""
    admin = await parts.cluster.reader()
    place = await look_at(admin, topic, partitions)
    positions = await positions_at(admin, place, start, offset=offset, time_ms=time, at=at)
    encoder = encoder_for(kind, topic)
    browser = await parts.cluster.log_browser()
    async with RecordTester(topic, wanted):
        pass
    first = place.partitions[0]
    await browser.page(TopicPartition(topic, first), positions[first], max_entries=1, max_bytes=1)
    return _Checked(place=place, encoder=encoder, reading=newer_reading(browser, place, positions, wanted, _BOUNDS))


class _DownloadReply(StreamingResponse):
    """Notes how the download has ended and makes room for another one, also where not even its beginning was sent."""

    def __init__(
        self, downloads: _Downloads, id: str, found: _Checked, file: RecordsFile, name: str, kind: FileFormat
    ) -> None:
        super().__init__(
            self._pieces(),
            media_type=MEDIA_TYPES[kind],
            headers={"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"},
        )
        self._downloads = downloads
        self._id = id
        self._found = found
        self._file = file
        self._problem: str | None = "it was cancelled"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._downloads.end()
            if self._id:
                self._downloads.ends.end(self._id, self._end())

    async def _pieces(self) -> AsyncIterator[bytes]:
        """What fails on the way ends the connection, so that the browser knows that the file is not whole."""
        try:
            async with self._found.reading as reading:
                async for piece in self._file.pieces(reading):
                    yield piece
            self._problem = None
        except (*EXPECTED_FAILURES, ConsoleRefusal) as error:
            self._problem = str(error)
            raise

    def _end(self) -> DownloadEnd:
        place, reading = self._found.place, self._found.reading
        return DownloadEnd(
            records=self._file.records,
            scanned=reading.scanned,
            ended=reading.ended,
            after=reading.positions,
            problem=self._problem,
            unreadable=reading.unreadable,
            silent=place.silent,
            partitions_left_out=place.left_out,
        )


@router.get("/messages/download/end")
async def download_end(request: Request, id: str) -> Response:
    """Not known are those that have not begun yet, and those of long ago."""
    try:
        end = _downloads(request).ends[id]
    except KeyError:
        return reply({"state": "unknown"})
    if end is None:
        return reply({"state": "running"})
    return reply({"state": "ended", **_end_document(end)})


def _end_document(end: DownloadEnd) -> dict[str, Json]:
    return {
        "records": end.records,
        "scanned": end.scanned,
        "ended": "limit" if end.ended is None else end.ended.value,
        "after": format_positions(end.after),
        "problem": end.problem,
        "unreadable": end.unreadable,
        "silent": {str(partition): reason for partition, reason in end.silent.items()},
        "partitions_left_out": end.partitions_left_out,
    }


def _file_name(
    place: ReadPlace, start: Start, positions: Mapping[int, int], time_ms: int | None, kind: FileFormat
) -> str:
    """Topic, partitions, and where it begins."""
    begin = "beginning"
    if start is Start.TIME and time_ms is not None:
        begin = _time_in_name(time_ms)
    elif start is not Start.BEGINNING:
        # More would not fit into a name.
        begin = "+".join(str(offset) for _, offset in sorted(positions.items())[:3])
        begin += "+more" if len(positions) > 3 else ""
    return f"{safe_file_name(place.topic)}-{format_partitions(place.partitions)}-from-{begin}.{kind.value}"


def _time_in_name(time_ms: int) -> str:
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    except (ValueError, OverflowError, OSError):
        return str(time_ms)
