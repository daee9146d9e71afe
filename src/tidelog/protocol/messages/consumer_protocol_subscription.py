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
            Field("topic", "string", (1, LAST)),
            Field("partitions", "[]int32", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerProtocolSubscription(Message):
    topics: Sequence[str] = ()
    user_data: bytes | None = None
    owned_partitions: Sequence[TopicPartition] = ()
    generation_id: int = -1
    rack_id: str | None = None
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
