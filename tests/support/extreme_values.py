"""The same message with an extreme number in one of its fields, for every integer field that its schema has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from tidelog.protocol.schema import Field, Message, covers

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}

# Names of fields and positions in arrays, from the outside in.
Path = tuple[str | int, ...]


def extremes(kind: str) -> tuple[int, ...]:
    largest = (1 << (_BITS[kind] - 1)) - 1
    return (-largest - 1, -largest, -2, -1, 0, 1, largest - 1, largest)


def with_extremes(message: Message, version: int) -> Iterator[tuple[Path, int, Message]]:
    """Each with the path of the field and the number that it holds."""
    for path, kind in integer_fields(message, version):
        for number in extremes(kind):
            yield path, number, _replaced(message, path, number)


def integer_fields(message: Message, version: int, above: Path = ()) -> Iterator[tuple[Path, str]]:
    for field in message.SCHEMA.fields:
        if not covers(field.versions, version):
            continue
        value = getattr(message, field.name)
        path = (*above, field.name)
        if field.kind in _BITS:
            yield path, field.kind
        elif isinstance(value, Message):
            yield from integer_fields(value, version, path)
        elif field.kind.startswith("[]") and value:
            for position, element in enumerate(value):
                if field.kind[2:] in _BITS:
                    yield (*path, position), field.kind[2:]
                elif isinstance(element, Message):
                    yield from integer_fields(element, version, (*path, position))


def _replaced(value: Any, path: Path, number: int) -> Any:
    if not path:
        return number
    step, *rest = path
    if isinstance(value, Message):
        fields = {name: getattr(value, name) for name in value.__slots__}
        fields[str(step)] = _replaced(fields[str(step)], tuple(rest), number)
        return type(value)(**fields)
    changed = list(value)
    changed[int(step)] = _replaced(changed[int(step)], tuple(rest), number)
    return changed


class Hostile:
    """Random messages in which numbers are small, meaningful or extreme, and names are sometimes those that exist."""

    def __init__(self, random: Random, *, names: Sequence[str], numbers: Sequence[int], ids: Sequence[bytes]) -> None:
        self._random = random
        self._names = names
        self._numbers = numbers
        self._ids = ids

    def message(self, kind: type[Message], version: int) -> Any:
        fields = {
            field.name: self._value(kind, field, version)
            for field in kind.SCHEMA.fields
            if covers(field.versions, version)
        }
        return kind(**fields)

    def _value(self, kind: type[Message], field: Field, version: int) -> Any:
        if covers(field.nullable, version) and self._random.random() < 0.15:
            return None
        if field.kind.startswith("[]"):
            count = self._random.choice((0, 1, 1, 2, 3))
            return [self._element(kind, field.kind[2:], version) for _ in range(count)]
        return self._element(kind, field.kind, version)

    def _element(self, kind: type[Message], element: str, version: int) -> Any:
        random = self._random
        if element in _BITS:
            if random.random() < 0.3:
                return random.choice(extremes(element))
            largest = (1 << (_BITS[element] - 1)) - 1
            return min(random.choice(self._numbers), largest)
        match element:
            case "bool":
                return random.random() < 0.5
            case "float64":
                return random.choice((0.0, -1.0, 1e308, float("nan")))
            case "uint16":
                return random.choice((0, 1, 65535))
            case "uuid":
                return random.choice((*self._ids, bytes(16), random.randbytes(16)))
            case "string":
                return random.choice((*self._names, "", "x" * 300, "\u0000"))
            case "bytes" | "records":
                return random.randbytes(random.choice((0, 1, 20)))
        return self.message(kind.STRUCTS[element], version)
