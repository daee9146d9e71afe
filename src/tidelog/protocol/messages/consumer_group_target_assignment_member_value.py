# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TopicPartition(Message):
    __slots__ = (
        "topic_id",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic_id: bytes = b'\0' * 16,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id: Final = topic_id
        self.partitions: Final = partitions


class ConsumerGroupTargetAssignmentMemberValue(Message):
    __slots__ = (
        "topic_partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_partitions", "[]TopicPartition", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=7
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartition": TopicPartition}

    def __init__(
        self,
        *,
        topic_partitions: Sequence[TopicPartition] = (),
    ) -> None:
        self.topic_partitions: Final = topic_partitions
