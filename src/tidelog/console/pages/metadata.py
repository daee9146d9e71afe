"""Metadata: the metadata log record by record as it grows, with what each record changes, and who leads the quorum."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from tidelog.client.browsing import MetadataEntry, MetadataLog, MetadataLogUnavailable, MetadataPage
from tidelog.console.feeds import Pace
from tidelog.console.findings.metadata_records import RecordFilter, Row, Subject, details_of, rows_of, whole_of
from tidelog.console.pages.overview import described_quorum, quorum_reading
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import NOT_FOUND, ConsoleRefusal, Json, reply
from tidelog.protocol.messages import METADATA_RECORDS
from tidelog.records.control import ControlType

router = APIRouter()

_PACE = Pace(seconds=2.0)
# Of the feed, and of one page.
_ROWS = 50
# Applying a record to the image takes 0.1 ms, and other requests wait meanwhile.
_AT_ONCE = 250
# A page looks so far back for rows: what is idle writes records that are one row together.
_STEPS_BACK = (_AT_ONCE, 1_000, 2_000)
# The feed goes on at the end if more was written since its last reading. Pages show what is between.
_MOST_BEHIND = 2_000
# One search reads so many records. The page goes on from there.
_SEARCHED = 5_000
_MOST_FOUND = 200
_LAST_OFFSET = (1 << 63) - 1

Offset = Annotated[int, Query(ge=0, le=_LAST_OFFSET)]


@router.get("/metadata/live")
async def live(parts: Parts) -> Response:
    return parts.feeds.stream("metadata", lambda: MetadataReader(parts).read, _PACE)


class MetadataReader:
    """Reads each record once, however many watch."""

    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts
        self._rows: list[Row] = []
        # None before the first reading, and where the log has become another one.
        self._next: int | None = None

    async def read(self) -> Json:
        admin = await self._parts.cluster.watcher()
        quorum, log = await asyncio.gather(described_quorum(admin), self._read_log())
        return {
            **quorum_reading(quorum),
            **log,
        }

    async def _read_log(self) -> dict[str, Json]:
        log = await self._parts.cluster.metadata_log()
        try:
            page = await self._read_on(log)
        except MetadataLogUnavailable as problem:
            self._next = None
            return {"log": None, "unavailable": str(problem)}
        return {"log": {**_bounds(page), "rows": _documents(self._rows)}, "unavailable": None}

    async def _read_on(self, log: MetadataLog) -> MetadataPage:
        if self._next is not None:
            page = await log.page(self._next, _AT_ONCE)
            if self._next <= page.high_watermark <= self._next + _MOST_BEHIND:
                while True:
                    self._rows = rows_of(page.entries, self._rows)[-_ROWS:]
                    self._next = page.next_offset
                    if not page.entries or page.next_offset >= page.high_watermark:
                        return page
                    page = await log.page(self._next, _AT_ONCE)
        self._rows, page = await _rows_back(log, None)
        self._next = page.high_watermark
        return page


@router.get("/metadata/page")
async def one_page(parts: Parts, until: Offset) -> Response:
    """The rows up to this record, with it."""
    log = await parts.cluster.metadata_log()
    end = (await log.page(None, 1)).high_watermark
    rows, page = await _rows_back(log, min(until + 1, end))
    return reply({**_bounds(page), "rows": _documents(rows)})


@router.get("/metadata/after")
async def page_after(parts: Parts, offset: Offset) -> Response:
    """The rows that follow this record."""
    log = await parts.cluster.metadata_log()
    rows: list[Row] = []
    begin = offset + 1
    while True:
        page = await log.page(begin, _AT_ONCE)
        rows = rows_of((entry for entry in page.entries if entry.offset >= begin), rows)
        begin = page.next_offset
        if not page.entries or len(rows) >= _ROWS or begin > offset + _MOST_BEHIND:
            return reply({**_bounds(page), "rows": _documents(rows[:_ROWS])})


@router.get("/metadata/record")
async def one_record(parts: Parts, offset: Offset, whole: bool = False) -> Response:
    """All of one record: its fields, and the image before and after it."""
    log = await parts.cluster.metadata_log()
    page = await log.page(offset, 1)
    if not page.entries or page.entries[0].offset != offset:
        raise ConsoleRefusal(_not_there(offset, page), NOT_FOUND)
    entry = page.entries[0]
    return reply(whole_of(entry) if whole else details_of(entry))


@router.get("/metadata/search")
async def search(
    parts: Parts,
    record_type: Annotated[str | None, Query(alias="type")] = None,
    subject: Subject | None = None,
    name: str = "",
    before: Annotated[int, Query(ge=0, le=_LAST_OFFSET)] = _LAST_OFFSET,
) -> Response:
    """What is there about something, in the records before an offset. `searched_from` tells how far was read: the next
    search ends there."""
    wanted = RecordFilter(type=record_type or None, subject=subject, name=name)
    log = await parts.cluster.metadata_log()
    page = await log.page(None, 1)
    end = min(before, page.high_watermark)
    begin = min(end, max(page.log_start_offset, end - _SEARCHED))
    page = await log.page(begin, _AT_ONCE)
    found: list[MetadataEntry] = []
    while True:
        found += [entry for entry in page.entries if entry.offset < end and wanted.accepts(entry)]
        if not page.entries or page.next_offset >= end:
            break
        page = await log.page(page.next_offset, _AT_ONCE)
    rows = rows_of(found)
    if len(rows) > _MOST_FOUND:
        rows = rows[-_MOST_FOUND:]
        begin = rows[0].first.offset
    return reply({**_bounds(page), "rows": _documents(rows), "searched_from": begin, "searched_to": end})


@router.get("/metadata/types")
async def types() -> Response:
    """By which the log can be filtered."""
    of_quorum = [kind.name for kind in ControlType if kind not in (ControlType.ABORT, ControlType.COMMIT)]
    return reply(
        {
            "records": sorted(METADATA_RECORDS.values()),
            "control": of_quorum,
            "subjects": [subject.value for subject in Subject],
        }
    )


async def _rows_back(log: MetadataLog, end: int | None) -> tuple[list[Row], MetadataPage]:
    """The last rows before an offset, or of all."""
    entries: list[MetadataEntry] = []
    rows: list[Row] = []
    for number in _STEPS_BACK:
        start = None if end is None else max(0, end - number)
        page = await log.page(start, number if end is None else end - (start or 0))
        read = [entry for entry in page.entries if end is None or entry.offset < end]
        entries = read + entries
        rows = rows_of(entries)
        if not read or len(rows) >= _ROWS or read[0].offset <= page.log_start_offset:
            break
        end = read[0].offset
    return rows[-_ROWS:], page


def _bounds(page: MetadataPage) -> dict[str, Json]:
    return {
        "start": page.log_start_offset,
        "high_watermark": page.high_watermark,
        "leader": page.leader,
        "epoch": page.leader_epoch,
        "source": page.source,
    }


def _documents(rows: list[Row]) -> list[Json]:
    return [row.as_json() for row in rows]


def _not_there(offset: int, page: MetadataPage) -> str:
    if offset < page.log_start_offset:
        return (
            f"record {offset} is no longer in the log, which begins at offset {page.log_start_offset}: what it did is "
            "part of the snapshot before that"
        )
    return f"there is no record {offset} yet: the log ends at offset {page.high_watermark}"
