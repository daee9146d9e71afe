"""Replies as trees of plain values, and where two of them differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidelog.protocol.schema import Message, covers

ABSENT = "(absent)"


def tree(message: Message, version: int) -> dict[str, Any]:
    """All fields that the version has, under our names; a tagged field that was not sent has its default."""
    return {
        field.name: _plain(getattr(message, field.name), version)
        for field in message.SCHEMA.fields
        if covers(field.versions, version)
    }


def _plain(value: Any, version: int) -> Any:
    if isinstance(value, Message):
        return tree(value, version)
    if isinstance(value, list | tuple):
        return [_plain(element, version) for element in value]
    return bytes(value) if isinstance(value, memoryview | bytearray) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A leaf of the reply. `path` has `[]` for any element: the table of intended differences matches on it."""

    path: str
    place: str
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        return f"{self.place}: tidelog {short(self.ours)}, Apache Kafka {short(self.theirs)}"


def differences(ours: Any, theirs: Any, path: str = "", place: str = "") -> Iterator[Difference]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            deeper = f".{name}" if path else name
            pair = ours.get(name, ABSENT), theirs.get(name, ABSENT)
            yield from differences(*pair, path + deeper, place + deeper)
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) == len(theirs):
            for number, pair in enumerate(zip(ours, theirs, strict=True)):
                yield from differences(*pair, f"{path}[]", f"{place}[{number}]")
        else:
            yield Difference(path=f"{path}[]", place=f"{place}[]", ours=ours, theirs=theirs)
    elif ours != theirs or isinstance(ours, bool) != isinstance(theirs, bool):
        yield Difference(path=path, place=place, ours=ours, theirs=theirs)


def error_codes(reply: Any) -> Iterator[int]:
    """All error codes in a reply that are not 0."""
    if isinstance(reply, dict):
        for name, value in reply.items():
            if name in ("error_code", "partition_error_code") and value:
                yield value
            else:
                yield from error_codes(value)
    elif isinstance(reply, list):
        for value in reply:
            yield from error_codes(value)


def short(value: Any, limit: int = 400) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"
