"""Requests made from a schema: one field of a valid request at a time gets a value at the edge of what it may be.

Which values those are depends on the field's name where that has a meaning (a topic, a partition), else on its type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from twin.asking import UNKNOWN_ID, Case, Given, Kept, TopicId
from twin.state import EMPTY, GROUP, MISSING, PLAIN, batch

from tidelog.protocol.api import request_class
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.schema import FIRST_EXTENSION_TAG, Field, Message, covers

# How long to wait, and whether to do it at all, is no matter of edges: replies would depend on the clock.
_NOT_VARIED = {
    "timeout_ms",
    "max_wait_ms",
    "min_bytes",
    "validate_only",
    "transaction_timeout_ms",
    "allow_auto_topic_creation",
    "session_timeout_ms",
    "rebalance_timeout_ms",
}
_TOPICS = (PLAIN, EMPTY, MISSING, "", "a b", "x" * 249, "x" * 250, "ä")
_PARTITIONS = (0, 1, 2, 3, 9, -1, (1 << 31) - 1, -(1 << 31))
_GROUPS = (GROUP, "twin-nobody", "", "x" * 300, "ä b")
_EPOCHS = (-1, 0, 1, -2, 7)

_BY_NAME: Mapping[str, Sequence[Any]] = {
    "topic": _TOPICS,
    "topic_name": _TOPICS,
    "topic_names": _TOPICS[2:],
    "topic_id": (UNKNOWN_ID, bytes(16), TopicId(PLAIN), bytes([255]) * 16),
    "partition": _PARTITIONS,
    "index": _PARTITIONS,
    "partition_index": _PARTITIONS,
    "partition_indexes": _PARTITIONS,
    "partitions": _PARTITIONS,
    "broker_ids": (1, 9, -1),
    "replicas": (9, -1),
    "group_id": _GROUPS,
    "groups": _GROUPS,
    "groups_names": _GROUPS[1:],
    "group_ids": _GROUPS,
    "coordinator_keys": _GROUPS,
    "member_id": ("", "m", "x" * 300),
    "current_leader_epoch": _EPOCHS,
    "leader_epoch": _EPOCHS,
    "last_fetched_epoch": (-1, -2),
    "records": (b"", b"x", batch(b"v")[:40]),
    "acks": (-1, 2, -2, 32767),
    "replica_id": (-1, -3),
    "replica_epoch": (-1, 5),
    "session_id": (0, 1, -1),
    "session_epoch": (-1, 0, 1, -2),
    "isolation_level": (0, 1, 2, -1),
    "count": (0, -1, 4, 5),
    "num_partitions": (-1, 0, 1, 10, -2),
    "replication_factor": (-1, 0, 1, -2, 99),
    "resource_type": (0, 1, 2, 3, 16, 32, 99, -1),
    "protocol_type": ("", "consumer", "connect"),
    "offset": (0, -1, -2, 1, (1 << 63) - 1),
    "committed_offset": (0, -1, (1 << 63) - 1),
    "retention_time_ms": (-1, 0, 1, (1 << 63) - 1, -(1 << 63)),
    "partition_max_bytes": (0, 1, -1, (1 << 31) - 1),
    "max_bytes": (0, 1, -1, (1 << 31) - 1),
}
# Where `name` is a topic.
_NAME_IS_TOPIC = {
    ApiKey.METADATA,
    ApiKey.PRODUCE,
    ApiKey.LIST_OFFSETS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.OFFSET_DELETE,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.ADD_PARTITIONS_TO_TXN,
}
_BY_KIND: Mapping[str, Sequence[Any]] = {
    "bool": (False, True),
    "int8": (-1, 0, 1, 2, 127, -128),
    "int16": (-1, 0, 1, 32767, -32768),
    "int32": (-1, 0, 1, (1 << 31) - 1, -(1 << 31)),
    "int64": (-1, 0, 1, (1 << 63) - 1, -(1 << 63)),
    "float64": (0.0, -1.0, 0.5, 1e300),
    "string": ("", "x", "ä b", "x" * 300),
    "bytes": (b"", b"x"),
    "records": (b"",),
    "uuid": (bytes(16), UNKNOWN_ID),
}
# A deletion that is varied into one that succeeds would take away what others are asked about.
_HARMFUL: dict[tuple[ApiKey, str], set[Any]] = {
    (ApiKey.DELETE_TOPICS, "name"): {PLAIN, EMPTY},
    (ApiKey.DELETE_TOPICS, "topic_id"): {TopicId(PLAIN)},
    # A member that really joins would have the next one wait for it.
    (ApiKey.JOIN_GROUP, "member_id"): {""},
}

# Apache Kafka never answers these.
_UNANSWERED_TWICE = {(ApiKey.ALTER_CONFIGS, "resources"), (ApiKey.INCREMENTAL_ALTER_CONFIGS, "resources")}


def variations(case: Case, version: int, random: Random, limit: int) -> Iterator[tuple[str, Given]]:
    """At most `limit` variations, chosen by `random`: what was changed, and the request."""
    key = case.key
    found = list(_struct(key, request_class(key), case.steps[0].given, version))
    yield from random.sample(found, min(limit, len(found)))


def _struct(key: ApiKey, kind: type[Message], given: Given, version: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for field in kind.SCHEMA.fields:
        if not covers(field.versions, version) or field.name in _NOT_VARIED or field.tag >= FIRST_EXTENSION_TAG:
            continue
        for text, value in _field(key, kind, field, given.get(field.name), version):
            yield text, {**given, field.name: value}


def _field(key: ApiKey, kind: type[Message], field: Field, value: Any, version: int) -> Iterator[tuple[str, Any]]:
    element = field.kind.removeprefix("[]")
    if covers(field.nullable, version) and value is not None and field.name != "records":
        yield f"{field.name}=null", None
    if element in kind.STRUCTS:
        yield from _structs(key, kind, field, value, version)
        return
    values = _BY_NAME.get(field.name, _BY_KIND.get(element, ()))
    if field.name == "name" and key in _NAME_IS_TOPIC:
        values = _TOPICS
    harmful = _HARMFUL.get((key, field.name), set())
    is_array = field.kind.startswith("[]")
    if is_array:
        yield f"{field.name}=[]", []
    for each in values:
        if isinstance(value, Kept) or each in harmful or each == value:
            continue
        yield f"{field.name}={_text(each)}", [each] if is_array else each
    if is_array and value:
        yield f"{field.name} twice", [*value, *value]


def _structs(key: ApiKey, kind: type[Message], field: Field, value: Any, version: int) -> Iterator[tuple[str, Any]]:
    inner = kind.STRUCTS[field.kind.removeprefix("[]")]
    if not field.kind.startswith("[]"):
        for text, changed in _struct(key, inner, value or {}, version):
            yield f"{field.name}.{text}", changed
        return
    yield f"{field.name}=[]", []
    if not value:
        return
    if (key, field.name) not in _UNANSWERED_TWICE:
        yield f"{field.name} twice", [*value, *value]
    for text, changed in _struct(key, inner, value[0], version):
        yield f"{field.name}.{text}", [changed, *value[1:]]


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 30 else f"{text[:20]}...({len(text)})"
