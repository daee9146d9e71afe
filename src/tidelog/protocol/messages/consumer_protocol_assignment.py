# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartition(Message):
    topic: str = ''
    partitions: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerProtocolAssignment(Message):
    assigned_partitions: Sequence[TopicPartition] = ()
    user_data: bytes | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("assigned_partitions", "[]TopicPartition", (0, LAST)),
            Field("user_data", "bytes", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 3), flexible=NEVER
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartition": TopicPartition}
