"""JSON is shown with the tokens that it has, or it is not JSON."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.console.findings.json_text import (
    MOST_DEPTH,
    NotJson,
    check,
    in_one_line,
    laid_out,
    looks_like_document,
    parse_path,
    text_at,
)

SPACE_OUTSIDE_STRINGS = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(), parts, max_size=4),
    max_leaves=20,
)


def without_space(text: str) -> str:
    return SPACE_OUTSIDE_STRINGS.sub(lambda found: found[1] or "", text)


def test_layout() -> None:
    assert laid_out('{"a":[],"b":{},"c":[1,{"x":null}],"d":"e"}') == (
        '{\n  "a": [],\n  "b": {},\n  "c": [\n    1,\n    {\n      "x": null\n    }\n  ],\n  "d": "e"\n}'
    )


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",
        "0.10000000000000000555",
        "1e-400",
        "1E+400",
        "-0.0",
        "9" * 10_000,
        '"\\ud800"',
        '{"a":1,"a":2}',
        '{"__proto__":{"x":1}}',
        '"<script>"',
    ],
)
def test_tokens_stay_as_they_are_written(text: str) -> None:
    assert without_space(laid_out(text) or "") == text
    assert without_space(in_one_line(text)) == text


@given(documents)
def test_layouts_have_the_tokens_of_the_document(document: object) -> None:
    text = json.dumps(document)
    check(text)
    shown = laid_out(text)
    assert shown is not None
    assert without_space(shown) == without_space(text)
    assert without_space(in_one_line(text)) == without_space(text)
    assert shown == json.dumps(json.loads(text), indent=2) or any(each in text for each in ("[]", "{}", "e"))


@given(st.text(max_size=30) | documents.map(json.dumps).map(lambda text: text[: len(text) // 2]))
def test_it_refuses_what_python_refuses(text: str) -> None:
    """Of which NaN and Infinity are not JSON, and neither are other spaces."""
    try:
        json.loads(text, parse_constant=_refuse)
        is_json = True
    except (ValueError, RecursionError):
        is_json = False
    try:
        check(text)
        assert is_json
    except NotJson:
        assert not is_json


def _refuse(word: str) -> None:
    raise ValueError(word)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1, column 1: a value is expected, but the text ends there"),
        ("[NaN]", "line 1, column 2: a value or the end of the object or list is expected, but 'N' is there"),
        ('{"a": 1,}', "line 1, column 9: a name in quotation marks is expected, but '}' is there"),
        ("{a: 1}", "line 1, column 2: a name in quotation marks or the end of the object or list is expected"),
        ("[1\n 2]", "line 2, column 2: the end of the object or list or a comma is expected, but '2' is there"),
        ("[1]]", "line 1, column 4: the end of the document is expected, but ']' is there"),
        ("[1}", "line 1, column 3"),
        ("01", "line 1, column 2"),
        ("1.", "line 1, column 2"),
        ('"a\nb"', "line 1, column 1: a value is expected"),
        ('"\\x"', "line 1, column 1"),
        ("\u0661", "line 1, column 1"),
        ("[1,\xa02]", "line 1, column 4"),
    ],
)
def test_problems_say_where(text: str, problem: str) -> None:
    with pytest.raises(NotJson) as raised:
        check(text)
    assert problem in str(raised.value)


@given(documents.map(lambda document: json.dumps([document])), st.integers(min_value=1))
def test_a_cut_document_is_shown_up_to_the_cut(text: str, place: int) -> None:
    cut = text[: 1 + place % len(text)]
    shown = laid_out(cut, is_cut=True)
    assert shown is not None
    assert without_space(cut).startswith(without_space(shown).rstrip())


@pytest.mark.parametrize("cut", ['{"a": tr', '{"a": "b\\', '{"a": "b\\u00', '{"a": -', '{"a": 1e', '{"a": "\\"x', "["])
def test_tokens_may_be_cut(cut: str) -> None:
    assert laid_out(cut, is_cut=True) is not None
    with pytest.raises(NotJson):
        laid_out(cut)


@pytest.mark.parametrize("cut", ['{"a" "b', "[1 2", "{]", '["a\n'])
def test_what_is_wrong_before_the_cut_is_wrong(cut: str) -> None:
    with pytest.raises(NotJson):
        laid_out(cut, is_cut=True)


def test_depth_is_no_danger() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    check(deep)
    assert laid_out(deep) is None
    assert laid_out("[" * MOST_DEPTH + "]" * MOST_DEPTH) is not None
    assert in_one_line(deep) == deep
    assert text_at(deep, (0,)) is None


def test_what_would_get_too_large_is_not_laid_out() -> None:
    nested = "[" * (MOST_DEPTH - 1) + ",".join(["1"] * 30_000) + "]" * (MOST_DEPTH - 1)
    assert laid_out(nested) is None


@pytest.mark.parametrize(
    ("text", "is_document"), [("{}", True), (" [1", True), ("1", False), ('"a"', False), ("", False), ("true", False)]
)
def test_what_looks_like_a_document(text: str, is_document: bool) -> None:
    assert looks_like_document(text) is is_document


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("order", ("order",)),
        ("$.order.items[0].article", ("order", "items", 0, "article")),
        ("$", ()),
        ('["unit price"].x', ("unit price", "x")),
        ('["a\\"b"]', ('a"b',)),
        ("[12]", (12,)),
        (" a.b ", ("a", "b")),
    ],
)
def test_paths(path: str, steps: tuple[str | int, ...]) -> None:
    assert parse_path(path) == steps


@pytest.mark.parametrize("path", ["a..b", "a[", "a[x]", "a]", "a[-1]", "."])
def test_wrong_paths_are_refused_with_an_example(path: str) -> None:
    with pytest.raises(ValueError, match="is not a path into JSON"):
        parse_path(path)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("id", "9007199254740993"),
        ("price", "1.10"),
        ("name", "Ann"),
        ("items[1].n", "2e400"),
        ("items", '[{"n":1},{"n":2e400}]'),
        ("none", "null"),
        ("yes", "true"),
        ("object", '{"ü":"x"}'),
        ("twice", "2"),
        ("missing", None),
        ("items[9]", None),
        ("items.n", None),
        ("id.x", None),
    ],
)
def test_text_at_a_path(path: str, found: str | None) -> None:
    document = (
        '{"id": 9007199254740993, "price": 1.10, "name": "Ann", "items": [{"n": 1}, {"n": 2e400}], "none": null,'
        ' "yes": true, "object": {"ü": "x"}, "twice": 1, "twice": 2}'
    )
    assert text_at(document, parse_path(path)) == found


@pytest.mark.parametrize("document", ["not JSON", "[NaN]", "", "{"])
def test_there_is_nothing_at_a_path_of_what_is_not_json(document: str) -> None:
    assert text_at(document, ()) is None
