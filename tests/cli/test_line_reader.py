"""Reading records from lines, and printing them: tables and a round trip. No process, no broker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.cli.commands.configs import split_list
from tidelog.cli.line_reader import InvalidReaderProperty, UnreadableLine, make_line_reader
from tidelog.cli.output import columns
from tidelog.cli.record_format import InvalidFormat, make_formatter
from tidelog.client.consumer.fetched import ConsumerRecord

BOTH = {"parse.key": "true", "parse.headers": "true"}


@pytest.mark.parametrize(
    ("properties", "line", "expected"),
    [
        ({}, b"a\tb", (None, b"a\tb", ())),
        ({}, b"", (None, b"", ())),
        ({"parse.key": "true"}, b"k\tv\tw", (b"k", b"v\tw", ())),
        ({"parse.key": "true", "key.separator": "::"}, b"a:b::c", (b"a:b", b"c", ())),
        ({"parse.key": "true", "key.separator": "\\t"}, b"k\tv", (b"k", b"v", ())),
        (BOTH, b"h:1,i:2\tk\tv", (b"k", b"v", (("h", b"1"), ("i", b"2")))),
        (BOTH, b"\tk\tv", (b"k", b"v", ())),
        ({"parse.headers": "true"}, b"h:1:2\tv", (None, b"v", (("h", b"1:2"),))),
        (
            {"parse.headers": "true", "headers.delimiter": "|", "headers.separator": "&", "headers.key.separator": "="},
            b"h=1&i=|v|w",
            (None, b"v|w", (("h", b"1"), ("i", b""))),
        ),
        ({**BOTH, "null.marker": "NULL"}, b"NULL\tNULL\tNULL", (None, None, ())),
        ({**BOTH, "null.marker": "NULL"}, b"h:NULL\tk\tv", (b"k", b"v", (("h", None),))),
        ({"parse.key": "true", "ignore.error": "true"}, b"no key", (None, b"no key", ())),
        ({"parse.headers": "true", "ignore.error": "true"}, b"h\tv", (None, b"v", (("h", None),))),
        ({"parse.key": "TRUE "}, b"k\tv", (b"k", b"v", ())),
        ({"parse.key": "true"}, b"\xff\t\xfe", (b"\xff", b"\xfe", ())),
    ],
)
def test_lines(properties: dict[str, str], line: bytes, expected: tuple[object, ...]) -> None:
    parsed = make_line_reader(properties).parse(line, 1)
    assert (parsed.key, parsed.value, parsed.headers) == expected


@pytest.mark.parametrize(
    ("properties", "line", "said"),
    [
        ({"parse.key": "true"}, b"none", "line 7 has no '\\t' after its key: 'none'"),
        ({"parse.headers": "true"}, b"none", "line 7 has no '\\t' after its headers"),
        ({"parse.headers": "true"}, b"h\tv", "line 7 has a header without ':': 'h'"),
        ({"parse.headers": "true", "null.marker": "N"}, b"N:1\tv", "whose name is the null marker"),
    ],
)
def test_lines_without_their_parts(properties: dict[str, str], line: bytes, said: str) -> None:
    with pytest.raises(UnreadableLine) as refused:
        make_line_reader(properties).parse(line, 7)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"parse.keys": "true"}, "parse.keys is not a property of the line reader; did you mean parse.key?"),
        ({"headers.separator": ":"}, "headers.separator and headers.key.separator are both ':'"),
        ({"headers.delimiter": ","}, "headers.delimiter and headers.separator are both ','"),
        ({"null.marker": "\t"}, "null.marker and key.separator are both '\\t'"),
        ({"key.separator": ""}, "key.separator is empty"),
    ],
)
def test_properties_that_contradict_each_other(properties: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidReaderProperty) as refused:
        make_line_reader(properties)
    assert said in str(refused.value)


RECORD = ConsumerRecord("t", 2, 41, 1700, 1, b"k", b"v", (("a", b"1"), ("b", None)), 3)


@pytest.mark.parametrize(
    ("properties", "printed"),
    [
        ({}, b"v\n"),
        ({"print.key": "true", "key.separator": "="}, b"k=v\n"),
        ({"print.value": "false", "print.offset": "true"}, b"Offset:41\n"),
        ({"print.headers": "true", "headers.separator": ";", "null.literal": "-"}, b"a:1;b:-\tv\n"),
        ({"print.timestamp": "true", "print.partition": "true"}, b"LogAppendTime:1700\tPartition:2\tv\n"),
        ({"print.epoch": "true", "line.separator": "\\n\\n"}, b"Epoch:3\tv\n\n"),
        ({"key.deserializer": "org.example.Any"}, b"v\n"),
    ],
)
def test_printed_columns(properties: dict[str, str], printed: bytes) -> None:
    assert make_formatter("default", properties)(RECORD) == printed


def test_nulls_and_missing_timestamps_are_printed_as_words() -> None:
    record = RECORD._replace(key=None, value=None, headers=(), timestamp_ms=-1)
    shown = {f"print.{name}": "true" for name in ("timestamp", "headers", "key")}
    assert make_formatter("default", shown)(record) == b"NO_TIMESTAMP\tNO_HEADERS\tnull\tnull\n"


def test_unknown_formats_are_named() -> None:
    with pytest.raises(
        InvalidFormat, match=r"print\.keys is not a property of the formatter; did you mean print\.key\?"
    ):
        make_formatter("default", {"print.keys": "true"})
    with pytest.raises(InvalidFormat, match="there is no formatter 'xml'"):
        make_formatter("xml", {})


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r,:"), min_size=1)


@given(key=_TEXT, value=_TEXT, headers=st.lists(st.tuples(_TEXT, _TEXT), min_size=1, max_size=3))
def test_what_is_printed_can_be_read_again(key: str, value: str, headers: list[tuple[str, str]]) -> None:
    pairs = tuple((name, content.encode()) for name, content in headers)
    record = RECORD._replace(key=key.encode(), value=value.encode(), headers=pairs)
    line = make_formatter("default", {"print.key": "true", "print.headers": "true"})(record)
    parsed = make_line_reader(BOTH).parse(line.removesuffix(b"\n"), 1)
    assert (parsed.key, parsed.value, parsed.headers) == (record.key, record.value, record.headers)


def test_lists_in_brackets() -> None:
    assert split_list("a=1, b=[x,y] ,c=") == {"a": "1", "b": "x,y", "c": ""}
    assert split_list("a=[]") == {"a": ""}
    assert split_list("") == {}


def test_columns_are_as_wide_as_they_have_to_be() -> None:
    assert columns(("A", "B"), [("long", 1), ("x", 22)], least=(2, 0)) == ["A    B", "long 1", "x    22"]
