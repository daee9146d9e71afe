"""A record as somebody has written it down, and its bytes."""

from __future__ import annotations

from typing import Any

import pytest

from tidelog.console.findings.record_drafts import MOST_HEADERS, BadDraft, RecordDraft, read_draft


def draft(**fields: Any) -> RecordDraft:
    return read_draft({"topic": "orders", **fields})


def test_nothing_but_a_topic_is_a_record_without_key_and_value() -> None:
    assert draft() == RecordDraft(topic="orders", partition=None, key=None, value=None, headers=(), timestamp_ms=None)


def test_all_of_it() -> None:
    found = draft(
        partition=2,
        key={"encoding": "text", "text": "k"},
        value={"encoding": "json", "text": '{"id": 9007199254740993}'},
        headers=[{"name": "h", "encoding": "hex", "text": "00ff"}, {"name": "h", "encoding": "null"}],
        timestamp_ms=5,
    )
    assert found.partition == 2
    assert found.key == b"k"
    assert found.value == b'{"id": 9007199254740993}', "numbers are not read and written again"
    assert found.headers == (("h", b"\x00\xff"), ("h", None))
    assert found.timestamp_ms == 5


@pytest.mark.parametrize(
    ("encoding", "text", "data"),
    [
        ("text", "grüße\n", "grüße\n".encode()),
        ("text", "", b""),
        ("null", "ignored", None),
        ("json", " [1,\n2] ", b" [1,\n2] "),
        ("hex", "00 FF\n7f", b"\x00\xff\x7f"),
        ("hex", "0x2a", b"\x2a"),
        ("hex", "", b""),
        ("base64", "AP8=", b"\x00\xff"),
        ("base64", "AP8", b"\x00\xff"),
        ("base64", "_-8", b"\xff\xef"),
        ("base64", "", b""),
    ],
)
def test_encodings(encoding: str, text: str, data: bytes | None) -> None:
    assert draft(value={"encoding": encoding, "text": text}).value == data
    assert draft(key={"encoding": encoding, "text": text}).key == data


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"topic": ""}, "the record has no topic"),
        ({"topic": 5}, "the record has no topic"),
        ({"partition": -1}, "partition must be a number from 0 on, not -1"),
        ({"partition": "0"}, "partition must be a number"),
        ({"partition": True}, "partition must be a number"),
        ({"timestamp_ms": 1 << 63}, "timestamp_ms must be a number"),
        ({"timestamp_ms": 1.5}, "timestamp_ms must be a number"),
        ({"value": {"encoding": "json", "text": "{a}"}}, "the value is not JSON: line 1, column 2"),
        ({"value": {"encoding": "json", "text": ""}}, "the value is not JSON: line 1, column 1"),
        ({"key": {"encoding": "hex", "text": "0g"}}, "the key is not hex: behind 0 bytes come '0g'"),
        ({"key": {"encoding": "hex", "text": "ab c"}}, "the key is not hex: behind 1 bytes come 'c'"),
        ({"value": {"encoding": "base64", "text": "?"}}, "the value is not base64"),
        ({"value": {"encoding": "base64", "text": "A"}}, "the value is not base64"),
        (
            {"value": {"encoding": "avro", "text": ""}},
            "encoding 'avro'; it must be one of null, text, json, hex, base64",
        ),
        ({"value": {"text": 5}}, "the value must be text"),
        ({"value": "text"}, "the value must be an object"),
        ({"value": {"text": "\ud800"}}, "the value has half a surrogate pair at character 1"),
        ({"headers": {"a": "b"}}, "headers must be a list"),
        ({"headers": [{}] * (MOST_HEADERS + 1)}, f"headers must be a list of at most {MOST_HEADERS}"),
        ({"headers": [{"name": "a"}, {"text": "b"}]}, "header 2 has no name"),
        ({"headers": [{"name": "\udfff"}]}, "the name of header 1 has half a surrogate pair"),
        ({"headers": [{"name": "a", "encoding": "hex", "text": "x"}]}, "the value of header 1 is not hex"),
    ],
)
def test_problems_are_sentences(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadDraft) as raised:
        draft(**fields)
    assert problem in str(raised.value)


@pytest.mark.parametrize("document", [None, [], "x", 5])
def test_what_is_no_object_is_no_record(document: object) -> None:
    with pytest.raises(BadDraft, match="the record must be an object"):
        read_draft(document)
