"""The reply that says one error wherever its API has room for one, for any request: derived from the schemas.

For requests whose handler has failed. A reply whose schema has an error for the whole of it says it there; otherwise it
repeats what was asked for, topic by topic and partition by partition, and says it for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import response_class
from tidelog.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from tidelog.protocol.schema import Field, Message, covers

_ERROR_FIELDS = ("error_code", "partition_error_code")

# Where what a reply lists stands in the request, if it is not under the same name.
_ASKED_AS = {
    "responses": ("topic_data", "topics", "topic_names", "resources"),
    "partition_responses": ("partition_data",),
    "partitions": ("partition_indexes",),
    "groups": ("group_ids",),
    "results": ("topics", "resources", "groups_names", "feature_updates", "creations"),
    "filter_results": ("filters",),
    "coordinators": ("coordinator_keys",),
    "transaction_states": ("transactional_ids",),
    "results_by_transaction": ("transactions",),
    "topic_results": ("topics",),
    "results_by_topic_v3_and_below": ("v3_and_below_topics",),
    "results_by_partition": ("partitions",),
    "replica_election_results": ("topic_partitions",),
    "partition_result": ("partitions",),
}
# The same for what is named differently in the two.
_SCALARS_ASKED_AS = {"partition_index": "partition", "topic_name": "name"}


def error_reply(request: Message, version: int, code: ErrorCode) -> Message | None:
    """None if this version of the API has no room for an error in its reply."""
    kind = response_class(request.SCHEMA.api_key)
    if _own_error(kind, version) is not None:
        return kind(error_code=code)  # type: ignore[call-arg]
    fields = _listed(kind, request, version, code)
    return kind(**fields) if any(fields.values()) else None


class _Shape(NamedTuple):
    error: str | None
    # Lists of structs that have an error in them.
    lists: tuple[Field, ...]


def _shape(kind: type[Message], version: int) -> _Shape:
    lists = tuple(
        field
        for field in kind.SCHEMA.fields
        if field.kind.startswith("[]") and covers(field.versions, version) and _has_error(kind, field, version)
    )
    return _Shape(_own_error(kind, version), lists)


def _own_error(kind: type[Message], version: int) -> str | None:
    for field in kind.SCHEMA.fields:
        if field.name in _ERROR_FIELDS and covers(field.versions, version):
            return field.name
    return None


def _has_error(kind: type[Message], field: Field, version: int) -> bool:
    struct = kind.STRUCTS.get(field.kind[2:])
    if struct is None:
        return False
    shape = _shape(struct, version)
    return shape.error is not None or bool(shape.lists)


def _listed(kind: type[Message], asked: Message, version: int, code: ErrorCode) -> dict[str, Any]:
    return {
        field.name: [
            _answer_to(kind.STRUCTS[field.kind[2:]], element, version, code) for element in _asked_for(asked, field)
        ]
        for field in _shape(kind, version).lists
    }


def _asked_for(asked: Message, field: Field) -> Iterable[Any]:
    if isinstance(asked, AlterReplicaLogDirsRequest):
        # The only request that asks by directory and is answered by topic.
        return [topic for directory in asked.dirs for topic in directory.topics]
    for name in (field.name, *_ASKED_AS.get(field.name, ())):
        found = getattr(asked, name, None)
        if found:
            return found  # type: ignore[no-any-return]
    return ()


def _answer_to(kind: type[Message], asked: Any, version: int, code: ErrorCode) -> Message:
    shape = _shape(kind, version)
    fields: dict[str, Any] = {} if shape.error is None else {shape.error: code}
    if not isinstance(asked, Message):
        # A name or a number, for which the reply has one field of that type.
        wanted = "string" if isinstance(asked, str) else "int32"
        identity = next(
            each.name for each in kind.SCHEMA.fields if each.kind == wanted and each.name != "error_message"
        )
        return kind(**{**fields, identity: asked})
    for field in kind.SCHEMA.fields:
        if field.kind.startswith("[]") or field.kind in kind.STRUCTS or field.name in fields:
            continue
        for name in (field.name, _SCALARS_ASKED_AS.get(field.name, "")):
            value = getattr(asked, name, None)
            if value is not None:
                fields[field.name] = value
                break
    return kind(**fields, **_listed(kind, asked, version, code))
