"""What the twin asks: requests as plain values, which become messages for one side and one version.

A request is a nested mapping of field names to values; fields that a version does not have are left out of it. Three
kinds of value stand for something that each side has its own of: `TopicId`, `Kept` and a function of the version.
`{run}` in a string becomes a text that no other run of the same case has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.protocol.api import request_class
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.schema import Message, Versions, covers

Given = Mapping[str, Any]

# An id that no topic has.
UNKNOWN_ID = bytes(15) + b"\x07"


@dataclass(frozen=True, slots=True)
class TopicId:
    """The id that a side gave to the topic; `UNKNOWN_ID` if there is no such topic."""

    name: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that an earlier step of the same script kept from its reply."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request of a script. `keep` names fields of the reply for later: {"member": "member_id"}."""

    key: ApiKey
    given: Given
    # The version to ask in; None for the version that the script runs in, or the next one that the API has.
    version: int | None = None
    keep: Mapping[str, str] = field(default_factory=dict)
    # Asked again until the reply has no error on both sides: what runs behind a reply needs time.
    until_done: bool = False
    # On several nodes: the partition whose leader is asked, or the group or transactional id whose coordinator is.
    leader: int | None = None
    coordinator: str | None = None
    # Sent together with the step behind it, on connections of their own.
    together: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Requests that are asked one after the other, in each version of `key` within `versions`."""

    name: str
    key: ApiKey
    steps: Sequence[Step]
    versions: Versions = (0, 32767)
    # What depends on when followers have fetched, or on there being one broker, is asked of one node only.
    one_node: bool = False
    three_nodes: bool = False
    # Fields of the only request are varied by `variation`.
    varied: bool = False


def ask(key: ApiKey, name: str, given: Given | None = None, **options: Any) -> Case:
    """A case of a single request."""
    return Case(name=name, key=key, steps=(Step(key=key, given=given or {}),), **options)


def script(key: ApiKey, name: str, *steps: Step, **options: Any) -> Case:
    """Several requests; `key` is the API whose versions are gone through."""
    return Case(name=name, key=key, steps=steps, **options)


def step(key: ApiKey, given: Given, **options: Any) -> Step:
    return Step(key=key, given=given, **options)


def build(key: ApiKey, given: Given, version: int, run: str, memory: Mapping[str, Any]) -> Message:
    """The message of one side. `memory` has what `TopicId` ("@name") and `Kept` stand for."""

    def value_of(value: Any) -> Any:
        match value:
            case TopicId(name):
                return memory.get("@" + name.replace("{run}", run), UNKNOWN_ID)
            case Kept(name):
                return memory.get(name, "" if name.endswith("member") else -1)
            case str():
                return value.replace("{run}", run)
            case list() | tuple():
                return [value_of(element) for element in value]
            case _ if isinstance(value, Callable):  # type: ignore[arg-type]
                return value(version)
        return value

    def struct(kind: type[Message], fields: Given) -> Message:
        known = {each.name: each for each in kind.SCHEMA.fields}
        values: dict[str, Any] = {}
        for name, value in fields.items():
            if name not in known:
                raise KeyError(f"{kind.__name__} has no field {name!r}")
            if not covers(known[name].versions, version):
                continue
            inner = kind.STRUCTS.get(known[name].kind.removeprefix("[]"))
            if inner is None or value is None:
                values[name] = value_of(value)
            elif known[name].kind.startswith("[]"):
                values[name] = [struct(inner, element) for element in value]
            else:
                values[name] = struct(inner, value)
        return kind(**values)

    return struct(request_class(key), given)
