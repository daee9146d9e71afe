"""Messages with values at the edges of what their fields can hold, and one that has every kind of field."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar, Final

from tidelog.protocol.schema import Field, Message, Schema, Structs, covers

BOUNDS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_LETTERS = "a\0zäß日\U0001f30a"


def extreme(kind: type[Message], version: int, random: Random) -> Any:
    """A message with values in all fields that `version` has, some of them as they are if nobody says anything."""
    defaults = kind()
    values = {
        field.name: _value(kind, field, version, random)
        for field in kind.SCHEMA.fields
        if covers(field.versions, version) and (random.random() < 0.9 or getattr(defaults, field.name) is None)
    }
    return kind(**values)


def _value(kind: type[Message], field: Field, version: int, random: Random) -> Any:
    if covers(field.nullable, version) and random.random() < 0.2:
        return None
    if not field.kind.startswith("[]"):
        return _element(kind, field.kind, version, random)
    element = field.kind[2:]
    # Now and then more than a list is made for at once, and than one byte counts.
    many = 300 if random.random() < 0.02 and element not in kind.STRUCTS else 3
    elements = [_element(kind, element, version, random) for _ in range(random.randrange(many))]
    return tuple(elements) if random.random() < 0.3 else elements


def _element(kind: type[Message], element: str, version: int, random: Random) -> Any:
    size = random.choice((0, 1, 2, 7, 126, 127, 128, 300) if random.random() < 0.2 else (0, 1, 5))
    if element in BOUNDS:
        low, high = BOUNDS[element]
        return random.choice((low, low + 1, max(low, -1), 0, 1, high - 1, high, random.randint(low, high)))
    if element == "bool":
        return random.random() < 0.5
    if element == "float64":
        return random.choice((0.0, -0.0, 1.5, -1.0, float("inf"), 5e-324, 1.7976931348623157e308))
    if element == "uuid":
        return random.choice((bytes(16), random.randbytes(16)))
    if element == "string":
        return "".join(random.choices(_LETTERS, k=size))
    if element in ("bytes", "records"):
        data = random.randbytes(size)
        return random.choice((data, bytearray(data), memoryview(data))) if element == "records" else data
    return extreme(kind.STRUCTS[element], version, random)


class Inner(Message):
    __slots__ = ("data", "name", "number")
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("number", "int16", (0, 9)),
            Field("name", "string", (1, 9), nullable=(2, 9)),
            Field("data", "bytes", (0, 9), tagged=(3, 9), tag=300, default=b""),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(self, *, number: int = -1, name: str | None = "", data: bytes = b"") -> None:
        self.number: Final = number
        self.name: Final = name
        self.data: Final = data


_KINDS = (
    *("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "uuid"),
    *("string", "bytes", "records", "Inner"),
)
_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(BOUNDS, 7),
    "bool": True,
    "float64": 0.5,
    "uuid": bytes(16),
    "string": "",
    "bytes": b"",
    "records": b"",
    "Inner": Inner(),
}


def _fields() -> tuple[Field, ...]:
    """Every kind in line, nullable from version 2 on, and every kind as a tagged field from version 3 on."""
    found = []
    for number, kind in enumerate((*_KINDS, *(f"[]{kind}" for kind in _KINDS))):
        name = f"list_{kind[2:]}" if kind.startswith("[]") else f"one_{kind}"
        is_number = kind in BOUNDS or kind in ("bool", "float64", "uuid")
        nullable = (1, 0) if is_number else (2, 9)
        default = () if kind.startswith("[]") else _DEFAULTS[kind]
        found.append(Field(name, kind, (0, 9), nullable=nullable, default=default))
        # Tags in another order than the fields, some of them above 127.
        tag = 200 - 7 * number
        found.append(Field(f"tagged_{name}", kind, (3, 9), nullable=nullable, tagged=(3, 9), tag=tag, default=default))
    return tuple(found)


_ALL = _fields()
_DEFAULT_VALUES = {field.name: field.default for field in _ALL}


class Everything(Message):
    """Has what no message of Kafka has, or only in one place: the codecs must agree about that as well."""

    __slots__ = tuple(field.name for field in _ALL)
    SCHEMA: ClassVar[Schema] = Schema(_ALL, valid=(0, 5), flexible=(3, 9))
    STRUCTS: ClassVar[Structs] = {"Inner": Inner}

    def __init__(self, **values: Any) -> None:
        for name, value in (_DEFAULT_VALUES | values).items():
            setattr(self, name, value)


class Inverted(Message):
    """Does not store what it is called with, whatever that is."""

    __slots__ = ("number",)
    SCHEMA: ClassVar[Schema] = Schema((Field("number", "int32", (0, 0)),), valid=(0, 0))
    STRUCTS: ClassVar[Structs] = {}

    def __init__(self, *, number: Any = 0) -> None:
        self.number: Final = ~number if isinstance(number, int) else None


class Bounded(Message):
    """Does not store what it is called with, and takes only numbers."""

    __slots__ = ("number",)
    SCHEMA: ClassVar[Schema] = Schema((Field("number", "int32", (0, 0)),), valid=(0, 0))
    STRUCTS: ClassVar[Structs] = {}

    def __init__(self, *, number: int = 0) -> None:
        self.number: Final = min(number, 100)


class Computed(Message):
    """Has no slot for its field, as a compiled class has none."""

    __slots__ = ("_number",)
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("number", "int32", (0, 1)),
            Field("name", "string", (1, 1), nullable=(1, 1), tagged=(1, 1), tag=0),
        ),
        valid=(0, 1),
        flexible=(1, 1),
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(self, *, number: int = 0, name: str | None = None) -> None:
        self._number: Final = (number, name)

    @property
    def number(self) -> int:
        return self._number[0]

    @property
    def name(self) -> str | None:
        return self._number[1]
