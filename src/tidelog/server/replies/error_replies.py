"""The reply with one error for a whole request, in the shape that its API has for that: derived from the schemas.

A reply whose schema has a top-level error has it there; otherwise it repeats what was asked for, topic by topic and
partition by partition, each with the error. What a reply lists is listed in the request under the same name,
or else in the first list that this version of the request has; where that is not so, the API declares a `RefusalShape`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tidelog.model.errors import ApiError
from tidelog.protocol.api import response_class
from tidelog.protocol.schema import Field, Message, covers
from tidelog.server.declaration import Api, RefusalShape

_ERROR_FIELDS = ("error_code", "partition_error_code")
_MESSAGE = "error_message"
# What says which topic, partition, group or the like a part of a reply is about.
_IDENTITIES = frozenset(
    {
        "feature",
        "entity",
        "group_id",
        "group_instance_id",
        "index",
        "key",
        "member_id",
        "name",
        "partition",
        "partition_id",
        "partition_index",
        "producer_id",
        "resource_name",
        "resource_type",
        "topic",
        "topic_id",
        "topic_name",
        "transactional_id",
        "user",
    }
)


def error_reply(api: Api, request: Message, version: int, error: ApiError) -> Message | None:
    """None if this version of the API has no room for an error in its reply."""
    kind = response_class(api.key)
    says = _Saying(api.refusal, version, error)
    fields = says.error_fields(kind)
    if not fields or api.refusal.for_each_too:
        listed = says.listed(kind, request)
        if not fields and not any(listed.values()):
            return None
        fields |= listed
    return kind(**fields)


def refused(api: Api, request: Message, version: int, error: ApiError) -> Message:
    """The same for an API whose every version has room for an error, or whose request asks for nothing."""
    return error_reply(api, request, version, error) or response_class(api.key)()


class _Shape(NamedTuple):
    error: str | None
    # Lists of structs that have an error in them.
    lists: tuple[Field, ...]


def _shape(kind: type[Message], version: int) -> _Shape:
    present = [field for field in kind.SCHEMA.fields if covers(field.versions, version)]
    error = next((field.name for field in present if field.name in _ERROR_FIELDS), None)
    lists = (field for field in present if field.kind.startswith("[]") and _has_error(kind, field, version))
    return _Shape(error, tuple(lists))


def _has_error(kind: type[Message], field: Field, version: int) -> bool:
    struct = kind.STRUCTS.get(field.kind[2:])
    return struct is not None and any(_shape(struct, version))


class _Saying(NamedTuple):
    refusal: RefusalShape
    version: int
    error: ApiError

    def _has(self, field: Field) -> bool:
        return covers(field.versions, self.version)

    def error_fields(self, kind: type[Message]) -> dict[str, Any]:
        name = _shape(kind, self.version).error
        if name is None:
            return {}
        has_message = any(field.name == _MESSAGE and self._has(field) for field in kind.SCHEMA.fields)
        return {name: self.error.code} | ({_MESSAGE: self.error.message} if has_message else {})

    def listed(self, kind: type[Message], asked: Message) -> dict[str, Any]:
        return {
            field.name: [self._answer_to(kind.STRUCTS[field.kind[2:]], each) for each in self._asked_for(asked, field)]
            for field in _shape(kind, self.version).lists
        }

    def _asked_for(self, asked: Message, field: Field) -> Iterable[Any]:
        lists = [each.name for each in asked.SCHEMA.fields if each.kind.startswith("[]") and self._has(each)]
        path = self.refusal.asked_as.get(field.name, field.name if field.name in lists else "".join(lists[:1]))
        if "," not in path:
            return _at(asked, path)
        return {each.name: each for one in path.split(",") for each in _at(asked, one)}.values()

    def _answer_to(self, kind: type[Message], asked: Any) -> Message:
        fields = self.error_fields(kind)
        if not isinstance(asked, Message):
            # A name or a number, for which the reply has one field of that type.
            wanted = "string" if isinstance(asked, str) else "int32"
            identity = next(each.name for each in kind.SCHEMA.fields if each.kind == wanted and each.name != _MESSAGE)
            return kind(**fields, **{identity: asked})
        for field in kind.SCHEMA.fields:
            if field.name in _IDENTITIES:
                name = self.refusal.asked_as.get(field.name, field.name)
                value = getattr(asked, name, None)
                if value is not None or (hasattr(asked, name) and covers(field.nullable, self.version)):
                    fields[field.name] = value
        return kind(**fields, **self.listed(kind, asked))


def _at(asked: Message, path: str) -> list[Any]:
    found: list[Any] = [asked]
    for name in path.split("."):
        found = [each for one in found for each in getattr(one, name, None) or ()]
    return found
