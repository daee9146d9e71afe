"""How a message of the Kafka protocol is described: fields, and the versions that have them.

The descriptions themselves are generated into `tidelog.protocol.messages` (one module per message, one class for all
of its versions); `tidelog.protocol.codec` turns a description and a version into an encoder and a decoder.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, TypeVar

from mypy_extensions import mypyc_attr

LAST = 32767
NEVER = (1, 0)
# Fields that only tidelog knows have tags from here on. Kafka numbers the tags of a struct from 0, so the fields of its
# next versions do not come near.
FIRST_EXTENSION_TAG = 10_000

Versions = tuple[int, int]


class Field(NamedTuple):
    """One field. `kind` is Kafka's word for the type: "int32", "string", "[]int32", or a struct's class name."""

    name: str
    kind: str
    versions: Versions
    nullable: Versions = NEVER
    tagged: Versions = NEVER
    tag: int = -1
    default: Any = None
    # Only for fields that deviate from their message: the client id of a request header is never compact.
    flexible: Versions | None = None


class Schema(NamedTuple):
    """`api_key` is -1 for what is neither request, response nor numbered record; structs have no valid versions."""

    fields: tuple[Field, ...]
    valid: Versions = (0, LAST)
    flexible: Versions = NEVER
    api_key: int = -1


# Most messages are not compiled.
@mypyc_attr(allow_interpreted_subclasses=True)
class Message:
    """The parent of all generated classes: values that are compared and shown by their fields, and never changed.

    Not dataclasses, because making those costs about a millisecond each, and a broker needs more than a hundred of
    them before it can answer.
    """

    __slots__: ClassVar[tuple[str, ...]] = ()
    SCHEMA: ClassVar[Schema]
    # Class names of nested structs to their classes.
    STRUCTS: ClassVar[Structs]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.__slots__)))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


# Not written out in the generated classes, because some of them have a field that is named `type`.
Structs = dict[str, type[Message]]


M = TypeVar("M", bound=Message)


def replaced(message: M, **changes: Any) -> M:
    """A copy in which these fields have other values."""
    return type(message)(**{name: getattr(message, name) for name in message.__slots__} | changes)


def covers(versions: Versions, version: int) -> bool:
    return versions[0] <= version <= versions[1]
