# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsPartitionResponse(Message):
    partition_index: int = 0
    error_code: int = 0
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsTopicResponse(Message):
    name: str = ''
    partitions: Sequence[ListOffsetsPartitionResponse] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]ListOffsetsPartitionResponse", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ListOffsetsPartitionResponse": ListOffsetsPartitionResponse}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse(Message):
    throttle_time_ms: int = 0
    topics: Sequence[ListOffsetsTopicResponse] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (2, LAST)),
            Field("topics", "[]ListOffsetsTopicResponse", (0, LAST)),
        ), valid=(1, 11), flexible=(6, LAST), api_key=2
    )
    STRUCTS: ClassVar[Structs] = {"ListOffsetsTopicResponse": ListOffsetsTopicResponse}
