# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


class OffsetDeleteResponsePartition(Message):
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


class OffsetDeleteResponseTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]OffsetDeleteResponsePartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"OffsetDeleteResponsePartition": OffsetDeleteResponsePartition}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[OffsetDeleteResponsePartition] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class OffsetDeleteResponse(Message):
    __slots__ = (
        "error_code",
        "throttle_time_ms",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("topics", "[]OffsetDeleteResponseTopic", (0, LAST)),
        ), valid=(0, 0), flexible=NEVER, api_key=47
    )
    STRUCTS: ClassVar[Structs] = {"OffsetDeleteResponseTopic": OffsetDeleteResponseTopic}

    def __init__(
        self,
        *,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetDeleteResponseTopic] = (),
    ) -> None:
        self.error_code: Final = error_code
        self.throttle_time_ms: Final = throttle_time_ms
        self.topics: Final = topics
