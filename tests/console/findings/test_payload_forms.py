"""The form in which bytes are shown, and how much of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.console_content import HOSTILE_RECORDS

from tidelog.console.findings.payload_forms import Form, in_full, in_line, schema_id
from tidelog.console.replies import encoded

MANY = 1 << 20


def shown(document: dict[str, Any]) -> str:
    return "".join(document["pieces"])


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (None, "null"),
        (b"", "empty"),
        (b"text", "text"),
        ("grüße".encode(), "text"),
        (b"42", "text"),
        (b'"quoted"', "text"),
        (b'{"a": 1}', "json"),
        (b" [1, 2]", "json"),
        (b"[NaN]", "text"),
        (b"{not json", "text"),
        (b'{"a": "\xff"}', "text"),
        (b"\xff\xfe", "hex"),
        (bytes(16), "hex"),
        (b"before \xc3\x28 \xed\xa0\x80 \xf8 after", "text"),
        ("pay \u202e001\u202c now".encode(), "text"),
        (b"\x00\x00\x00\x00\x2a\x06foo", "hex"),
        (b'\x00\x00\x00\x00\x2a{"a": 1}', "json"),
    ],
)
def test_automatic_choice(data: bytes | None, form: str) -> None:
    assert in_line(data, Form.AUTO, MANY)["form"] == form
    assert in_full(data, Form.AUTO, MANY)["form"] == form


def test_json_has_a_line_for_each_member_in_full_and_none_in_line() -> None:
    data = b'{"id":  9007199254740993,\n "b": []}'
    assert shown(in_full(data, Form.AUTO, MANY)) == '{\n  "id": 9007199254740993,\n  "b": []\n}'
    assert shown(in_line(data, Form.AUTO, MANY)) == '{"id": 9007199254740993, "b": []}'


def test_json_that_is_not_json_is_text_with_a_reason() -> None:
    document = in_full(b"{a}", Form.JSON, MANY)
    assert (document["form"], shown(document)) == ("text", "{a}")
    assert "This is not JSON: line 1, column 2" in str(document["note"])
    assert in_full(b"{a}", Form.AUTO, MANY)["note"] is None


def test_deep_json_is_shown_as_it_is_written() -> None:
    data = b"[" * 1000 + b"]" * 1000
    document = in_full(data, Form.AUTO, MANY)
    assert shown(document) == data.decode()
    assert "too deeply nested" in str(document["note"])


def test_hex_has_addresses_and_letters() -> None:
    document = in_full(b"<script>\x00\xff" + b"0123456789", Form.HEX, MANY)
    assert shown(document) == (
        "00000000  3c 73 63 72 69 70 74 3e  00 ff 30 31 32 33 34 35  <script>..012345\n"
        "00000010  36 37 38 39                                       6789"
    )
    assert shown(in_line(b"\x00\xff", Form.HEX, MANY)) == "00 ff"


def test_a_line_of_hex_is_short_and_says_how_much_it_shows() -> None:
    document = in_line(bytes(1000), Form.HEX, MANY)
    assert (document["shown"], document["size"]) == (64, 1000)


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("data", [b"x" * 1000, b'{"a": "' + b"y" * 1000, b"\x00\x01" * 500, "ü".encode() * 500])
def test_what_is_cut_says_so(data: bytes, form: Form) -> None:
    for document in (in_line(data, form, 100), in_full(data, form, 100)):
        assert 0 < document["shown"] <= 100  # type: ignore[operator]
        assert document["size"] == len(data)


def test_text_with_too_many_marks_is_cut() -> None:
    data = b"a\x00" * 5000
    document = in_full(data, Form.TEXT, MANY)
    assert document["shown"] == 2001
    assert shown(document).startswith("a\\x00a")


@pytest.mark.parametrize(
    ("data", "number"),
    [
        (b"\x00\x00\x00\x00\x2a" + b"data", 42),
        (b"\x00\x00\x00\x00\x2a", None),
        (b"\x01\x00\x00\x00\x2adata", None),
        (bytes(20), None),
        ((7).to_bytes(8, "big"), None),
        (b"\x00\x1b[31m", None),
        (b"", None),
    ],
)
def test_schema_ids_are_recognized(data: bytes, number: int | None) -> None:
    assert schema_id(data) == number
    assert in_line(data, Form.AUTO, MANY)["schema_id"] == number


def test_data_behind_a_schema_id_is_shown_without_it_but_in_text_and_hex() -> None:
    data = b"\x00\x00\x00\x00\x2a[1]"
    assert shown(in_line(data, Form.AUTO, MANY)) == "[1]"
    assert in_line(data, Form.AUTO, MANY)["shown"] == len(data)
    assert shown(in_line(data, Form.HEX, MANY)) == data.hex(" ")
    assert shown(in_line(data, Form.TEXT, MANY)).endswith("*[1]")


@pytest.mark.parametrize(
    ("data", "number"),
    [
        ((42).to_bytes(4, "big"), "42 as a signed 32-bit number"),
        ((-1).to_bytes(8, "big", signed=True), "-1 as a signed 64-bit number"),
        (b"text", None),
        (b"longtext", None),
        (bytes(5), None),
    ],
)
def test_numbers_of_javas_serializers(data: bytes, number: str | None) -> None:
    assert in_full(data, Form.AUTO, MANY)["number"] == number


@given(st.binary(max_size=300), st.sampled_from(list(Form)), st.integers(1, 400))
def test_whatever_the_bytes_there_is_something_to_show(data: bytes, form: Form, most: int) -> None:
    for document in (in_line(data, form, most), in_full(data, form, most)):
        encoded(document)
        assert 0 <= document["shown"] <= len(data)  # type: ignore[operator]
        assert not any("\ud800" <= each <= "\udfff" for each in shown(document))


@pytest.mark.parametrize("record", HOSTILE_RECORDS, ids=lambda record: record.what)
@pytest.mark.parametrize("form", list(Form))
def test_hostile_records_are_text_of_bounded_size(record: Any, form: Form) -> None:
    for data in (record.key, record.value, *(value for _, value in record.headers)):
        assert len(shown(in_line(data, form, 1024))) < 8000
        assert len(shown(in_full(data, form, 65536))) < 2_000_000
