"""Nothing in a record is invisible, and nothing of it is lost."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.console.findings.visible_text import decoded, is_utf8, shown_name, unseen_count, visible


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("plain", ["plain"]),
        ("", [""]),
        ("a\tb\nc", ["a\tb\nc"]),
        ("a\rb", ["a", "\\r", "b"]),
        ("\x00", ["", "\\x00", ""]),
        ("\x1b[31m", ["", "\\x1b", "[31m"]),
        ("pay \u202e001\u202c", ["pay ", "U+202E", "001", "U+202C", ""]),
        ("\u200bA\ufeff", ["", "U+200B", "A", "U+FEFF", ""]),
        ("\x01\x02", ["", "\\x01\\x02", ""]),
        ("\x00" * 500, ["", "\\x00×500", ""]),
        ("\u2028", ["", "U+2028", ""]),
        ("\U000e0041", ["", "U+E0041", ""]),
        ("grüße 日本 😀", ["grüße 日本 😀"]),
        ("U+202E", ["U+202E"]),
    ],
)
def test_characters_that_nobody_would_see_become_marks(text: str, pieces: list[str]) -> None:
    assert visible(text) == (pieces, len(text))


def test_in_one_line_tabs_and_line_ends_are_marks() -> None:
    assert visible("a\tb\r\nc", in_one_line=True).pieces == ["a", "\\t", "b", "\\r\\n", "c"]
    assert shown_name("x\n") == ["x", "\\n", ""]


@pytest.mark.parametrize(
    ("data", "pieces"),
    [
        (b"before \xc3\x28 after", ["before ", "\\xc3", "( after"]),
        (b"\xed\xa0\x80", ["", "\\xed\\xa0\\x80", ""]),
        (b"\xff\xfe", ["", "\\xff\\xfe", ""]),
    ],
)
def test_bytes_that_are_not_utf8_are_named(data: bytes, pieces: list[str]) -> None:
    assert not is_utf8(data)
    assert visible(decoded(data)).pieces == pieces


def test_half_a_character_at_a_cut_is_left_out() -> None:
    whole = "grüß".encode()
    assert decoded(whole[:-1], is_cut=True) == "grü"
    assert visible(decoded(whole[:-1])).pieces == ["grü", "\\xc3", ""]


def test_too_many_marks_end_the_text() -> None:
    found = visible("a\x00" * 50, most_marks=3)
    assert found.pieces == ["a", "\\x00", "a", "\\x00", "a", "\\x00", "a"]
    assert found.used == 7


@given(st.text())
def test_what_is_shown_as_it_is_has_no_character_of_control_or_format(text: str) -> None:
    pieces = visible(text, in_one_line=True, most_marks=len(text)).pieces
    shown = "".join(pieces[::2])
    assert not [each for each in shown if unicodedata.category(each) in ("Cc", "Zl", "Zp", "Cs")]
    assert not set(shown) & set("\u200b\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
    assert unseen_count(shown) == 0


@given(st.binary())
def test_every_byte_is_in_some_piece(data: bytes) -> None:
    text = decoded(data)
    pieces = visible(text, most_marks=len(data) + 1).pieces
    assert len(pieces) % 2 == 1
    rest = text
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            assert rest.startswith(piece)
            rest = rest[len(piece) :]
        else:
            rest = rest[1:] if index + 1 == len(pieces) else _after_marks(rest, pieces[index + 1])
    assert rest == ""


def _after_marks(rest: str, following: str) -> str:
    """Behind the marked characters: there are as many as it takes."""
    count = 0
    while count < len(rest) and unseen_count(rest[count]):
        count += 1
    assert count
    return rest[count:]
