"""The same message with an extreme number in one of its fields, for every integer field that its schema has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidelog.protocol.schema import Message, covers

INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}

# Names of fields and positions in arrays, from the outside in.
Path = tuple[str | int, ...]


def extremes(kind: str) -> tuple[int, ...]:
    largest = (1 << (INTEGER_BITS[kind] - 1)) - 1
    return (-largest - 1, -largest, -2, -1, 0, 1, largest - 1, largest)


def integer_fields(message: Message, version: int, above: Path = ()) -> Iterator[tuple[Path, str]]:
    """Paths and kinds of those that the version has."""
    for field in message.SCHEMA.fields:
        if not covers(field.versions, version):
            continue
        value = getattr(message, field.name)
        path = (*above, field.name)
        if field.kind in INTEGER_BITS:
            yield path, field.kind
        elif isinstance(value, Message):
            yield from integer_fields(value, version, path)
        elif field.kind.startswith("[]") and value:
            for position, element in enumerate(value):
                if field.kind[2:] in INTEGER_BITS:
                    yield (*path, position), field.kind[2:]
                elif isinstance(element, Message):
                    yield from integer_fields(element, version, (*path, position))


def replaced(value: Any, path: Path, number: int) -> Any:
    """A copy with `number` at `path`."""
    if not path:
        return number
    step, *rest = path
    if isinstance(value, Message):
        fields = {name: getattr(value, name) for name in value.__slots__}
        fields[str(step)] = replaced(fields[str(step)], tuple(rest), number)
        return type(value)(**fields)
    changed = list(value)
    changed[int(step)] = replaced(changed[int(step)], tuple(rest), number)
    return changed
