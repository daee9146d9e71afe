"""JSON as it is written. No I/O.

What is shown has the same tokens in the same order as what was stored: numbers keep all their digits, names that come
twice are there twice, escapes stay escapes. Nothing here recurses, so depth is no danger.

Where a value at a path is wanted, for a filter, the standard library reads the document; numbers stay text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

# Deeper documents, and those that would get larger than this by their indentation, are shown as they are.
MOST_DEPTH = 32
MOST_CHARACTERS = 1 << 20
_INDENT = "  "

_TOKEN = re.compile(
    r"""(?P<space>[\ \t\r\n]*+)
    (?:(?P<string>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")
    |(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)
    |(?P<word>true|false|null)
    |(?P<mark>[\[\]{},:]))""",
    re.VERBOSE,
)
_SPACE = re.compile(r"[ \t\r\n]*+")
# The beginning of a token that goes on behind the end.
_BEGUN = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+\\?|[-+.0-9eE]+|[a-z]{1,5}')
_STEP = re.compile(r"""\.?(?:([^.\[\]"]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\])""")
_CLOSES = {"}": "{", "]": "["}


class NotJson(ValueError):
    """Says where, and what was expected there."""


class _JsonToken(NamedTuple):
    text: str
    # Whether it is a value that has no parts.
    is_scalar: bool
    is_name: bool


class NumberText(str):
    """A number with all the digits that it was written with."""

    __slots__ = ()


def check(text: str) -> None:
    """Raises NotJson unless it is one whole document."""
    for _ in _tokens(text, is_cut=False):
        pass


def looks_like_document(text: str) -> bool:
    """Whether it begins as an object or a list. Single numbers and words are JSON too, and look the same as text."""
    return text.lstrip(" \t\r\n")[:1] in ("{", "[")


def laid_out(text: str, *, is_cut: bool = False) -> str | None:
    """One member in each line. None if it is too deep for that, or would be too large. Raises NotJson.

    Of text that was cut, its end is not held against it.
    """
    lines: list[str] = []
    depth = size = 0
    before = ""
    for token in _tokens(text, is_cut=is_cut):
        mark = "" if token.is_scalar or token.is_name else token.text
        if mark in ("}", "]"):
            depth -= 1
            # An empty one stays in its line.
            separator = "" if _CLOSES[mark] == before else "\n" + _INDENT * depth
        elif mark in (",", ":") or not before:
            separator = ""
        elif before == ":":
            separator = " "
        else:
            separator = "\n" + _INDENT * depth
        lines += (separator, token.text)
        size += len(separator) + len(token.text)
        if mark in ("{", "["):
            depth += 1
        if depth > MOST_DEPTH or size > MOST_CHARACTERS:
            return None
        before = mark or "scalar"
    return "".join(lines)


def in_one_line(text: str, *, is_cut: bool = False) -> str:
    """Without the space between its tokens, but for one behind commas and colons. Raises NotJson."""
    return "".join(
        token.text if token.is_scalar or token.is_name or token.text not in ",:" else token.text + " "
        for token in _tokens(text, is_cut=is_cut)
    )


def _tokens(text: str, *, is_cut: bool) -> Iterator[_JsonToken]:
    """In their order, as the grammar has it."""
    # The open objects and lists, and what may come next: value, name, end (of one that is empty), comma or colon.
    opened: list[str] = []
    wanted = {"value"}
    position = 0
    while wanted:
        found = _TOKEN.match(text, position)
        if is_cut and (found is None or (found["number"] and _BEGUN.fullmatch(text, found.start("number")))):
            # The end of the last token may be behind the cut, and so may more of a number.
            yield from _begun_token(text, position, wanted)
            return
        if found is None:
            raise _problem(text, _behind_space(text, position), wanted)
        token, wanted = _step(text, found, opened, wanted)
        yield token
        position = found.end()
    end = _behind_space(text, position)
    if end < len(text):
        raise _problem(text, end, {"the end"})


def _begun_token(text: str, position: int, wanted: set[str]) -> Iterator[_JsonToken]:
    start = _behind_space(text, position)
    if start == len(text):
        return
    is_possible = "value" in wanted or (text[start] == '"' and "name" in wanted)
    if not is_possible or not _BEGUN.fullmatch(text, start):
        raise _problem(text, start, wanted)
    yield _JsonToken(text[start:], "value" in wanted, "value" not in wanted)


def _behind_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    assert found is not None
    return found.end()


def _step(text: str, found: re.Match[str], opened: list[str], wanted: set[str]) -> tuple[_JsonToken, set[str]]:
    """The token, and what may come behind it; nothing behind the end of the document."""
    mark = found["mark"]
    start = found.end("space")
    if found["string"] is not None and "name" in wanted:
        return _JsonToken(found["string"], False, True), {"colon"}
    if mark is None:
        if "value" not in wanted:
            raise _problem(text, start, wanted)
        return _JsonToken(text[start : found.end()], True, False), _behind_value(opened)
    token = _JsonToken(mark, False, False)
    if mark in "{[" and "value" in wanted:
        opened.append(mark)
        return token, {"name", "end"} if mark == "{" else {"value", "end"}
    if mark in "}]" and "end" in wanted and opened and opened[-1] == _CLOSES[mark]:
        opened.pop()
        return token, _behind_value(opened)
    if mark == "," and "comma" in wanted:
        return token, {"name"} if opened[-1] == "{" else {"value"}
    if mark == ":" and "colon" in wanted:
        return token, {"value"}
    raise _problem(text, start, wanted)


def _behind_value(opened: list[str]) -> set[str]:
    return {"comma", "end"} if opened else set()


_WORDS = {
    "value": "a value",
    "name": "a name in quotation marks",
    "end": "the end of the object or list",
    "comma": "a comma",
    "colon": "a colon",
    "the end": "the end of the document",
}


def _problem(text: str, position: int, wanted: set[str]) -> NotJson:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    expected = " or ".join(word for kind, word in _WORDS.items() if kind in wanted)
    there = f"{text[position]!r} is there" if position < len(text) else "the text ends there"
    return NotJson(f"line {line}, column {column}: {expected} is expected, but {there}")


# -- values at a path ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=100)
def parse_path(text: str) -> tuple[str | int, ...]:
    """`order.items[0]["unit price"]`, with or without `$.` in front. Raises ValueError with a sentence."""
    rest = text.strip()
    rest = rest[1:] if rest.startswith("$") else rest
    steps: list[str | int] = []
    position = 0
    while position < len(rest):
        found = _STEP.match(rest, position)
        if found is None:
            raise ValueError(
                f'{text!r} is not a path into JSON: at {rest[position:]!r} a name, [number] or ["name"] is expected, '
                'as in order.items[0]["unit price"]'
            )
        name, index, quoted = found.groups()
        steps.append(int(index) if index is not None else name if name is not None else re.sub(r"\\(.)", r"\1", quoted))
        position = found.end()
    return tuple(steps)


def text_at(document: str, path: tuple[str | int, ...]) -> str | None:
    """What stands at the path: a string without its quotation marks, a number as written, else JSON in one line.

    None if there is nothing, or it is not JSON. Of a name that comes twice the last one counts, as for most readers.
    """
    found = _values_at(document, path)
    if not found or isinstance(found[0], str):
        return found[0] if found else None
    try:
        return _one_line(found[0])
    except RecursionError:
        return None


def is_null_at(document: str, path: tuple[str | int, ...]) -> bool:
    """Whether null or nothing stands at the path; nothing does in what is not JSON."""
    found = _values_at(document, path)
    return not found or found[0] is None


def _values_at(document: str, path: tuple[str | int, ...]) -> tuple[Any, ...]:
    """One, or none."""
    try:
        value = json.loads(document, parse_float=NumberText, parse_int=NumberText, parse_constant=_refuse)
    except (ValueError, RecursionError):
        # Python reads up to a depth of about a thousand.
        return ()
    for step in path:
        has_it = step < len(value) if isinstance(value, list) and isinstance(step, int) else False
        if has_it or (isinstance(value, dict) and step in value):
            value = value[step]
        else:
            return ()
    return (value,)


def _refuse(word: str) -> None:
    raise NotJson(f"{word} is not JSON")


def _one_line(value: Any) -> str:
    if isinstance(value, NumberText):
        return value
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{_one_line(each)}" for name, each in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(_one_line, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
