"""How `tidelog produce` reads a record from a line of text: with or without key and headers. No I/O.

The properties, their defaults and their meaning are those of Kafka's console producer:

    parse.key, key.separator (tab), parse.headers, headers.delimiter (tab), headers.separator (,),
    headers.key.separator (:), null.marker, ignore.error
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from tidelog.config.definitions import unknown_name_problem
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.records.record import Header

_FLAGS = ("ignore.error", "parse.headers", "parse.key")
# With their defaults.
_SEPARATORS = {
    "key.separator": "\t",
    "headers.delimiter": "\t",
    "headers.separator": ",",
    "headers.key.separator": ":",
}
KNOWN_PROPERTIES = (*_FLAGS, *_SEPARATORS, "null.marker")


class UnreadableLine(Exception):
    """A line does not have the parts that it should have."""


class InvalidReaderProperty(Exception):
    """A property does not exist, or contradicts another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedLine:
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReader:
    """The fields are named like the properties, with underscores."""

    parse_key: bool
    key_separator: bytes
    parse_headers: bool
    headers_delimiter: bytes
    headers_separator: bytes
    headers_key_separator: bytes
    null_marker: bytes | None
    ignore_error: bool

    def parse(self, line: bytes, number: int) -> ParsedLine:
        """The record in a line (without its end); `number` is for the error message."""
        rest = line
        headers: tuple[Header, ...] = ()
        key: bytes | None = None
        if self.parse_headers:
            before, found, after = rest.partition(self.headers_delimiter)
            if found:
                headers, rest = self._split_headers(before, number), after
            elif not self.ignore_error:
                raise UnreadableLine(
                    f"line {number} has no {_shown(self.headers_delimiter)} after its headers: {_shown(line)}"
                )
        if self.parse_key:
            before, found, after = rest.partition(self.key_separator)
            if found:
                key, rest = self._unless_null(before), after
            elif not self.ignore_error:
                raise UnreadableLine(f"line {number} has no {_shown(self.key_separator)} after its key: {_shown(line)}")
        return ParsedLine(key=key, value=self._unless_null(rest), headers=headers)

    def _split_headers(self, text: bytes, number: int) -> tuple[Header, ...]:
        if not text or text == self.null_marker:
            return ()
        headers: list[Header] = []
        for pair in text.split(self.headers_separator):
            name, found, value = pair.partition(self.headers_key_separator)
            if not found and not self.ignore_error:
                raise UnreadableLine(
                    f"line {number} has a header without {_shown(self.headers_key_separator)}: {_shown(pair)}"
                )
            if name == self.null_marker:
                raise UnreadableLine(f"line {number} has a header whose name is the null marker: {_shown(pair)}")
            headers.append((name.decode("utf-8", "replace"), self._unless_null(value) if found else None))
        return tuple(headers)

    def _unless_null(self, text: bytes) -> bytes | None:
        return None if text == self.null_marker else text


def make_line_reader(properties: Mapping[str, str]) -> LineReader:
    """A reader from the console producer's properties; raises InvalidReaderProperty."""
    for name in properties:
        if name not in KNOWN_PROPERTIES:
            raise InvalidReaderProperty(unknown_name_problem("the line reader", name, KNOWN_PROPERTIES))

    flags = {name: properties.get(name, "false").strip().lower() == "true" for name in _FLAGS}
    separators = {name: unescape(properties.get(name, default)).encode() for name, default in _SEPARATORS.items()}
    null_marker = properties["null.marker"].encode() if "null.marker" in properties else None
    _refuse_equal(separators, null_marker)
    fields: dict[str, Any] = {name.replace(".", "_"): value for name, value in {**flags, **separators}.items()}
    return LineReader(**fields, null_marker=null_marker)


def _refuse_equal(separators: Mapping[str, bytes], null_marker: bytes | None) -> None:
    for name, value in separators.items():
        if not value:
            raise InvalidReaderProperty(f"{name} is empty")
        if value == null_marker:
            raise InvalidReaderProperty(f"null.marker and {name} are both {_shown(value)}; they must differ")
    # The key's separator may equal the headers' delimiter: they come one after the other.
    of_headers = [item for item in separators.items() if item[0] != "key.separator"]
    for (one, first), (other, second) in itertools.combinations(of_headers, 2):
        if first == second:
            raise InvalidReaderProperty(f"{one} and {other} are both {_shown(first)}; they must differ")


def unescape(text: str) -> str:
    """Shells make a tab hard to type: \\t and \\n stand for what they mean everywhere else."""
    return text.replace("\\t", "\t").replace("\\n", "\n")


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", "replace"))
