# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ListOffsetsPartitionResponse(Message):
    __slots__ = (
        "partition_index",
        "error_code",
        "timestamp",
        "offset",
        "leader_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("timestamp", "int64", (1, LAST)),
            Field("offset", "int64", (1, LAST)),
            Field("leader_epoch", "int32", (4, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index: Final = partition_index
        self.error_code: Final = error_code
        self.timestamp: Final = timestamp
        self.offset: Final = offset
        self.leader_epoch: Final = leader_epoch


class ListOffsetsTopicResponse(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]ListOffsetsPartitionResponse", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ListOffsetsPartitionResponse": ListOffsetsPartitionResponse}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[ListOffsetsPartitionResponse] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class ListOffsetsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (2, LAST)),
            Field("topics", "[]ListOffsetsTopicResponse", (0, LAST)),
        ), valid=(1, 11), flexible=(6, LAST), api_key=2
    )
    STRUCTS: ClassVar[Structs] = {"ListOffsetsTopicResponse": ListOffsetsTopicResponse}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[ListOffsetsTopicResponse] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.topics: Final = topics
