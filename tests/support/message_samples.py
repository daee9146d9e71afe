"""Random instances of the generated messages, for tests of the codec."""

from __future__ import annotations

import importlib
import pkgutil
from random import Random
from typing import Any, NamedTuple

import tidelog.protocol.messages
from tidelog.protocol.codec import FIXED
from tidelog.protocol.schema import FIRST_EXTENSION_TAG, Field, Message, covers


def all_messages() -> list[type[Message]]:
    """Every generated message, not the structs inside of them."""
    found = []
    for info in pkgutil.iter_modules(tidelog.protocol.messages.__path__):
        module = importlib.import_module(f"tidelog.protocol.messages.{info.name}")
        name = info.name.replace("_", "")
        found += [value for key, value in vars(module).items() if key.lower() == name]
    return found


def all_versions() -> list[tuple[type[Message], int]]:
    return [
        (kind, version) for kind in all_messages() for version in range(kind.SCHEMA.valid[0], kind.SCHEMA.valid[1] + 1)
    ]


class Sampling(NamedTuple):
    random: Random
    # Whether fields that may be null sometimes are.
    nulls: bool
    # Whether fields that only tidelog knows have values.
    extensions: bool


def sample(kind: type[Message], version: int, random: Random, *, nulls: bool = True, extensions: bool = True) -> Any:
    """A message with random values in all fields that `version` has; other fields keep their defaults."""
    return _sample(kind, version, Sampling(random, nulls, extensions))


def _sample(kind: type[Message], version: int, sampling: Sampling) -> Any:
    values = {
        field.name: _value(kind, field, version, sampling)
        for field in kind.SCHEMA.fields
        if covers(field.versions, version) and (sampling.extensions or field.tag < FIRST_EXTENSION_TAG)
    }
    return kind(**values)


def _value(kind: type[Message], field: Field, version: int, sampling: Sampling) -> Any:
    random = sampling.random
    if sampling.nulls and covers(field.nullable, version) and random.random() < 0.2:
        return None
    if field.kind.startswith("[]"):
        elements = [_element(kind, field.kind[2:], version, sampling) for _ in range(random.randrange(3))]
        # An empty tagged array is not sent, and comes back as the default.
        return elements if elements or not covers(field.tagged, version) or field.default is None else ()
    return _element(kind, field.kind, version, sampling)


def _element(kind: type[Message], element: str, version: int, sampling: Sampling) -> Any:
    random = sampling.random
    if element == "bool":
        return random.random() < 0.5
    if element == "float64":
        return random.random()
    if element == "uuid":
        return random.randbytes(16)
    if element == "string":
        return "".join(random.choices("abcäß日", k=random.randrange(1, 150 if random.random() < 0.1 else 9)))
    if element in ("bytes", "records"):
        return random.randbytes(random.randrange(1, 300 if random.random() < 0.1 else 20))
    if element in FIXED:
        # Small enough for an int8, and for whatever meaning a foreign library gives to the number.
        return random.randrange(1, 100)
    return _sample(kind.STRUCTS[element], version, sampling)
