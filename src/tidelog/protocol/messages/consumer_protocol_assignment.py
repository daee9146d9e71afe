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


class ConsumerProtocolAssignment(Message):
    __slots__ = (
        "assigned_partitions",
        "user_data",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("assigned_partitions", "[]TopicPartition", (0, LAST)),
            Field("user_data", "bytes", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 3), flexible=NEVER
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartition": TopicPartition}

    def __init__(
        self,
        *,
        assigned_partitions: Sequence[TopicPartition] = (),
        user_data: bytes | None = None,
    ) -> None:
        self.assigned_partitions: Final = assigned_partitions
        self.user_data: Final = user_data
