"""Messages with extreme numbers: one at a time, and random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from tidelog.protocol.schema import Field, Message, covers
from tidelog.simulation.workloads.extremes import INTEGER_BITS, Path, extremes, integer_fields, replaced


def with_extremes(message: Message, version: int) -> Iterator[tuple[Path, int, Message]]:
    """The message with each extreme in each of its fields, with the path of the field and the number in it."""
    for path, kind in integer_fields(message, version):
        for number in extremes(kind):
            yield path, number, replaced(message, path, number)


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
        if element in INTEGER_BITS:
            if random.random() < 0.3:
                return random.choice(extremes(element))
            largest = (1 << (INTEGER_BITS[element] - 1)) - 1
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
