# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TopicRequest(Message):
    __slots__ = (
        "name",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
    ) -> None:
        self.name: Final = name


class Cursor(Message):
    __slots__ = (
        "topic_name",
        "partition_index",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partition_index", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic_name: str = '',
        partition_index: int = 0,
    ) -> None:
        self.topic_name: Final = topic_name
        self.partition_index: Final = partition_index


class DescribeTopicPartitionsRequest(Message):
    __slots__ = (
        "topics",
        "response_partition_limit",
        "cursor",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]TopicRequest", (0, LAST)),
            Field("response_partition_limit", "int32", (0, LAST)),
            Field("cursor", "Cursor", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=75
    )
    STRUCTS: ClassVar[Structs] = {"TopicRequest": TopicRequest, "Cursor": Cursor}

    def __init__(
        self,
        *,
        topics: Sequence[TopicRequest] = (),
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
    ) -> None:
        self.topics: Final = topics
        self.response_partition_limit: Final = response_partition_limit
        self.cursor: Final = cursor
