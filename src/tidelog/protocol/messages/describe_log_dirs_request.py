# Written by tools/generate_messages.py from Apache Kafka's schemas and message_extensions.json: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribableLogDirTopic(Message):
    __slots__ = (
        "topic",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic: str = '',
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic: Final = topic
        self.partitions: Final = partitions


class DescribeLogDirsRequest(Message):
    __slots__ = (
        "topics",
        "include_segments",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]DescribableLogDirTopic", (0, LAST), nullable=(0, LAST)),
            Field("include_segments", "bool", (2, LAST), tagged=(2, LAST), tag=10000, default=False),
        ), valid=(1, 5), flexible=(2, LAST), api_key=35
    )
    STRUCTS: ClassVar[Structs] = {"DescribableLogDirTopic": DescribableLogDirTopic}

    def __init__(
        self,
        *,
        topics: Sequence[DescribableLogDirTopic] | None = (),
        include_segments: bool = False,
    ) -> None:
        self.topics: Final = topics
        self.include_segments: Final = include_segments
