# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartition(Message):
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberValue(Message):
    topic_partitions: Sequence[TopicPartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_partitions", "[]TopicPartition", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=7
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartition": TopicPartition}
