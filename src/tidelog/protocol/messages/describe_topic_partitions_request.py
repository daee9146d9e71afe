# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequest(Message):
    name: str = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor(Message):
    topic_name: str = ''
    partition_index: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partition_index", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsRequest(Message):
    topics: Sequence[TopicRequest] = ()
    response_partition_limit: int = 2000
    cursor: Cursor | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]TopicRequest", (0, LAST)),
            Field("response_partition_limit", "int32", (0, LAST)),
            Field("cursor", "Cursor", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=75
    )
    STRUCTS: ClassVar[Structs] = {"TopicRequest": TopicRequest, "Cursor": Cursor}
