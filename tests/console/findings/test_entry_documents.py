"""Rows and details of entries."""

from __future__ import annotations

from typing import Any

import pytest
from support.console_content import HOSTILE_RECORDS
from support.log_entries import marker_entry, record_entry

from tidelog.client.browsing import Entry, Gap, TransactionOutcome, Unreadable
from tidelog.console.findings.entry_documents import DETAIL_BYTES, MOST_HEADERS, ROW_BYTES, details_of, row_of
from tidelog.console.findings.payload_forms import Form
from tidelog.console.replies import encoded
from tidelog.coordinators.groups.records import encode_record, offset_tombstone
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC


def row(entry: Entry, topic: str = "orders") -> dict[str, Any]:
    return row_of(topic, 2, entry, Form.AUTO)


def details(entry: Any, topic: str = "orders") -> dict[str, Any]:
    return details_of(topic, 2, entry, Form.AUTO)


def test_rows_of_what_is_no_record() -> None:
    assert row(Gap(offset=17, last_offset=42)) == {"partition": 2, "offset": 17, "kind": "gap", "last_offset": 42}
    unreadable = row(Unreadable(offset=3, last_offset=5, reason="the batch does not match its checksum"))
    assert (unreadable["kind"], unreadable["reason"]) == ("unreadable", "the batch does not match its checksum")
    assert unreadable["damaged"]
    assert not row(Unreadable(offset=3, last_offset=5, reason="it is too large", is_damaged=False))["damaged"]
    control = row(marker_entry(9, "ABORT", timestamp_ms=5))
    assert (control["kind"], control["type"], control["producer_id"], control["time_ms"]) == ("control", "ABORT", 7, 5)


def test_a_row_has_a_beginning_of_the_value_and_its_size() -> None:
    shown = row(record_entry(1, b"x" * 5000, headers=(("a", b"b"),), outcome=TransactionOutcome.OPEN))
    assert (shown["value"]["shown"], shown["value"]["size"]) == (ROW_BYTES, 5000)
    assert (shown["headers"], shown["outcome"], shown["key"]["form"]) == (1, "open", "null")


def test_details() -> None:
    entry = record_entry(
        1, b'{"a":1}', key=b"k", headers=(("h", b"v"),), producer_id=4, log_append_time=True, compression=4
    )
    shown = details(entry)
    assert shown["sizes"] == {"key": 1, "value": 7, "headers": 2}
    assert (shown["compression"], shown["append_time"], shown["producer_id"]) == ("zstd", True, 4)
    assert shown["value"]["pieces"] == ['{\n  "a": 1\n}']
    assert shown["headers"][0]["name"] == ["h"]
    assert shown["readable"] is None


def test_details_are_bounded() -> None:
    entry = record_entry(1, b"x" * 1_000_000, headers=tuple((f"{n}" * 500, b"y" * 9000) for n in range(300)))
    shown = details(entry)
    assert shown["value"]["shown"] == DETAIL_BYTES
    assert (len(shown["headers"]), shown["header_count"]) == (MOST_HEADERS, 300)
    assert all(each["value"]["shown"] == 4096 for each in shown["headers"])
    assert len(encoded(shown)) < 1 << 20


def test_names_of_headers_are_made_visible_and_cut() -> None:
    shown = details(record_entry(1, headers=(("\u202ex", b""), ("n" * 5000, None))))
    assert shown["headers"][0]["name"] == ["", "U+202E", "x"]
    assert shown["headers"][1]["name_cut"]


@pytest.mark.parametrize("record", HOSTILE_RECORDS, ids=lambda record: record.what)
def test_hostile_records_are_small_documents(record: Any) -> None:
    entry = record_entry(1, record.value, key=record.key, headers=record.headers)
    assert len(encoded(row(entry))) < 20_000
    assert len(encoded(details(entry))) < 2_000_000


def test_records_of_coordinators_have_a_sentence() -> None:
    key, value = encode_record(offset_tombstone("billing\n", "orders", 2))
    shown = row(record_entry(1, value, key=key), CONSUMER_OFFSETS_TOPIC)
    assert (shown["key"], shown["value"]) == (None, None)
    assert "".join(shown["readable"]["summary"]) == "the offset of group billing\\n for orders-2 is deleted"
    full = details(record_entry(1, value, key=key), CONSUMER_OFFSETS_TOPIC)
    assert full["readable"]["group"] == "billing\n"
    assert full["readable"]["value"]["form"] == "null"
    assert full["key"]["size"] == len(key), "the bytes are there, too"


def test_records_that_cannot_be_read_are_shown_as_bytes() -> None:
    entry = record_entry(1, b"v", key=b"\x00\x63")
    shown = row(entry, CONSUMER_OFFSETS_TOPIC)
    assert shown["readable"]["type"] is None
    assert shown["value"]["pieces"] == ["v"]
    assert "not known" in "".join(details(entry, CONSUMER_OFFSETS_TOPIC)["readable"]["summary"])


def test_long_names_are_cut_in_sentences() -> None:
    key, value = encode_record(offset_tombstone("g" * 5000, "orders", 2))
    shown = row(record_entry(1, value, key=key), CONSUMER_OFFSETS_TOPIC)
    assert len("".join(shown["readable"]["summary"])) < 500
