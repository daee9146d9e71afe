"""Messages: records of a topic, of one partition or of several merged by time; one record; live records.

What is read and how is in `tidelog.console.records`. Files are in `message_downloads`, new records in
`message_producing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from tidelog.client.browsing import Entry, RecordEntry
from tidelog.console.feeds import Pace
from tidelog.console.findings.entry_documents import details_of, row_of
from tidelog.console.findings.exports import safe_file_name
from tidelog.console.findings.payload_forms import Form
from tidelog.console.findings.positions import ALL, format_positions
from tidelog.console.findings.record_filter import (
    MOST_TEXT,
    Condition,
    FilterComparison,
    MessageFilter,
    OutcomeChoice,
    RecordPart,
    problem_of,
)
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.records.live import LiveRecords
from tidelog.console.records.patterns import TOO_SLOW
from tidelog.console.records.places import ReadPlace, Start, look_at, positions_at
from tidelog.console.records.portions import MOST_ROWS, Portion, PortionEnd, read_newer, read_older
from tidelog.console.replies import NOT_FOUND, ConsoleRefusal, Json, reply
from tidelog.model.ids import TopicPartition

router = APIRouter()

_ROWS = 50
_LIVE_PACE = Pace(seconds=1.0)
_LARGEST = (1 << 63) - 1

_Text = Annotated[str, Query(max_length=MOST_TEXT)]
_Partitions = Annotated[str, Query(max_length=20)]


def _filter(
    key: _Text = "",
    key_how: FilterComparison = FilterComparison.CONTAINS,
    value: _Text = "",
    value_how: FilterComparison = FilterComparison.CONTAINS,
    value_path: _Text = "",
    header: _Text = "",
    header_how: FilterComparison = FilterComparison.CONTAINS,
    header_name: _Text = "",
    case: str = "",
    only: OutcomeChoice | None = None,
) -> MessageFilter:
    """A condition without text is none, unless it asks for null, or for a header of this name."""
    asked = (
        (RecordPart.KEY, key_how, key, ""),
        (RecordPart.VALUE, value_how, value, value_path),
        (RecordPart.HEADER, header_how, header, header_name),
    )
    conditions = tuple(
        Condition(part=part, how=how, text=text, where=where)
        for part, how, text, where in asked
        if text or how is FilterComparison.NULL or (part is RecordPart.HEADER and where)
    )
    for condition in conditions:
        problem = problem_of(condition)
        if problem is not None:
            raise ConsoleRefusal(problem)
    return MessageFilter(conditions=conditions, only=only, ignore_case=case == "ignore")


Wanted: TypeAlias = Annotated[MessageFilter, Depends(_filter)]


@router.get("/messages")
async def messages(
    parts: Parts,
    topic: str,
    wanted: Wanted,
    partitions: _Partitions = ALL,
    start: Start = Start.END,
    offset: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
    time: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
    at: str | None = None,
    older: bool = False,
    rows: Annotated[int, Query(ge=1, le=MOST_ROWS)] = _ROWS,
    form: Form = Form.AUTO,
) -> Response:
    """From a place on, or with `older` what is before it; from the end there is nothing but what is before it."""
    admin = await parts.cluster.reader()
    place = await look_at(admin, topic, partitions)
    positions = await positions_at(admin, place, start, offset=offset, time_ms=time, at=at)
    read = read_older if older or start is Start.END else read_newer
    portion = await read(await parts.cluster.log_browser(), place, positions, rows=rows, wanted=wanted)
    return reply(_document(place, portion, form))


@router.get("/messages/record")
async def record(
    parts: Parts,
    topic: str,
    partition: Annotated[int, Query(ge=0)],
    offset: Annotated[int, Query(ge=0, le=_LARGEST)],
    form: Form = Form.AUTO,
) -> Response:
    """All that is known of one record."""
    entry = await _entry_at(parts, TopicPartition(topic, partition), offset)
    if isinstance(entry, RecordEntry):
        return reply(details_of(topic, partition, entry, form))
    return reply(row_of(topic, partition, entry, form))


class _PayloadPart(StrEnum):
    KEY = "key"
    VALUE = "value"
    HEADER = "header"


@router.get("/messages/payload")
async def payload(
    parts: Parts,
    topic: str,
    partition: Annotated[int, Query(ge=0)],
    offset: Annotated[int, Query(ge=0, le=_LARGEST)],
    part: _PayloadPart = _PayloadPart.VALUE,
    index: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """The bytes as they are, to be saved and never to be shown."""
    entry = await _entry_at(parts, TopicPartition(topic, partition), offset)
    if not isinstance(entry, RecordEntry):
        raise ConsoleRefusal(f"there is no record at offset {offset} of {topic}-{partition}", NOT_FOUND)
    match part:
        case _PayloadPart.KEY:
            data = entry.key
        case _PayloadPart.VALUE:
            data = entry.value
        case _PayloadPart.HEADER:
            data = entry.headers[index][1] if index < len(entry.headers) else None
    if data is None:
        raise ConsoleRefusal(
            f"the {part.value} of the record at offset {offset} of {topic}-{partition} is null", NOT_FOUND
        )
    name = f"{safe_file_name(topic)}-{partition}-{offset}-{part.value}.bin"
    return Response(
        data,
        media_type="application/octet-stream",
        headers={"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"},
    )


@router.get("/messages/live")
async def live(
    parts: Parts, topic: str, wanted: Wanted, partitions: _Partitions = ALL, form: Form = Form.AUTO
) -> Response:
    return parts.feeds.stream(
        ("messages", topic, partitions, wanted, form),
        lambda: LiveRecords(parts.cluster, topic, partitions, wanted, form).read,
        _LIVE_PACE,
    )


async def _entry_at(parts: ConsoleParts, partition: TopicPartition, offset: int) -> Entry:
    """The entry that has this offset. Raises ConsoleRefusal if the log does not have it."""
    page = await (await parts.cluster.log_browser()).page(partition, offset, max_entries=1)
    if offset < page.log_start_offset:
        raise ConsoleRefusal(
            f"offset {offset} of {partition} is no longer there: the log begins at offset {page.log_start_offset}",
            NOT_FOUND,
        )
    if not page.entries:
        raise ConsoleRefusal(
            f"offset {offset} of {partition} is not written yet: the log ends at offset {page.high_watermark}",
            NOT_FOUND,
        )
    return page.entries[0]


def _document(place: ReadPlace, portion: Portion, form: Form) -> dict[str, Json]:
    return {
        "rows": [row_of(place.topic, partition, entry, form) for partition, entry in portion.rows],
        "before": format_positions(portion.before),
        "after": format_positions(portion.after),
        "at_start": _all_at(portion.before, place.starts),
        "at_end": all(portion.after[each] >= end for each, end in place.ends.items()),
        "internal": place.internal,
        "partitions": list(place.partitions),
        "partition_count": place.partition_count,
        "silent": {str(partition): reason for partition, reason in place.silent.items()},
        "starts": {str(partition): offset for partition, offset in place.starts.items()},
        "ends": {str(partition): offset for partition, offset in place.ends.items()},
        "scan": {
            "records": portion.scanned,
            "bytes": portion.scanned_bytes,
            "ended": portion.ended.value,
            "problem": TOO_SLOW if portion.ended is PortionEnd.PATTERN else None,
            "ranges": [
                [each, portion.before[each], portion.after[each] - 1]
                for each in sorted(portion.before)
                if portion.after[each] > portion.before[each]
            ],
        },
    }


def _all_at(positions: Mapping[int, int], starts: Mapping[int, int]) -> bool:
    return all(positions[each] <= start for each, start in starts.items())
