# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponsePartition(Message):
    partition_index: int = 0
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponseTopic(Message):
    name: str = ''
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[OffsetCommitResponsePartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, 9)),
            Field("topic_id", "uuid", (10, LAST)),
            Field("partitions", "[]OffsetCommitResponsePartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetCommitResponsePartition": OffsetCommitResponsePartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse(Message):
    throttle_time_ms: int = 0
    topics: Sequence[OffsetCommitResponseTopic] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (3, LAST)),
            Field("topics", "[]OffsetCommitResponseTopic", (0, LAST)),
        ), valid=(2, 10), flexible=(8, LAST), api_key=8
    )
    STRUCTS: ClassVar[Structs] = {"OffsetCommitResponseTopic": OffsetCommitResponseTopic}
