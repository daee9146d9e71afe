"""Records as lines of files: nothing is lost in JSON Lines, and nothing is a formula in CSV."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.console_content import HOSTILE_RECORDS
from support.log_entries import record_entry

from tidelog.client.browsing import TransactionOutcome
from tidelog.console.findings.exports import CSV_COLUMNS, csv_header, csv_row, json_line, safe_file_name

payloads = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace"))


def payload_of(value: Any) -> bytes | None:
    if value is None:
        return None
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value.encode()


@pytest.fixture(autouse=True)
def large_cells() -> Iterator[None]:
    before = csv.field_size_limit(1 << 24)
    yield
    csv.field_size_limit(before)


def cells(row: bytes) -> dict[str, str]:
    (read,) = csv.reader(io.StringIO(row.decode(), newline=""), strict=True)
    return dict(zip(CSV_COLUMNS, read, strict=True))


def test_a_json_line() -> None:
    entry = record_entry(
        5, b'{"a":1}', key=b"\xff", headers=(("h", None), ("h", b"x")), outcome=TransactionOutcome.ABORTED
    )
    assert json.loads(json_line("orders", 2, entry)) == {
        "topic": "orders",
        "partition": 2,
        "offset": 5,
        "timestamp_ms": 0,
        "timestamp_type": "CreateTime",
        "transaction": "aborted",
        "key": {"base64": "/w=="},
        "value": '{"a":1}',
        "headers": [{"key": "h", "value": None}, {"key": "h", "value": "x"}],
    }


@given(payloads, payloads, st.lists(st.tuples(st.text(max_size=5), payloads), max_size=3))
def test_json_lines_keep_every_byte(key: bytes | None, value: bytes | None, headers: list[tuple[str, Any]]) -> None:
    line = json_line("t", 0, record_entry(1, value, key=key, headers=tuple(headers)))
    assert len(line.decode().splitlines()) == 1
    document = json.loads(line)
    assert (payload_of(document["key"]), payload_of(document["value"])) == (key, value)
    assert [(each["key"], payload_of(each["value"])) for each in document["headers"]] == headers


@given(payloads, payloads)
def test_csv_rows_can_be_read_and_hold_no_formula(key: bytes | None, value: bytes | None) -> None:
    row = csv_row("t", 0, record_entry(1, value, key=key))
    read = cells(row)
    for name, data in (("key", key), ("value", value)):
        assert not read[name].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
        text = read[name].removeprefix("'")
        if data is None:
            assert read[f"{name}_encoding"] == ""
        elif read[f"{name}_encoding"] == "base64":
            assert base64.b64decode(read[name]) == data
        else:
            assert data.decode() in (text, read[name])


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert cells(csv_row("t", 0, record_entry(1, text.encode())))["value"] == f"'{text}"
    assert cells(csv_row("=t", 0, record_entry(1)))["topic"] == "'=t"


def test_numbers_are_no_text_and_null_is_not_empty() -> None:
    row = csv_row("t", 0, record_entry(1, b"", timestamp_ms=-1))
    assert row == b'"t",0,1,-1,"CreateTime",,,,"text","",\r\n'


def test_names_of_columns() -> None:
    assert csv_header().decode().strip().split(",") == list(CSV_COLUMNS)


@pytest.mark.parametrize("record", HOSTILE_RECORDS, ids=lambda record: record.what)
def test_hostile_records(record: Any) -> None:
    entry = record_entry(1, record.value, key=record.key, headers=record.headers)
    assert payload_of(json.loads(json_line("hostile", 0, entry))["value"]) == record.value
    assert not cells(csv_row("hostile", 0, entry))["key"].startswith("=")


@pytest.mark.parametrize(("name", "safe"), [("orders.v1", "orders.v1"), ('a/b\r\n"c', "a_b___c"), ("ü", "_")])
def test_file_names(name: str, safe: str) -> None:
    assert safe_file_name(name) == safe
