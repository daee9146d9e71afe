# Written by tools/generate_messages.py from Apache Kafka's schemas and message_extensions.json: do not edit.
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
        "include_batches",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]TopicRequest", (0, LAST)),
            Field("include_batches", "bool", (0, LAST), tagged=(0, LAST), tag=10000, default=False),
        ), valid=(0, 0), flexible=(0, LAST), api_key=61
    )
    STRUCTS: ClassVar[Structs] = {"TopicRequest": TopicRequest}

    def __init__(
        self,
        *,
        topics: Sequence[TopicRequest] = (),
        include_batches: bool = False,
    ) -> None:
        self.topics: Final = topics
        self.include_batches: Final = include_batches
