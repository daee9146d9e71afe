"""Java's .properties format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.config.definitions import InvalidConfig
from tidelog.config.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b c ", {"a": "b c "}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a\t=\tb", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a==b", {"a": "=b"}),
        ("a = : b", {"a": ": b"}),
        ("# x=1\n! y=2\n  # z=3\n\na=1", {"a": "1"}),
        ("a=1\r\nb=2\rc=3\n", {"a": "1", "b": "2", "c": "3"}),
        ("a=1,\\\n    2,\\\n  3\nb=4", {"a": "1,2,3", "b": "4"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n# not a comment\nb=2", {"a": "1# not a comment", "b": "2"}),
        ("\\\na=1", {"a": "1"}),
        ("a=1\\", {"a": "1"}),
        ("# comments do not continue \\\na=1", {"a": "1"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("a\\ b=c", {"a b": "c"}),
        ("a=\\u0041\\t\\n\\q", {"a": "A\t\nq"}),
        ("a=\\ud83d\\ude00", {"a": "\N{GRINNING FACE}"}),
        ("listeners=PLAINTEXT://:9092", {"listeners": "PLAINTEXT://:9092"}),
        ("a=\u2028b", {"a": "\u2028b"}),
        ("", {}),
    ],
)
def test_files_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a=1\nb=\\u00g0", "line 2: a backslash with u is not an escape there"),
        ("a=\\u12", "line 1: a backslash with u is not an escape there"),
        ("=1", "line 1 has no name before the separator"),
        ("a=1\n\na=2", "line 3: a is already set on line 1"),
        ("# c\na=1\\\n2\n\na=3", "line 5: a is already set on line 2"),
    ],
)
def test_errors_name_the_line(text: str, problem: str) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        parse_properties(text)


def _escape(text: str) -> str:
    """As java.util.Properties.store writes it."""
    out = []
    for letter in text:
        if letter in "\\=:#! ":
            out.append("\\" + letter)
        elif letter in "\t\n\r\f":
            out.append({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}[letter])
        else:
            out.append(letter)
    return "".join(out)


words = st.text(st.characters(codec="utf-8"), min_size=1)


@given(st.dictionaries(words, st.text(st.characters(codec="utf-8"))))
def test_whatever_is_written_with_escapes_is_read_back(properties: dict[str, str]) -> None:
    text = "\n".join(f"{_escape(name)}={_escape(value)}" for name, value in properties.items())
    assert parse_properties(text) == properties


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    problem = ""
    try:
        parse_properties(text)
    except InvalidConfig as error:
        problem = str(error)
    assert not problem or problem.startswith("line ")
