# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class OffsetFetchRequestTopic(Message):
    __slots__ = (
        "name",
        "partition_indexes",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 7)),
            Field("partition_indexes", "[]int32", (0, 7)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name: Final = name
        self.partition_indexes: Final = partition_indexes


class OffsetFetchRequestTopics(Message):
    __slots__ = (
        "name",
        "topic_id",
        "partition_indexes",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (8, 9)),
            Field("topic_id", "uuid", (10, LAST)),
            Field("partition_indexes", "[]int32", (8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        topic_id: bytes = b'\0' * 16,
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.partition_indexes: Final = partition_indexes


class OffsetFetchRequestGroup(Message):
    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (8, LAST)),
            Field("member_id", "string", (9, LAST), nullable=(9, LAST)),
            Field("member_epoch", "int32", (9, LAST)),
            Field("topics", "[]OffsetFetchRequestTopics", (8, LAST), nullable=(8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchRequestTopics": OffsetFetchRequestTopics}

    def __init__(
        self,
        *,
        group_id: str = '',
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: Sequence[OffsetFetchRequestTopics] | None = (),
    ) -> None:
        self.group_id: Final = group_id
        self.member_id: Final = member_id
        self.member_epoch: Final = member_epoch
        self.topics: Final = topics


class OffsetFetchRequest(Message):
    __slots__ = (
        "group_id",
        "topics",
        "groups",
        "require_stable",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, 7)),
            Field("topics", "[]OffsetFetchRequestTopic", (0, 7), nullable=(2, 7)),
            Field("groups", "[]OffsetFetchRequestGroup", (8, LAST)),
            Field("require_stable", "bool", (7, LAST)),
        ), valid=(1, 10), flexible=(6, LAST), api_key=9
    )
    STRUCTS: ClassVar[Structs] = {"OffsetFetchRequestTopic": OffsetFetchRequestTopic, "OffsetFetchRequestGroup": OffsetFetchRequestGroup}

    def __init__(
        self,
        *,
        group_id: str = '',
        topics: Sequence[OffsetFetchRequestTopic] | None = (),
        groups: Sequence[OffsetFetchRequestGroup] = (),
        require_stable: bool = False,
    ) -> None:
        self.group_id: Final = group_id
        self.topics: Final = topics
        self.groups: Final = groups
        self.require_stable: Final = require_stable
