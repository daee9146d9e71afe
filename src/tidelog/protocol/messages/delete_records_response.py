# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsPartitionResult(Message):
    partition_index: int = 0
    low_watermark: int = 0
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("low_watermark", "int64", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsTopicResult(Message):
    name: str = ''
    partitions: Sequence[DeleteRecordsPartitionResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]DeleteRecordsPartitionResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DeleteRecordsPartitionResult": DeleteRecordsPartitionResult}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsResponse(Message):
    throttle_time_ms: int = 0
    topics: Sequence[DeleteRecordsTopicResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("topics", "[]DeleteRecordsTopicResult", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=21
    )
    STRUCTS: ClassVar[Structs] = {"DeleteRecordsTopicResult": DeleteRecordsTopicResult}
