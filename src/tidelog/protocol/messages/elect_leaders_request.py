# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions(Message):
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
class ElectLeadersRequest(Message):
    election_type: int = 0
    topic_partitions: Sequence[TopicPartitions] | None = ()
    timeout_ms: int = 60000
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("election_type", "int8", (1, LAST)),
            Field("topic_partitions", "[]TopicPartitions", (0, LAST), nullable=(0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=43
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartitions": TopicPartitions}
