"""What a page shows of an entry of a log: one row, or all that is known of it. No I/O.

Rows are of four kinds, as entries are: record, control, gap, unreadable. Payloads are cut in rows, and less so in
details; how much of them there is is always said.
"""

from __future__ import annotations

from tidelog.client.browsing import ControlEntry, Entry, Gap, RecordEntry, Unreadable
from tidelog.console.findings import coordinator_records
from tidelog.console.findings.coordinator_records import ReadableRecord, UnknownRecord
from tidelog.console.findings.payload_forms import Form, in_full, in_line
from tidelog.console.findings.visible_text import shown_name, visible
from tidelog.console.replies import Json
from tidelog.records.compression import Compression
from tidelog.records.record import Header

# Bytes of a key or a value in a row, and in the details.
ROW_BYTES = 1024
DETAIL_BYTES = 64 * 1024
# Characters of a sentence about a record of a coordinator, whose names may be long.
_SUMMARY_CHARACTERS = 400
# Of headers in the details: how many, and the bytes of each.
MOST_HEADERS = 100
_HEADER_BYTES = 4096
_HEADER_NAME_CHARACTERS = 1024

Document = dict[str, Json]


def row_of(topic: str, partition: int, entry: Entry, form: Form) -> Document:
    document: Document = {"partition": partition, "offset": entry.offset}
    match entry:
        case Gap():
            return {**document, "kind": "gap", "last_offset": entry.last_offset}
        case Unreadable():
            return {
                **document,
                "kind": "unreadable",
                "last_offset": entry.last_offset,
                "reason": entry.reason,
                "damaged": entry.is_damaged,
            }
        case ControlEntry():
            return {
                **document,
                "kind": "control",
                "time_ms": entry.timestamp_ms,
                "type": entry.kind,
                "producer_id": entry.producer_id,
                "producer_epoch": entry.producer_epoch,
                "coordinator_epoch": entry.coordinator_epoch,
                "leader_epoch": entry.leader_epoch,
            }
        case RecordEntry():
            return {**document, **_record_row(topic, entry, form)}


def details_of(topic: str, partition: int, entry: RecordEntry, form: Form) -> Document:
    headers = entry.headers[:MOST_HEADERS]
    return {
        "partition": partition,
        "offset": entry.offset,
        "kind": "record",
        "time_ms": entry.timestamp_ms,
        "timestamp": str(entry.timestamp_ms),
        "append_time": entry.log_append_time,
        "leader_epoch": entry.leader_epoch,
        "batch_offset": entry.batch_offset,
        "compression": _codec(entry.compression),
        "producer_id": entry.producer_id,
        "producer_epoch": entry.producer_epoch,
        "sequence": entry.sequence,
        "outcome": None if entry.outcome is None else entry.outcome.value,
        "sizes": {
            "key": None if entry.key is None else len(entry.key),
            "value": None if entry.value is None else len(entry.value),
            "headers": sum(len(name.encode()) + len(value or b"") for name, value in entry.headers),
        },
        "key": in_full(entry.key, form, DETAIL_BYTES),
        "value": in_full(entry.value, form, DETAIL_BYTES),
        "headers": [_header(header, form) for header in headers],
        "header_count": len(entry.headers),
        "readable": _readable_details(topic, entry),
    }


def _record_row(topic: str, entry: RecordEntry, form: Form) -> Document:
    """A record of a coordinator that can be read has a sentence instead of a key and a value."""
    found = coordinator_records.readable(topic, entry.key, entry.value)
    is_readable = isinstance(found, ReadableRecord)
    return {
        "kind": "record",
        "time_ms": entry.timestamp_ms,
        "key": None if is_readable else in_line(entry.key, form, ROW_BYTES),
        "value": None if is_readable else in_line(entry.value, form, ROW_BYTES),
        "headers": len(entry.headers),
        "outcome": None if entry.outcome is None else entry.outcome.value,
        "readable": _readable_row(found),
    }


def _readable_row(found: ReadableRecord | UnknownRecord | None) -> Json:
    match found:
        case None:
            return None
        case UnknownRecord():
            return {"type": None, "summary": shown_name(found.reason)}
        case ReadableRecord():
            summary = found.summary
            if len(summary) > _SUMMARY_CHARACTERS:
                summary = summary[:_SUMMARY_CHARACTERS] + " …"
            return {"type": found.type, "summary": shown_name(summary)}


def _readable_details(topic: str, entry: RecordEntry) -> Json:
    found = coordinator_records.readable(topic, entry.key, entry.value)
    match found:
        case None:
            return None
        case UnknownRecord():
            return {"type": None, "summary": shown_name(found.reason)}
        case ReadableRecord():
            return {
                "type": found.type,
                "summary": shown_name(found.summary),
                "key": in_full(found.key.encode(), Form.JSON, DETAIL_BYTES),
                "value": in_full(None if found.value is None else found.value.encode(), Form.JSON, DETAIL_BYTES),
                "group": found.group,
                "transactional_id": found.transactional_id,
            }


def _header(header: Header, form: Form) -> Json:
    name, value = header
    shown = visible(name[:_HEADER_NAME_CHARACTERS], in_one_line=True)
    return {
        "name": shown.pieces,
        "name_cut": shown.used < len(name),
        "value": in_full(value, form, _HEADER_BYTES),
    }


def _codec(number: int) -> str:
    try:
        return Compression(number).name.lower()
    except ValueError:
        return f"type {number}"
