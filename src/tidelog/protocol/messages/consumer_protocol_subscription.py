# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


class TopicPartition(Message):
    __slots__ = (
        "topic",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (1, LAST)),
            Field("partitions", "[]int32", (1, LAST)),
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


class ConsumerProtocolSubscription(Message):
    __slots__ = (
        "topics",
        "user_data",
        "owned_partitions",
        "generation_id",
        "rack_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]string", (0, LAST)),
            Field("user_data", "bytes", (0, LAST), nullable=(0, LAST)),
            Field("owned_partitions", "[]TopicPartition", (1, LAST)),
            Field("generation_id", "int32", (2, LAST)),
            Field("rack_id", "string", (3, LAST), nullable=(3, LAST)),
        ), valid=(0, 3), flexible=NEVER
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartition": TopicPartition}

    def __init__(
        self,
        *,
        topics: Sequence[str] = (),
        user_data: bytes | None = None,
        owned_partitions: Sequence[TopicPartition] = (),
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics: Final = topics
        self.user_data: Final = user_data
        self.owned_partitions: Final = owned_partitions
        self.generation_id: Final = generation_id
        self.rack_id: Final = rack_id
