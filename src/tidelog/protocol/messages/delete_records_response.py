# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DeleteRecordsPartitionResult(Message):
    __slots__ = (
        "partition_index",
        "low_watermark",
        "error_code",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("low_watermark", "int64", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.low_watermark: Final = low_watermark
        self.error_code: Final = error_code


class DeleteRecordsTopicResult(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]DeleteRecordsPartitionResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DeleteRecordsPartitionResult": DeleteRecordsPartitionResult}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[DeleteRecordsPartitionResult] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class DeleteRecordsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("topics", "[]DeleteRecordsTopicResult", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=21
    )
    STRUCTS: ClassVar[Structs] = {"DeleteRecordsTopicResult": DeleteRecordsTopicResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[DeleteRecordsTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.topics: Final = topics
