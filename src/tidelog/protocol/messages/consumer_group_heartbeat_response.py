# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions(Message):
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
class Assignment(Message):
    topic_partitions: Sequence[TopicPartitions] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_partitions", "[]TopicPartitions", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartitions": TopicPartitions}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("member_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("member_epoch", "int32", (0, LAST)),
            Field("heartbeat_interval_ms", "int32", (0, LAST)),
            Field("assignment", "Assignment", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=68
    )
    STRUCTS: ClassVar[Structs] = {"Assignment": Assignment}
