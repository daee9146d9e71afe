# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class OffsetCommitResponsePartition(Message):
    __slots__ = (
        "partition_index",
        "error_code",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.error_code: Final = error_code


class OffsetCommitResponseTopic(Message):
    __slots__ = (
        "name",
        "topic_id",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 9)),
            Field("topic_id", "uuid", (10, LAST)),
            Field("partitions", "[]OffsetCommitResponsePartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetCommitResponsePartition": OffsetCommitResponsePartition}

    def __init__(
        self,
        *,
        name: str = '',
        topic_id: bytes = b'\0' * 16,
        partitions: Sequence[OffsetCommitResponsePartition] = (),
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.partitions: Final = partitions


class OffsetCommitResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (3, LAST)),
            Field("topics", "[]OffsetCommitResponseTopic", (0, LAST)),
        ), valid=(2, 10), flexible=(8, LAST), api_key=8
    )
    STRUCTS: ClassVar[Structs] = {"OffsetCommitResponseTopic": OffsetCommitResponseTopic}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetCommitResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.topics: Final = topics
