# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequestTopic(Message):
    name: str = ''
    partition_indexes: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 7)),
            Field("partition_indexes", "[]int32", (0, 7)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequestTopics(Message):
    name: str = ''
    topic_id: bytes = b'\0' * 16
    partition_indexes: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (8, 9)),
            Field("topic_id", "uuid", (10, LAST)),
            Field("partition_indexes", "[]int32", (8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequestGroup(Message):
    group_id: str = ''
    member_id: str | None = None
    member_epoch: int = -1
    topics: Sequence[OffsetFetchRequestTopics] | None = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (8, LAST)),
            Field("member_id", "string", (9, LAST), nullable=(9, LAST)),
            Field("member_epoch", "int32", (9, LAST)),
            Field("topics", "[]OffsetFetchRequestTopics", (8, LAST), nullable=(8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchRequestTopics": OffsetFetchRequestTopics}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest(Message):
    group_id: str = ''
    topics: Sequence[OffsetFetchRequestTopic] | None = ()
    groups: Sequence[OffsetFetchRequestGroup] = ()
    require_stable: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, 7)),
            Field("topics", "[]OffsetFetchRequestTopic", (0, 7), nullable=(2, 7)),
            Field("groups", "[]OffsetFetchRequestGroup", (8, LAST)),
            Field("require_stable", "bool", (7, LAST)),
        ), valid=(1, 10), flexible=(6, LAST), api_key=9
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchRequestTopic": OffsetFetchRequestTopic, "OffsetFetchRequestGroup": OffsetFetchRequestGroup}
