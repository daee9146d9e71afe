# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TopicPartitions(Message):
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


class Assignment(Message):
    __slots__ = (
        "topic_partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_partitions", "[]TopicPartitions", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartitions": TopicPartitions}

    def __init__(
        self,
        *,
        topic_partitions: Sequence[TopicPartitions] = (),
    ) -> None:
        self.topic_partitions: Final = topic_partitions


class ConsumerGroupHeartbeatResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
    )
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

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.member_id: Final = member_id
        self.member_epoch: Final = member_epoch
        self.heartbeat_interval_ms: Final = heartbeat_interval_ms
        self.assignment: Final = assignment
