# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TopicRequest(Message):
    __slots__ = (
        "name",
        "partition_indexes",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partition_indexes", "[]int32", (0, LAST)),
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


class DescribeProducersRequest(Message):
    __slots__ = (
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]TopicRequest", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=61
    )
    STRUCTS: ClassVar[Structs] = {"TopicRequest": TopicRequest}

    def __init__(
        self,
        *,
        topics: Sequence[TopicRequest] = (),
    ) -> None:
        self.topics: Final = topics
