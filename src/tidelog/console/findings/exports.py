"""Records as lines of a file: JSON Lines, which keep every byte, and CSV, which spreadsheets can open. No I/O.

In JSON a key, value or header is a string if it is UTF-8, else an object `{"base64": "..."}`, or null. CSV has a column
that says whether a key or value is text or base64, and its null is a field without quotation marks.

**CSV and formulas.** Spreadsheets take a cell that begins with `=`, `+`, `-`, `@`, a tab or a line end for a formula,
also one in quotation marks, and records come from anybody. Such text gets an apostrophe in front. Whoever wants the
text exactly takes JSON Lines.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable

from tidelog.client.browsing import RecordEntry
from tidelog.console.replies import Json

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
# Many programs take these for the end of a line.
_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\u0085": "\\u0085"}
_END_OF_ROW = "\r\n"

CSV_COLUMNS = (
    "topic",
    "partition",
    "offset",
    "timestamp_ms",
    "timestamp_type",
    "transaction",
    "key_encoding",
    "key",
    "value_encoding",
    "value",
    "headers",
)


def json_line(topic: str, partition: int, entry: RecordEntry) -> bytes:
    document: dict[str, Json] = {
        "topic": topic,
        "partition": partition,
        "offset": entry.offset,
        "timestamp_ms": entry.timestamp_ms,
        "timestamp_type": timestamp_type(entry),
        "transaction": None if entry.outcome is None else entry.outcome.value,
        "key": _json_payload(entry.key),
        "value": _json_payload(entry.value),
        "headers": _json_headers(entry),
    }
    return _json(document).encode() + b"\n"


def csv_header() -> bytes:
    return (",".join(CSV_COLUMNS) + _END_OF_ROW).encode()


def csv_row(topic: str, partition: int, entry: RecordEntry) -> bytes:
    key_encoding, key = _csv_payload(entry.key)
    value_encoding, value = _csv_payload(entry.value)
    fields: Iterable[str | int | None] = (
        topic,
        partition,
        entry.offset,
        entry.timestamp_ms,
        timestamp_type(entry),
        None if entry.outcome is None else entry.outcome.value,
        key_encoding,
        key,
        value_encoding,
        value,
        _json(_json_headers(entry)) if entry.headers else None,
    )
    return (",".join(map(_csv_field, fields)) + _END_OF_ROW).encode()


def timestamp_type(entry: RecordEntry) -> str:
    return "LogAppendTime" if entry.log_append_time else "CreateTime"


def safe_file_name(name: str) -> str:
    """Topics of Kafka have only such letters; other systems that speak its protocol may have others."""
    return "".join(each if each.isascii() and (each.isalnum() or each in "._-+") else "_" for each in name)


def _csv_field(value: str | int | None) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    safe = "'" + value if value.startswith(_FORMULA) else value
    return '"' + safe.replace('"', '""') + '"'


def _csv_payload(data: bytes | None) -> tuple[str | None, str | None]:
    if data is None:
        return None, None
    try:
        return "text", data.decode()
    except UnicodeDecodeError:
        return "base64", base64.b64encode(data).decode()


def _json_payload(data: bytes | None) -> Json:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _json_headers(entry: RecordEntry) -> Json:
    """A list, because names may come twice."""
    return [{"key": name, "value": _json_payload(value)} for name, value in entry.headers]


def _json(document: Json) -> str:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    for character, escaped in _LINE_ENDS.items():
        text = text.replace(character, escaped)
    return text
