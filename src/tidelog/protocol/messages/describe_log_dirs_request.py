# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
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
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]DescribableLogDirTopic", (0, LAST), nullable=(0, LAST)),
        ), valid=(1, 5), flexible=(2, LAST), api_key=35
    )
    STRUCTS: ClassVar[Structs] = {"DescribableLogDirTopic": DescribableLogDirTopic}

    def __init__(
        self,
        *,
        topics: Sequence[DescribableLogDirTopic] | None = (),
    ) -> None:
        self.topics: Final = topics
